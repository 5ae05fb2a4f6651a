/** Without a sign-in, every request under /api is refused. */
import { expect, test } from 'vitest';
import { openFixture } from './fixture.ts';

test.each([
  ['GET', '/api'],
  ['GET', '/api/notes'],
  ['POST', '/api/notes'],
  ['DELETE', '/api/notes'],
  ['GET', '/api/openapi.json'],
  ['GET', '/api/docs'],
  ['POST', '/api/mcp'],
  ['GET', '/api/nothing/here'],
])('%s %s is 401 for an anonymous caller, and says where to sign in', async (method, path) => {
  await using fixture = await openFixture();
  const response = await fixture.ask(path, { method });
  expect(response.status).toBe(401);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(await response.json()).toMatchObject({
    code: 'unauthenticated',
    detail: 'Sign in first.',
    loginUrl: '/api/auth/login?returnTo=%2F',
  });
});

test('the management contract is closed without the secret', async () => {
  await using fixture = await openFixture();
  for (const secret of [undefined, 'a wrong one']) {
    const response = await fixture.platform('/internal/provision', {}, secret);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: 'forbidden' });
  }
});

test('an unknown address outside /api is a 404 problem', async () => {
  await using fixture = await openFixture();
  const response = await fixture.ask('/nothing');
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ code: 'not_found' });
});
