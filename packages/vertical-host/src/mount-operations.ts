/** One HTTP route and one tool for each declared operation of a vertical (spec 4.5), and the OpenAPI document of them. */
import { makeApiDocs } from '@freehold/api-docs';
import { answerOtherMethod } from '@freehold/contracts/http';
import {
  type Addressed,
  addressesOf,
  methodsAt,
  type OperationTable,
  routerPath,
} from '@freehold/operations';
import type { OpenApiDocument } from '@freehold/operations/openapi';
import type { Context, Env, Hono } from 'hono';
import { z } from 'zod';
import type { DescribedRoute } from './lib/described-routes.ts';
import { type OpenApiInfo, openApiDocument } from './lib/openapi.ts';
import { documentAnswer } from './lib/openapi-answer.ts';
import { operationHandler } from './lib/operation-call.ts';
import { type OperationRoute, operationRoutes } from './lib/operation-routes.ts';
import { guarded, type ProblemOptions } from './lib/problem-response.ts';
import { type ListingStub, type McpOptions, makeMcpEndpoint } from './mcp/mcp-endpoint.ts';

/**
 * Identifies the caller and the scope: the gate of every route of the mount.
 * @throws PlatformError `unauthenticated` for an anonymous caller, or another refusal.
 */
export type ResolveStub<E extends Env> = (c: Context<E>) => Promise<ListingStub> | ListingStub;

export interface MountOperationsOptions<E extends Env = Env> extends ProblemOptions {
  /** The path of the mount's own documents and endpoint; operations are at their declared paths. Default: `/api`. */
  readonly basePath?: string;
  /** The largest body, in bytes. Default: 1 MiB. */
  readonly bodyLimitBytes?: number;
  /** False leaves out `GET {basePath}/openapi.json`. Default: served, titled `Operations`, version `0.0.0`. */
  readonly openapi?: false | OpenApiInfo;
  /** False leaves out `GET {basePath}/docs`, which shows that document to people. Default: shown, behind the same gate. */
  readonly docs?: false;
  /** False leaves out the MCP endpoint. Default: served at `{basePath}/mcp`, one tool per operation with a binding. */
  readonly mcp?: false | McpOptions<E>;
  /**
   * The origin that browsers see the app at, where it is not that of the request's URL (a proxy that ends TLS). Routes
   * use it for browsers without `Sec-Fetch-Site`; the MCP endpoint answers to its host name alone.
   */
  readonly ownOrigin?: (c: Context<E>) => string;
}

/**
 * Mounts one route for each operation, at its `http` binding or `POST /api/op/<name>`.
 *
 * Input is the path parameters with the query (GET) or the JSON body (every other method). Unsafe methods are
 * refused from another site's page, and read `If-Match` and `Idempotency-Key`. The answer is the output as JSON
 * with `ETag`, `Idempotency-Replayed` and `X-Invocation-Id` where they apply; a GET honours `If-None-Match`.
 * A `PlatformError` is answered as its problem document, other errors as {@link guarded} says. A known path with
 * another method is 405, and OPTIONS is answered.
 *
 * Models reach the same operations as tools, at `{basePath}/mcp` (spec 4.5.3): see {@link McpOptions}.
 *
 * Mount it before a catch-all of the app, and after any route of the app that shares a path with an operation.
 * @throws Error at once when two declarations would dispatch identically, naming both, and for a declaration that
 * cannot be served (its input does not refuse unknown fields, its path names no field, it mutates on GET); and when
 * two operations would be the same tool, naming both.
 */
export function mountOperations<E extends Env>(
  app: Hono<E>,
  operations: OperationTable,
  resolveStub: ResolveStub<E>,
  options: MountOperationsOptions<E> = {},
): void {
  const declared = operationRoutes(operations);
  const { bodyLimitBytes, ownOrigin } = options;
  const routes = declared.map((route) => ({
    ...route,
    answer: operationHandler<E>(route, { resolveStub, bodyLimitBytes, ownOrigin }),
  }));
  const all: Mounted<E>[] = [
    ...routes,
    ...(options.mcp === false ? [] : [mcpRoute(operations, resolveStub, options)]),
  ];
  all.push(...documentRoutes(declared, all, resolveStub, options));
  const routesByAddress = addressesOf(all).map((address) => [...address.values()]);
  for (const { method, path, answer } of routesByAddress.flat())
    app.on(method, routerPath(path), guarded(app, options, answer));
  // After all of the above: hono takes the first route that fits, and these fit every method.
  const otherMethod = guarded(app, options, async (c: Context<E>) =>
    answerOtherMethod(c.req.method, methodsAt(c.req.path, all)),
  );
  for (const [first] of routesByAddress) if (first) app.all(routerPath(first.path), otherMethod);
}

