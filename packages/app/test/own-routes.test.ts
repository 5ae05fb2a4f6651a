/** The gates of callers hold for the application's own routes, wherever they are and whatever they read. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AppRoutes, unauthenticated } from '../src/index.ts';
import { openSmallApp, type SmallApp } from './small-app.ts';

/** Routes as a builder writes them: none reads a body, and one is no API. */
const routes: AppRoutes = (app, tools) => {
  app.post('/api/ring', async (c) => c.json({ by: await tools.principal(c) }));
  app.get('/board', async (c) => c.json({ by: await tools.principal(c) }));
  app.post('/hook', (c) => c.json({ taken: true }));
};

let fixture: SmallApp;
let cookie: string;
beforeAll(async () => {
  fixture = await openSmallApp({ app: { routes } });
  cookie = await fixture.cookieOf('ada', 'Ada');
});
afterAll(() => fixture[Symbol.asyncDispose]());

const send = ({ call, at }: SmallApp, method: string, path: string, headers: Record<string, string>) =>
  call(new Request(`${at.origin}${path}`, { method, headers }));

test.each([
  { 'sec-fetch-site': 'cross-site' },
  // A sibling host is of the same site, so that the cookie comes along, and is another tenant.
  { 'sec-fetch-site': 'same-site' },
  { origin: 'https://other.example' },
])('a page of another site cannot use the cookie of a member (%j)', async (headers) => {
  const refused = await send(fixture, 'POST', '/api/ring', { cookie, ...headers });
  expect([refused.status, await refused.json()]).toMatchObject([403, { reason: 'cross_site' }]);
  // A request without a caller is the builder's own matter.
  expect((await send(fixture, 'POST', '/hook', headers)).status).toBe(200);
});

test('a page of the application itself can', async () => {
  const own = { cookie, 'sec-fetch-site': 'same-origin' };
  expect((await send(fixture, 'POST', '/api/ring', own)).status).toBe(200);
});

// spec A-04
test('no person is let in anywhere while sign-in is not wired', async () => {
  const authenticatedPrincipal = unauthenticated();
  await using closed = await openSmallApp({ app: { routes, authenticatedPrincipal } });
  const refused = await send(closed, 'GET', '/board', { cookie: await closed.cookieOf('ada') });
  expect(refused.status).toBe(401);
  expect(await refused.json()).toMatchObject({
    code: 'unauthenticated',
    detail: expect.stringContaining('replace unauthenticated() by signedIn()'),
  });
});
