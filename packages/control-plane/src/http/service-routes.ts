/** What the control plane serves beside its operations, to anybody: health, its own description, its problem codes. */
import { PlatformError, PROBLEMS, type ProblemCode } from '@freehold/contracts';
import { answerOtherMethod } from '@freehold/contracts/http';
import type { Env, Hono } from 'hono';
import { COMMON_HEADERS } from './answer.ts';

export interface ServiceRoutes {
  /** The OpenAPI document as JSON text. Made when it is first asked for. */
  readonly openApi: () => string;
  /** Whether the directory answers; a throw counts as no. */
  readonly ready: () => Promise<boolean>;
}

/** Mounts `/healthz`, `/readyz`, `/openapi.json` and `/problems/:code`. */
export function mountServiceRoutes<E extends Env>(app: Hono<E>, routes: ServiceRoutes): void {
  app.get('/healthz', () => json({ status: 'ok' }));
  app.get('/readyz', async () => {
    if (await isReady(routes.ready)) return json({ status: 'ready' });
    throw new PlatformError('unavailable', 'The control plane cannot take requests yet.', {
      reason: 'not_ready',
      headers: { 'retry-after': '1' },
    });
  });
  app.get('/openapi.json', () => jsonText(routes.openApi()));
  app.get('/problems/:code', (c) => problemPage(c.req.param('code'), c.req.header('accept') ?? ''));
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/problems/:code'])
    app.all(path, (c) => answerOtherMethod(c.req.raw.method, ['GET']));
}

async function isReady(ready: () => Promise<boolean>): Promise<boolean> {
  try {
    return await ready();
  } catch {
    // The probe's whole question is whether this works; the monitor that asks is told no.
    return false;
  }
}

/** What a problem's `type` leads to (RFC 9457, section 3.1.1): the code, for a program or for a person. */
function problemPage(code: string, accept: string): Response {
  if (!Object.hasOwn(PROBLEMS, code))
    throw new PlatformError('not_found', 'There is no problem code of this name.', {
      reason: 'unknown_code',
    });
  const { status, title } = PROBLEMS[code as ProblemCode];
  if (!accept.includes('text/html')) {
    const answer = json({ type: `/problems/${code}`, code, status, title });
    // Both forms of one address say so, or a cache would give a browser the JSON.
    answer.headers.set('vary', 'accept');
    return answer;
  }
  // Every part of this page is one of our own constants, so there is nothing to escape.
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${code}</title><h1><code>${code}</code></h1><p>${title}.</p><p>HTTP status ${status}.</p></html>`;
  return new Response(page, {
    headers: {
      ...COMMON_HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      vary: 'accept',
    },
  });
}

function json(value: unknown): Response {
  return jsonText(JSON.stringify(value));
}

function jsonText(text: string): Response {
  return new Response(text, { headers: { ...COMMON_HEADERS, 'content-type': 'application/json' } });
}