interface Mounted<E extends Env> extends Addressed {
  readonly answer: (c: Context<E>) => Promise<Response>;
  /** For a route of the mount itself, its entry in the document. Absent: it has none, or is an operation. */
  readonly described?: DescribedRoute;
}

/** The routes of the document: the document itself and the page that shows it, of which it speaks too. */
function documentRoutes<E extends Env>(
  routes: readonly OperationRoute[],
  mounted: readonly Mounted<E>[],
  resolveStub: ResolveStub<E>,
  options: MountOperationsOptions<E>,
): Mounted<E>[] {
  const { openapi, docs, ownOrigin, basePath = '/api' } = options;
  if (openapi === false) return [];
  const described = [
    ...mounted.flatMap((each) => each.described ?? []),
    documentRoute(basePath),
    ...(docs === false ? [] : [docsRoute(basePath)]),
  ];
  addressesOf([...routes, ...(openapi?.describedRoutes ?? [])]);
  // Made at the first request: it takes longer than all else at a mount, and most instances of a test never show it.
  let document: OpenApiDocument | undefined;
  const documentOf = (): OpenApiDocument => {
    document ??= openApiDocument(routes, openapi ?? {}, described);
    return document;
  };
  const answerDocument = documentAnswer(documentOf);
  const answerDocs = makeApiDocs(() => ({
    document: documentOf(),
    documentUrl: `${basePath}/openapi.json`,
  }));
  const gated = (
    name: string,
    path: string,
    answer: (c: Context<E>) => Response | Promise<Response>,
  ): Mounted<E> => ({
    name,
    method: 'GET',
    path,
    answer: async (c) => {
      await resolveStub(c);
      return answer(c);
    },
  });
  return [
    gated('the OpenAPI document', `${basePath}/openapi.json`, (c) =>
      answerDocument(c, ownOrigin?.(c) ?? new URL(c.req.url).origin),
    ),
    ...(docs === false ? [] : [gated('the documentation', `${basePath}/docs`, (c) => answerDocs(c.req.raw))]),
  ];
}

function documentRoute(basePath: string): DescribedRoute {
  return {
    name: 'service/openapi',
    tag: SERVICE_TAG,
    method: 'GET',
    path: `${basePath}/openapi.json`,
    summary: 'Get this document',
    answer: z.looseObject({ openapi: z.string() }),
    headers: ['ETag'],
    otherAnswers: { 304: 'Unchanged since the version in If-None-Match.' },
  };
}

function docsRoute(basePath: string): DescribedRoute {
  return {
    name: 'service/docs',
    tag: SERVICE_TAG,
    method: 'GET',
    path: `${basePath}/docs`,
    summary: 'Read this document as a page',
    answer: { 'text/html': z.string() },
    headers: ['ETag'],
    otherAnswers: { 304: 'Unchanged since the version in If-None-Match.' },
  };
}

/** The group of the mount's own routes. */
const SERVICE_TAG = 'service';

function mcpRoute<E extends Env>(
  operations: OperationTable,
  resolveStub: ResolveStub<E>,
  options: MountOperationsOptions<E>,
): Mounted<E> {
  const { path = `${options.basePath ?? '/api'}/mcp`, serverInfo, ...mcp } = options.mcp || {};
  const { title = 'Operations', version = '0.0.0' } = options.openapi || {};
  const answer = makeMcpEndpoint({
    ...options,
    ...mcp,
    operations,
    resolveStub,
    serverInfo: serverInfo ?? { name: title, version },
  });
  const message = z.looseObject({ jsonrpc: z.literal('2.0') });
  const described: DescribedRoute = {
    name: 'service/mcp',
    tag: SERVICE_TAG,
    method: 'POST',
    path,
    summary: 'Call a tool',
    description:
      'The Model Context Protocol, revision 2026-07-28, with one tool for each operation. Take a client of the protocol.',
    body: message,
    answer: { 'application/json': message, 'text/event-stream': z.string() },
  };
  return { name: 'the MCP endpoint', method: 'POST', path, answer, described };
}
