/** The public surface behind a server that makes requests of its own kind, as @hono/node-server does. */
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { mountPublicSurface } from './mount-public-surface.ts';
import { makePublicActor } from './public-actor.ts';

const ORIGIN = 'https://shop.example';

/** Has the parts of a request, and is none that the constructor `Request` takes. */
function serverRequest(real: Request): Request {
  return new Proxy(real, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

test.each([{}, { cookie: 'sb_session=x' }])('a form with the headers %j is read', async (headers) => {
  const app = new Hono();
  mountPublicSurface(app, {
    service: 'visitors',
    basePath: '/public',
    resolveActor: async () => makePublicActor({ invoke: async () => ({ output: null }) } as never, [ORIGIN]),
    routes: (route) => {
      route.post('/things', async (c, { body }) => c.json([body, await c.req.json()]));
    },
  });
  const asked = new Request('https://instance.example/public/things', {
    method: 'POST',
    headers: { origin: ORIGIN, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ what: 'a glove' }),
  });
  const response = await app.fetch(serverRequest(asked));
  expect([response.status, await response.json()]).toEqual([200, [{ what: 'a glove' }, { what: 'a glove' }]]);
});
