/** One route of the management contract: a request schema, a response schema, and what lies between them. */
import { PlatformError, parseInput } from '@freehold/contracts';
import { queryFields, textReader } from '@freehold/contracts/http';
import type { Context, Env } from 'hono';
import type { z } from 'zod';
import { readBody } from './json-body.ts';
import { jsonResponse } from './json-response.ts';

export interface InternalRoute<E extends Env> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly answer: (c: Context<E>) => Promise<Response>;
}

interface RouteDeclaration<E extends Env, Request extends z.ZodType, Response extends z.ZodType> {
  readonly path: string;
  /** Refuses unknown fields. */
  readonly request: Request;
  readonly response: Response;
  /** Default: 200. */
  readonly status?: number;
  readonly answer: (request: z.output<Request>, env: E['Bindings']) => Promise<z.input<Response>>;
}

/** A read: GET, with its request in the query. */
export function readRoute<E extends Env, Request extends z.ZodType, Response extends z.ZodType>(
  route: RouteDeclaration<E, Request, Response>,
): InternalRoute<E> {
  const read = textReader('The query', route.request);
  return {
    method: 'GET',
    path: route.path,
    answer: async (c) => respond(c, route, read(queryFields(new URL(c.req.url)))),
  };
}

/** Everything else: POST, with its request as the JSON body. */
export function writeRoute<E extends Env, Request extends z.ZodType, Response extends z.ZodType>(
  route: RouteDeclaration<E, Request, Response>,
): InternalRoute<E> {
  return {
    method: 'POST',
    path: route.path,
    answer: async (c) => respond(c, route, parseInput('The body', route.request, await readBody(c))),
  };
}

async function respond<E extends Env, Request extends z.ZodType, Response extends z.ZodType>(
  c: Context<E>,
  route: RouteDeclaration<E, Request, Response>,
  request: z.output<Request>,
): Promise<globalThis.Response> {
  const answer = await route.answer(request, c.env);
  const judged = route.response.safeParse(answer);
  if (!judged.success) {
    // The host is on our side of the wire, so what it says wrong is our bug. The schema also keeps what it says
    // too much from leaving.
    throw new PlatformError('internal', 'The vertical answered something that the contract does not know.', {
      reason: 'invalid_response',
      cause: new Error(`${route.path} made an invalid response`, { cause: judged.error }),
    });
  }
  return jsonResponse(c, judged.data, route.status ?? 200);
}
