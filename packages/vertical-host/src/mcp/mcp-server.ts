/** The protocol's side of the tools: what is listed to a caller, and which operation a call means. */
import { type OperationStub, type OperationTable, PlatformError } from '@freehold/contracts';
import {
  type Implementation,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Tool,
} from '@modelcontextprotocol/server';
import type { Context } from 'hono';
import { type ProblemOptions, problemResponse } from '../problem-response.ts';
import { answerToolCall, readToolCall, type ToolCall } from './tool-call.ts';
import type { McpTool } from './tools.ts';

/** A scope as one caller sees it, which may also say what this caller needs to see of its tools. */
export interface ListingStub extends OperationStub {
  /**
   * Which of these operations the caller may ever be let through to, for one record or for all. The others are not
   * listed to him; calling one is refused by `invoke` all the same. Default: every operation is listed.
   */
  listable?(operations: readonly string[]): Promise<readonly string[]>;
}

/** What all calls of one mount share. */
export interface McpSurface {
  readonly tools: readonly McpTool[];
  readonly operations: OperationTable;
  readonly serverInfo: Implementation;
  readonly problems: ProblemOptions;
}

/** Builds the server of one request: the revision of 2026-07-28 knows no sessions, and the older ones get none. */
export function makeMcpServer(c: Context, stub: ListingStub, surface: McpSurface): McpServer {
  const { tools, serverInfo } = surface;
  // The list changes when a version is deployed or a role is given, and nobody is told: so it is not announced.
  const mcp = new McpServer(serverInfo, { capabilities: { tools: { listChanged: false } } });

  mcp.server.setRequestHandler('tools/list', async ({ params }) => {
    if (params?.cursor !== undefined) throw malformed('This list has one page: there is no such cursor.');
    const names = await listableOf(c, stub, surface);
    return { tools: tools.filter(({ operation }) => names.has(operation)).map(listed) };
  });

  mcp.server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    const declaration = tool && surface.operations[tool.operation];
    if (!tool || !declaration) throw malformed('There is no such tool.');
    const call: ToolCall = { tool, declaration, arguments: params.arguments, meta: params._meta };
    const request = read(() => readToolCall(call));
    const result = await answerToolCall(c, stub, call, request, surface.problems);
    return mcp.server.projectCallToolResult(result, tool.outputSchema);
  });

  return mcp;
}

function listed({ operation: _operation, ...tool }: McpTool): Tool {
  return tool as Tool;
}

async function listableOf(
  c: Context,
  stub: ListingStub,
  { tools, problems }: McpSurface,
): Promise<ReadonlySet<string>> {
  const all = tools.map(({ operation }) => operation);
  if (!stub.listable) return new Set(all);
  try {
    return new Set(await stub.listable(all));
  } catch (thrown) {
    // Recorded like the failure of a route; a list that cannot be made is not one of everything.
    problemResponse(c, thrown, problems);
    const said = thrown instanceof PlatformError && thrown.code !== 'internal' ? ` ${thrown.message}` : '';
    throw new ProtocolError(ProtocolErrorCode.InternalError, `The tools cannot be listed right now.${said}`);
  }
}

/** What the client, not the model, got wrong: an error of the protocol (JSON-RPC 2.0, "Invalid params"). */
function malformed(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

function read<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof PlatformError ? malformed(error.message) : error;
  }
}
