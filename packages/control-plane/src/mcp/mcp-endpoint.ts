/**
 * `POST /mcp`: the admin operations as tools (design: control-plane-routes, "Also served"). The same tokens, access rules
 * and audit rows as the routes; only the transport is another. Revision 2026-07-28, and without stored sessions those before.
 */
import { PlatformError, type Problem, publicError, toProblem } from '@freehold/contracts';
import { answerOtherMethod, readJsonObject, requireOwnAddress } from '@freehold/contracts/http';
import { type Actor, type AdminResult, type HostAdmin, mayCall } from '@freehold/directory';
import type { OperationRecord } from '@freehold/directory/declarations';
import {
  type Agreed,
  answerMcp,
  type ConsentQuestion,
  type ToolAnswer,
  type ToolCall,
} from '@freehold/operations/mcp';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { type AdminOperationTable, answerForm } from '../declared/operations.ts';
import type { AdmitActor, ControlPlaneEnv, IncidentPlace } from '../http/env.ts';
import { authenticate, COMMON_HEADERS } from '../http/serve.ts';
import { mcpMetadataUrl } from '../oauth/metadata.ts';
import { CONTROL_PLANE_INFO } from '../openapi/document.ts';
import { type AdminTool, adminToolsOf, type ToolInput } from './admin-tools.ts';
import { type Consents, credentialOf, makeConsents } from './consents.ts';

const PATH = '/mcp';

export interface McpDeps {
  readonly hostAdmin: Pick<HostAdmin, 'authenticate' | 'perform'> & Partial<Pick<HostAdmin, 'questions'>>;
  readonly operations: AdminOperationTable;
  readonly origin: () => string;
  /** Further names that this API answers to. */
  readonly hostnames: readonly string[];
  readonly onIncident: (error: unknown, where: IncidentPlace) => void;
  readonly admit: AdmitActor;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Seal the questions that people are asked: the first seals, all open. Default: a key of this process. */
  readonly sealingSecrets?: readonly string[] | undefined;
}

/** @throws TypeError when an operation cannot be a tool. */
export function mountMcp(app: Hono<ControlPlaneEnv>, deps: McpDeps): void {
  const tools = adminToolsOf(deps.operations);
  const { questions: questionsOf } = deps.hostAdmin;
  const consents = makeConsents({ secrets: deps.sealingSecrets, now: deps.now });
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
      call: (call) => perform({ consents, c, actor, deps }, call),
      problemOf: (thrown) => problemOf(c, thrown, deps),
      ...(questionsOf ? { questions: questionsOf(credentialOf(actor)) } : {}),
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
  readonly consents: Consents;
  readonly c: Context<ControlPlaneEnv>;
  readonly actor: Actor;
  readonly deps: McpDeps;
}

/**
 * Makes a call. Where it destroys something, its person agrees to the plan first, if their client can ask. Long work
 * answers at once with its record; a client that asked for progress gets the record when the work has ended, and hears of
 * each step before. One that leaves stops no work: `operations_cancel` does.
 */
async function perform(serving: Serving, call: ToolCall<AdminTool>): Promise<ToolAnswer | ConsentQuestion> {
  const { c, actor, deps, consents } = serving;
  const { tool, given, meta, progress, consent } = call;
  const operation = tool.operation.name;
  c.set('operation', operation);
  const input = tool.read(given, meta);
  const { requestId } = c.var;
  const agreed: ConsentQuestion | Partial<Agreed> =
    consent && asksFirst(tool, input)
      ? await consents.settle({ tool, input, actor, plan: () => planOf(serving, tool, input) }, consent)
      : {};
  if ('question' in agreed) return agreed;
  const isFollowed = progress !== undefined && tool.operation.success === 202;
  const events = isFollowed ? { events: true as const } : {};
  const asked = { ...agreed, ...input, ...events, operation, actor, requestId };
  const result = await deps.hostAdmin.perform(asked);
  const last = result.events ? await follow(result.events, call) : null;
  const value = declaredValue(tool, result.status, last ?? result.value);
  return { value, version: result.etag, replayed: result.replayed };
}

/** Whether the person is asked: the call destroys something, and can tell what. A plan that is asked for is just told. */
function asksFirst({ operation, annotations }: AdminTool, { query }: ToolInput): boolean {
  return annotations.destructiveHint && operation.plan !== undefined && query.dryRun !== true;
}

/** The plan of a call, by which nothing is changed and no key is kept. */
async function planOf({ c, actor, deps }: Serving, tool: AdminTool, input: ToolInput): Promise<object> {
  const { idempotencyKey: _none, ...rest } = input;
  const { requestId } = c.var;
  const query = { ...input.query, dryRun: true };
  const operation = tool.operation.name;
  const { status, value } = await deps.hostAdmin.perform({ ...rest, query, operation, actor, requestId });
  return z
    .object()
    .loose()
    .parse(declaredValue(tool, status, value));
}

/** Tells the client each step, and returns the last record; null where the client left before there was one. */
async function follow(
  events: NonNullable<AdminResult['events']>,
  { progress, signal }: Pick<ToolCall<AdminTool>, 'progress' | 'signal'>,
): Promise<unknown> {
  const reader = events.getReader();
  const leave = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', leave, { once: true });
  let last: unknown = null;
  for (let said = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if (value.event === 'heartbeat') continue;
    last = value.record;
    const { progress: step, state } = value.record as OperationRecord;
    // It must grow with each report (MCP 2026-07-28, "Progress"); work counts anew in each of its parts.
    said += 1;
    const total = step.total === null ? '' : ` of ${step.total}`;
    await progress?.({ progress: said, message: `${state}: ${step.done}${total} ${step.unit}` });
  }
  signal.removeEventListener('abort', leave);
  return last;
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
