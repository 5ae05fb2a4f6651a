/**
 * `POST /mcp`: the admin operations as tools (design: control-plane-routes, "Also served"). The same tokens, access rules
 * and audit rows as the routes; only the transport is another. Revision 2026-07-28, and without sessions those before it.
 */
import { PlatformError, publicError, toProblem } from '@freehold/contracts';
import { answerOtherMethod, readJsonObject, requireOwnAddress } from '@freehold/contracts/http';
import { type Actor, type HostAdmin, mayCall } from '@freehold/directory';
import { MCP_META, readMcpMessage } from '@freehold/operations/mcp';
import {
  type CallToolResult,
  createMcpHandler,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Tool,
} from '@modelcontextprotocol/server';
import type { Context, Hono } from 'hono';
import type { AdmitActor, ControlPlaneEnv, IncidentPlace } from '../app.ts';
import { type AdminOperationTable, answerForm } from '../declared/operations.ts';
import { COMMON_HEADERS } from '../http/answer.ts';
import { authenticate } from '../http/authenticate.ts';
import { mcpMetadataUrl } from '../oauth/metadata.ts';
import { CONTROL_PLANE_INFO } from '../openapi/document.ts';
import { type AdminTool, adminToolsOf, type ToolInput } from './admin-tools.ts';

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
    // Tokens only: a browser's session is for our own pages, and nobody reads a stranger's message.
    const actor = await authenticate(c.req.raw, {
      hostAdmin: deps.hostAdmin,
      challenge: `, resource_metadata="${mcpMetadataUrl(deps.origin())}"`,
    });
    deps.admit(c, actor);
    const message = await readMcpMessage(() => readJsonObject(c.req.raw));
    if (message instanceof Response) return dressed(message);
    const errors: Error[] = [];
    const handler = createMcpHandler(() => makeServer({ c, actor, tools, deps }), {
      onerror: (error) => void errors.push(error),
    });
    const response = await handler.fetch(c.req.raw, { parsedBody: message });
    // The library answers its own failures. What is one is our bug, and recorded as such.
    if (response.status >= 500) throw errors.at(-1) ?? new Error('the tools could not be served');
    return dressed(response);
  });
  app.all(PATH, (c) => answerOtherMethod(c.req.raw.method, ['POST']));
}

function dressed(response: Response): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(COMMON_HEADERS)) headers.set(name, value);
  return new Response(response.body, { status: response.status, headers });
}

interface Serving {
  readonly c: Context<ControlPlaneEnv>;
  readonly actor: Actor;
  readonly tools: readonly AdminTool[];
  readonly deps: McpDeps;
}

/** The server of one request. */
function makeServer(serving: Serving): McpServer {
  const { actor, tools } = serving;
  const mcp = new McpServer(
    { name: 'freehold-control-plane', title: CONTROL_PLANE_INFO.title, version: CONTROL_PLANE_INFO.version },
    // The list changes with a role, and nobody is told: so it is not announced.
    { capabilities: { tools: { listChanged: false } } },
  );
  mcp.server.setRequestHandler('tools/list', ({ params }) => {
    if (params?.cursor !== undefined) throw malformed('This list has one page: there is no such cursor.');
    const own = tools.filter(({ operation }) => mayCall(operation, actor));
    return { tools: own.map(({ description }) => description as Tool) };
  });
  mcp.server.setRequestHandler('tools/call', ({ params }) => {
    const tool = tools.find(({ description }) => description.name === params.name);
    if (!tool) throw malformed('There is no such tool.');
    return call(serving, tool, { given: params.arguments ?? {}, meta: params._meta });
  });
  return mcp;
}

interface Asked {
  readonly given: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

/** One call. A refusal is a result that says so: the model that called can read it and do better. */
async function call({ c, actor, deps }: Serving, tool: AdminTool, asked: Asked): Promise<CallToolResult> {
  const { operation } = tool;
  const { requestId } = c.var;
  c.set('operation', operation.name);
  try {
    const input: ToolInput = tool.read(asked.given, asked.meta);
    const result = await deps.hostAdmin.perform({ ...input, operation: operation.name, actor, requestId });
    const text = JSON.stringify(declaredValue(tool, result.status, result.value));
    return {
      content: [{ type: 'text', text }],
      ...(text === 'null' ? {} : { structuredContent: JSON.parse(text) }),
      _meta: {
        ...(result.etag === undefined ? {} : { [MCP_META.version]: result.etag }),
        ...(result.replayed ? { [MCP_META.replayed]: true } : {}),
      },
    };
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) deps.onIncident(thrown, { requestId, operation: operation.name });
    const problem = toProblem(publicError(thrown), requestId);
    return {
      isError: true,
      content: [{ type: 'text', text: JSON.stringify(problem) }],
      _meta: { [MCP_META.problem]: problem },
    };
  }
}

/** Through the declared schema, so that a field nobody declared never leaves. */
function declaredValue({ operation }: AdminTool, status: number, value: unknown): unknown {
  const parsed = answerForm(operation, status, value).safeParse(value);
  if (parsed.success) return parsed.data;
  throw new TypeError(`${operation.name} answered a value that is not of its declared form`);
}

function malformed(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
