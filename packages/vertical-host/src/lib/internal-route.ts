/** One route of the management contract: parses the request by its declaration, and checks the answer against it. */
import { type ManagementRoute, PlatformError, parseInput } from '@freehold/contracts';
import { queryFields, type TextField, textReader } from '@freehold/contracts/http';
import type { Context, Env } from 'hono';
import type { z } from 'zod';
import { jsonResponse, readBody } from './request.ts';

export interface InternalRoute<E extends Env> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly answer: (c: Context<E>) => Promise<Response>;
}

export type RequestOf<R extends ManagementRoute> = z.output<R['request']>;

/** A route that answers JSON to its query or its JSON body. */
export function jsonRoute<E extends Env, R extends ManagementRoute>(
  route: R,
  answer: (request: RequestOf<R>, env: E['Bindings']) => Promise<z.input<R['response']>>,
): InternalRoute<E> {
  const read = requestReader(route);
  return internalRoute(route, async (c) =>
    jsonResponse(c, judged(route, await answer(await read(c), c.env)), route.status),
  );
}

/** A route with a handler of its own. */
export function internalRoute<E extends Env>(
  { method, path }: ManagementRoute,
  answer: (c: Context<E>) => Promise<Response>,
): InternalRoute<E> {
  return { method, path: `/internal/${path}`, answer };
}

/** Reads the request of a route: its path and query, or a JSON body. */
export function requestReader<R extends ManagementRoute>(route: R): (c: Context) => Promise<RequestOf<R>> {
  const { request, takes, path } = route;
  if (takes === 'json')
    return async (c) => parseInput('The body', request, await readBody(c)) as RequestOf<R>;
  const read = textReader('The query', request);
  return async (c) => {
    const url = new URL(c.req.url);
    const inPath = pathFields(url, path);
    const inQuery = queryFields(url);
    for (const [name] of inPath) {
      if (inQuery.some((field) => field[0] === name)) throw invalid(name, 'is part of the path');
    }
    return read([...inPath, ...inQuery]) as RequestOf<R>;
  };
}

/**
 * Checks a host's answer against its route, and drops fields that the route does not have.
 * @throws PlatformError `internal`: the host is on our side of the wire, so a wrong answer is our bug.
 */
export function judged<R extends ManagementRoute>(route: R, answer: unknown): z.output<R['response']> {
  const parsed = route.response.safeParse(answer);
  if (parsed.success) return parsed.data as z.output<R['response']>;
  throw invalidResponse(route, parsed.error);
}

/**
 * The same for a host that opened bytes: `head` describes them. A refused body is cancelled, because an open copy
 * holds its snapshot.
 */
export function judgedBytes<R extends ManagementRoute>(
  route: R,
  head: unknown,
  body: unknown,
): z.output<R['response']> {
  if (!(body instanceof ReadableStream) || body.locked)
    throw invalidResponse(route, new Error('there is no stream to be read'));
  try {
    return judged(route, head);
  } catch (error) {
    body.cancel().catch(() => undefined);
    throw error;
  }
}

function invalidResponse({ path }: ManagementRoute, cause: unknown): PlatformError {
  return new PlatformError('internal', 'The vertical answered something that the contract does not know.', {
    reason: 'invalid_response',
    cause: new Error(`/internal/${path} made an invalid response`, { cause }),
  });
}

/** The fields of the path, decoded. Counted from its end, so that an app under a prefix of another reads the same. */
function pathFields(url: URL, path: string): TextField[] {
  const names = path.split('/');
  const given = url.pathname.split('/').slice(-names.length);
  return names.flatMap((name, index): TextField[] => {
    if (!name.startsWith(':')) return [];
    const field = name.slice(1);
    try {
      return [[field, [decodeURIComponent(given[index] ?? '')]]];
    } catch {
      throw invalid(field, 'is not percent-encoded UTF-8');
    }
  });
}

function invalid(path: string, message: string): PlatformError {
  return new PlatformError('validation_failed', `The address is not valid. ${path}: ${message}.`, {
    errors: [{ path, message }],
  });
}
