/** The pages behind `type` of a problem document: `/problems/<code>` explains the code (RFC 9457, section 3.1.1). */
import { PlatformError, PROBLEMS, type ProblemCode } from '@freehold/contracts';
import { problemPage } from '@freehold/contracts/http';
import type { Context, Env, Hono } from 'hono';
import { z } from 'zod';
import type { DescribedRoute } from './lib/described-routes.ts';
import { guarded, type ProblemOptions } from './lib/problem-response.ts';

/** Mounts `GET /problems` (all codes) and `GET /problems/:code`. They are public and hold no tenant's data. */
export function mountProblemDocs<E extends Env>(app: Hono<E>, options: ProblemOptions = {}): void {
  app.get(
    '/problems',
    guarded(app, options, async () => explain('/problems')),
  );
  app.get(
    '/problems/:code',
    guarded(app, options, async (c: Context<E>) => explain(c.req.path)),
  );
}

/** The routes of {@link mountProblemDocs}, for the OpenAPI document of the application that mounts them. */
export const PROBLEM_DOC_ROUTES: readonly DescribedRoute[] = [
  {
    name: 'service/problems',
    method: 'GET',
    path: '/problems',
    summary: 'List the codes of failures',
    answer: { 'text/html': z.string() },
    security: 'none',
    problems: ['rate_limited', 'internal'],
  },
  {
    name: 'service/problem',
    method: 'GET',
    path: '/problems/:code',
    summary: 'Explain the code of a failure',
    params: z.object({ code: z.enum(Object.keys(PROBLEMS) as ProblemCode[]) }),
    answer: { 'text/html': z.string() },
    security: 'none',
    problems: ['not_found', 'internal'],
  },
];

function explain(path: string): Response {
  const page = problemPage(path);
  if (page === null) throw new PlatformError('not_found', 'There is no problem of this code.');
  return page;
}
