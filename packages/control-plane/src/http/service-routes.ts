/** The open addresses beside the operations: health, the OpenAPI document and its page, the problem codes. */
import { createHash } from 'node:crypto';
import { makeApiDocs } from '@freehold/api-docs';
import { PlatformError, PROBLEMS, type ProblemCode } from '@freehold/contracts';
import { answerOtherMethod, isUnchanged, problemPage } from '@freehold/contracts/http';
import type { OpenApiDocument } from '@freehold/operations/openapi';
import type { Env, Hono } from 'hono';
import { COMMON_HEADERS } from './serve.ts';

export interface ServiceRoutes {
  /** The OpenAPI document, made at its first request. */
  readonly openApi: () => OpenApiDocument;
  /** Whether the directory answers; a throw counts as no. */
  readonly ready: () => Promise<boolean>;
  /** Members of the answer of `/readyz` beside its status. */
  readonly readyDetails: () => Readonly<Record<string, unknown>>;
  /** The faults that are told although requests are taken; empty where everything works. */
  readonly degraded: () => readonly Degradation[];
}

/** Something that does not work, for a monitor: `reason` is a stable word, `detail` a sentence that names no tenant. */
export interface Degradation {
  readonly reason: string;
  readonly detail: string;
}

/** The body of `/readyz` while requests are taken: a balancer must not take a node out for a single file. */
export function readyBody(degraded: readonly Degradation[]): object {
  return degraded.length === 0 ? { status: 'ready' } : { status: 'degraded', reasons: degraded };
}

/** Mounts `/healthz`, `/readyz`, `/openapi.json`, its page `/docs`, and `/problems/:code`. */
export function mountServiceRoutes<E extends Env>(app: Hono<E>, routes: ServiceRoutes): void {
  app.get('/healthz', () => json({ status: 'ok' }));
  app.get('/readyz', async () => {
    if (await isReady(routes.ready))
      return json({ ...readyBody(routes.degraded()), ...routes.readyDetails() });
    throw new PlatformError('unavailable', 'The control plane cannot take requests yet.', {
      reason: 'not_ready',
      headers: { 'retry-after': '1' },
    });
  });
  const answerDocument = documentAnswer(routes.openApi);
  app.get('/openapi.json', (c) => answerDocument(c.req.header('if-none-match')));
  const answerDocs = makeApiDocs(() => ({ document: routes.openApi(), documentUrl: '/openapi.json' }));
  app.get('/docs', (c) => answerDocs(c.req.raw));
  app.get('/problems/:code', (c) => explainProblem(c.req.param('code'), c.req.header('accept') ?? ''));
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs', '/problems/:code'])
    app.all(path, (c) => answerOtherMethod(c.req.raw.method, ['GET']));
}

async function isReady(ready: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ready();
  } catch {
    // A probe that fails is an answer: not ready.
    return false;
  }
}

/** Explains the code that a problem's `type` names (RFC 9457, section 3.1.1), to a program or a person. */
function explainProblem(code: string, accept: string): Response {
  const path = `/problems/${code}`;
  const page = problemPage(path);
  if (page === null)
    throw new PlatformError('not_found', 'There is no problem code of this name.', {
      reason: 'unknown_code',
    });
  const { status, title } = PROBLEMS[code as ProblemCode];
  const answer = accept.includes('text/html') ? page : json({ type: path, code, status, title });
  // Both forms of one address need it, or a cache would give a browser the JSON.
  answer.headers.set('vary', 'accept');
  return answer;
}

/** Returns the answer of `/openapi.json`. The tag is weak: the listener may compress the body. */
function documentAnswer(document: () => OpenApiDocument): (ifNoneMatch: string | undefined) => Response {
  let written: { readonly text: string; readonly version: string } | undefined;
  return (ifNoneMatch) => {
    if (written === undefined) {
      const text = JSON.stringify(document());
      written = { text, version: createHash('sha256').update(text).digest('base64url') };
    }
    const { text, version } = written;
    const headers = { ...COMMON_HEADERS, 'cache-control': 'no-cache', etag: `W/"${version}"` };
    if (isUnchanged(ifNoneMatch, version)) return new Response(null, { status: 304, headers });
    return new Response(text, { headers: { ...headers, 'content-type': 'application/json' } });
  };
}

function json(value: unknown): Response {
  return new Response(JSON.stringify(value), {
    headers: { ...COMMON_HEADERS, 'content-type': 'application/json' },
  });
}
