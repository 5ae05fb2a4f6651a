/**
 * `POST /mcp`: the admin operations as tools (design: control-plane-routes, "Also served"). The same tokens, access rules
 * and audit rows as the routes; only the transport is another. Revision 2026-07-28, and without sessions those before it.
 */
import { PlatformError, type Problem, publicError, toProblem } from '@freehold/contracts';
import { answerOtherMethod, readJsonObject, requireOwnAddress } from '@freehold/contracts/http';
import { type Actor, type HostAdmin, mayCall } from '@freehold/directory';
import { answerMcp, type ToolAnswer, type ToolCall } from '@freehold/operations/mcp';
import type { Context, Hono } from 'hono';
import { type AdminOperationTable, answerForm } from '../declared/operations.ts';
import type { AdmitActor, ControlPlaneEnv, IncidentPlace } from '../http/env.ts';
import { authenticate, COMMON_HEADERS } from '../http/serve.ts';
import { mcpMetadataUrl } from '../oauth/metadata.ts';
import { CONTROL_PLANE_INFO } from '../openapi/document.ts';
import { type AdminTool, adminToolsOf } from './admin-tools.ts';

const PATH = '/mcp';

export interface McpDeps {
  readonly hostAdmin: Pick<HostAdmin, 'authenticate' | 'perform'>;
  readonly operations: AdminOperationTable;
  readonly origin: () => string;
  /** Further names that this API answers to. */
  readonly hostnames: readonly string[];
  readonly onIncident: (error: unknown, where: IncidentPlace) => void;
  readonly admit: AdmitActor;
}

/** @throws TypeError when an operation cannot be a tool. */
export function mountMcp(app: Hono<ControlPlaneEnv>, deps: McpDeps): void {
  const tools = adminToolsOf(deps.operations);
  app.post(PATH, async (c) => {
    requireOwnAddress(c.req.raw, { origin: deps.origin(), hostnames: deps.hostnames });
    // Tokens only: a session is for our own pages. The message is read after that.
    const actor = await authenticate(
      c.req.raw,
      {
        hostAdmin: deps.hostAdmin,
        challenge: () => `, resource_metadata="${mcpMetadataUrl(deps.origin())}"`,
      },
      c.env?.clientAddress,
    );
    deps.admit(c, actor);
    return answerMcp(c.req.raw, () => readJsonObject(c.req.raw), {
      serverInfo: SERVER,
      tools,
      listed: () => tools.filter(({ operation }) => mayCall(operation, actor)),
      call: (call) => perform({ c, actor, deps }, call),
      problemOf: (thrown) => problemOf(c, thrown, deps),
      headers: COMMON_HEADERS,
    });
  });
  app.all(PATH, (c) => answerOtherMethod(c.req.raw.method, ['POST']));
}

const SERVER = {
  name: 'freehold-control-plane',
  title: CONTROL_PLANE_INFO.title,
  version: CONTROL_PLANE_INFO.version,
};

interface Serving {
  readonly c: Context<ControlPlaneEnv>;
  readonly actor: Actor;
  readonly deps: McpDeps;
}

async function perform(
  { c, actor, deps }: Serving,
  { tool, given, meta }: ToolCall<AdminTool>,
): Promise<ToolAnswer> {
  const operation = tool.operation.name;
  c.set('operation', operation);
  const input = tool.read(given, meta);
  const { requestId } = c.var;
  const result = await deps.hostAdmin.perform({ ...input, operation, actor, requestId });
  const value = declaredValue(tool, result.status, result.value);
  return { value, version: result.etag, replayed: result.replayed };
}

function problemOf(c: Context<ControlPlaneEnv>, thrown: unknown, deps: McpDeps): Problem {
  const { requestId, operation } = c.var;
  if (!(thrown instanceof PlatformError)) deps.onIncident(thrown, { requestId, operation });
  return toProblem(publicError(thrown), requestId);
}

/** Passes a value through the declared schema, so that an undeclared field never leaves. */
function declaredValue({ operation }: AdminTool, status: number, value: unknown): unknown {
  const parsed = answerForm(operation, status, value).safeParse(value);
  if (parsed.success) return parsed.data;
  throw new TypeError(`${operation.name} answered a value that is not of its declared form`);
}
