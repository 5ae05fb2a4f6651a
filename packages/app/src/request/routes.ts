/** A small table of routes: a path that is known answers every other method with 405, and input is judged first. */

import { pageQuery, parseInput } from '@freehold/contracts';
import {
  answerOtherMethod,
  queryFields,
  readJsonObject,
  requireSameOrigin,
  textReader,
} from '@freehold/contracts/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { AppContext, AppEnv } from '../declaration/env.ts';
import { requireNode } from './caller.ts';

/** The bodies of these routes are a few words. */
const BODY_BYTES_MAX = 16 * 1_024;

/** A route that is no operation. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly answer: (c: AppContext) => Promise<Response>;
}

/** Mounts the routes. No cache stores their answers, and no unsafe request is accepted from another site. */
export function mountRoutes(app: Hono<AppEnv>, routes: readonly Route[]): void {
  for (const { method, path, answer } of routes) {
    app.on(method, path, async (c: AppContext) => {
      if (method === 'POST') requireSameOrigin(c.req.raw.headers, requireNode(c).origin);
      const response = await answer(c);
      response.headers.set('cache-control', 'private, no-store');
      return response;
    });
  }
  for (const [path, at] of Map.groupBy(routes, (route) => route.path)) {
    const methods = at.map(({ method }) => method);
    app.all(path, (c) => answerOtherMethod(c.req.method, methods));
  }
}

/** The JSON body of a request; none at all is an empty object. @throws PlatformError when it is not what the schema takes. */
export async function readBody<S extends z.ZodType>(c: AppContext, schema: S): Promise<z.output<S>> {
  return parseInput('The body', schema, await readJsonObject(c.req.raw, BODY_BYTES_MAX));
}

const readPageQuery = textReader('The query', z.strictObject(pageQuery));

/** The query of a list. @throws PlatformError `validation_failed` */
export function readPage(c: AppContext): { readonly limit: number; readonly cursor?: string } {
  const { limit, cursor } = readPageQuery(queryFields(new URL(c.req.url)));
  return cursor === undefined ? { limit } : { limit, cursor };
}
