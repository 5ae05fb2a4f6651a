/** The MCP endpoint of an operation mount: who may knock, what is read of a request, and who answers it (spec 4.5.3). */
import { type OperationTable, PlatformError } from '@freehold/contracts';
import { requireOwnAddress } from '@freehold/contracts/http';
import { readMcpMessage } from '@freehold/operations/mcp';
import { createMcpHandler, type Implementation } from '@modelcontextprotocol/server';
import type { Context, Env } from 'hono';
import { readBody } from '../lib/json-body.ts';
import { privateHeaders } from '../lib/json-response.ts';
import { type ProblemOptions, problemResponse } from '../problem-response.ts';
import { type ListingStub, type McpSurface, makeMcpServer } from './mcp-server.ts';
import { mcpToolsOf } from './tools.ts';

/** How the operations are offered to models. */
export interface McpOptions<E extends Env = Env> {
  /** Where the endpoint is, from the root of the app. Default: `{basePath}/mcp`. */
  readonly path?: string;
  /** Who answers. Default: the title and version of the OpenAPI document. */
  readonly serverInfo?: Implementation;
  /**
   * Host names that the endpoint answers to beside that of `ownOrigin`. Without either it answers to loopback names
   * only: a request under any other could be one of a page that had its own name lead here (DNS rebinding).
   */
  readonly hostnames?: readonly string[];
  /**
   * The `WWW-Authenticate` of a 401, for an application that takes access tokens: the `bearerChallenge` of
   * `@freehold/auth/resource-server`, which says where its metadata is (RFC 9728, section 5.1). Null leaves `Bearer`.
   * An error that brings a response or a challenge of its own keeps it.
   */
  readonly challenge?: (c: Context<E>) => string | null | Promise<string | null>;
}

/** What the mount says to its endpoint. */
export interface McpEndpointDeps<E extends Env>
  extends ProblemOptions,
    Omit<McpOptions<E>, 'path' | 'serverInfo'> {
  readonly operations: OperationTable;
  readonly serverInfo: Implementation;
  readonly resolveStub: (c: Context<E>) => Promise<ListingStub> | ListingStub;
  readonly bodyLimitBytes?: number;
  readonly ownOrigin?: (c: Context<E>) => string;
}

/**
 * Makes what answers POST at the endpoint: revision 2026-07-28 and, without sessions, those before it. Until there is
 * a message, a refusal is a problem document; from there on, JSON-RPC.
 * @throws Error at once when the tools cannot be made ({@link mcpToolsOf}).
 */
export function makeMcpEndpoint<E extends Env>(
  deps: McpEndpointDeps<E>,
): (c: Context<E>) => Promise<Response> {
  const { operations, serverInfo, bodyLimitBytes, hostnames = [] } = deps;
  const tools = mcpToolsOf(operations);
  const problems: ProblemOptions = {
    ...(deps.onIncident === undefined ? {} : { onIncident: deps.onIncident }),
    ...(deps.newRequestId === undefined ? {} : { newRequestId: deps.newRequestId }),
  };
  const surface: McpSurface = { tools, operations, serverInfo, problems };

  return async (c) => {
    requireOwnAddress(c.req.raw, { origin: deps.ownOrigin?.(c), hostnames });
    const stub = await admitted(c, deps);
    const message = await readMcpMessage(() => readBody(c, bodyLimitBytes));
    if (message instanceof Response) return dressed(c, message);
    const errors: Error[] = [];
    const handler = createMcpHandler(() => makeMcpServer(c, stub, surface), {
      onerror: (error) => void errors.push(error),
    });
    const response = await handler.fetch(c.req.raw, { parsedBody: message });
    // The library answers its own failures. What is one is our bug, and recorded as such.
    if (response.status >= 500) return problemResponse(c, errors.at(-1), problems);
    return dressed(c, response);
  };
}

/** The caller's stub. Nobody reads a stranger's message, or tells them of our tools. */
async function admitted<E extends Env>(c: Context<E>, deps: McpEndpointDeps<E>): Promise<ListingStub> {
  try {
    return await deps.resolveStub(c);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== 'unauthenticated') throw thrown;
    const challenge = (await deps.challenge?.(c)) ?? null;
    if (challenge === null || thrown.headers?.['www-authenticate'] !== undefined) throw thrown;
    const { code, message, reason, errors, cause } = thrown;
    throw new PlatformError(code, message, {
      ...(reason === undefined ? {} : { reason }),
      ...(errors === undefined ? {} : { errors }),
      headers: { ...thrown.headers, 'www-authenticate': challenge },
      cause,
    });
  }
}

/** What one caller may see is nobody else's, and every answer names its request. */
function dressed(c: Context, response: Response): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(privateHeaders(c))) headers.set(name, value);
  headers.set('x-content-type-options', 'nosniff');
  return new Response(response.body, { status: response.status, headers });
}
