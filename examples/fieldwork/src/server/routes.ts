/** A small table of routes: a path that is known answers every other method with 405, and a body is judged first. */
import { PlatformError, parseInput } from '@freehold/contracts';
import type { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { z } from 'zod';
import { type FieldworkContext, type FieldworkEnv, requireNode } from './env.ts';

/** The bodies of these routes are a few words. */
const BODY_BYTES_MAX = 16 * 1_024;

export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly answer: (c: FieldworkContext) => Promise<Response>;
}

/** Mounts the routes. No answer of theirs is kept by a cache; none that changes something is taken from another site. */
export function mountRoutes(app: Hono<FieldworkEnv>, routes: readonly Route[]): void {
  const limit = bodyLimit({
    maxSize: BODY_BYTES_MAX,
    onError: () => {
      throw new PlatformError('payload_too_large', `The body is larger than ${BODY_BYTES_MAX} bytes.`);
    },
  });
  for (const { method, path, answer } of routes) {
    app.on(method, path, limit, async (c: FieldworkContext) => {
      if (method === 'POST') requireOwnPage(c);
      const response = await answer(c);
      response.headers.set('cache-control', 'private, no-store');
      return response;
    });
  }
  for (const [path, at] of Map.groupBy(routes, (route) => route.path)) {
    const allow = at.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
    app.all(path, () => {
      throw new PlatformError('method_not_allowed', `This address takes ${allow}.`, { headers: { allow } });
    });
  }
}

/**
 * The JSON body of a request. No body at all is an empty object.
 * @throws PlatformError `unsupported_media_type` or `validation_failed`
 */
export async function readBody<S extends z.ZodType>(c: FieldworkContext, schema: S): Promise<z.output<S>> {
  const text = await c.req.text();
  if (text === '') return parseInput('The body', schema, {});
  if (!/^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new PlatformError('unsupported_media_type', 'The body must be application/json.', {
      headers: { accept: 'application/json' },
    });
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new PlatformError('validation_failed', 'The body is not valid JSON.', { cause });
  }
  return parseInput('The body', schema, body);
}

/** A cookie rides along on whatever page makes a request: one that changes something must come from our own. */
function requireOwnPage(c: FieldworkContext): void {
  const site = c.req.header('sec-fetch-site');
  const origin = c.req.header('origin');
  const isOwn =
    site === undefined
      ? origin === undefined || origin === requireNode(c).origin
      : site === 'same-origin' || site === 'none';
  if (isOwn) return;
  throw new PlatformError('forbidden', 'A page of another site may not do this.', { reason: 'cross_site' });
}
