/**
 * The reference for people: the OpenAPI document, rendered, from our own origin alone. It says nothing that
 * `/openapi.json` does not say to anybody, so that nobody has to sign in for it.
 */
import type { ApiDocs } from '@freehold/api-docs';
import { answerOtherMethod } from '@freehold/contracts/http';
import type { Env, Hono } from 'hono';

const SCRIPT_PATH = '/docs/script.js';

export function mountDocs<E extends Env>(app: Hono<E>, docs: ApiDocs): void {
  app.get('/docs', () =>
    docs.page({ title: 'Control plane', documentUrl: '/openapi.json', scriptUrl: SCRIPT_PATH }),
  );
  app.get(SCRIPT_PATH, (c) => docs.script(c.req.raw));
  for (const path of ['/docs', SCRIPT_PATH])
    app.all(path, (c) => answerOtherMethod(c.req.raw.method, ['GET']));
}
