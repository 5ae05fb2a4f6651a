import { describe, expect, test } from 'vitest';
import type { FakeBehaviour, FakeUser } from '../../testkit/src/oidc/fake-issuer.ts';
import { ALICE, type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import type { SessionUser } from './session.ts';

const BARE: FakeUser = { sub: 'alice-1' };

async function userOf(
  user: FakeUser,
  behaviour: FakeBehaviour = {},
  options: Parameters<typeof makeFixture>[0] = {},
): Promise<{ user: SessionUser; fixture: Fixture }> {
  const fixture = await makeFixture(options);
  Object.assign(fixture.issuer.behaviour, behaviour);
  const login = await fixture.rp.completeLogin(fixture.browser.request(await fixture.approve({ user })));
  return { user: login.user, fixture };
}

test('userinfo is not asked when the ID token is sufficient', async () => {
  const { user, fixture } = await userOf(ALICE);
  expect(user).toEqual({
    id: 'alice-1',
    email: 'alice@example.org',
    name: 'Alice Example',
    emailVerified: true,
  });
  expect(fixture.issuer.count('/userinfo')).toBe(0);
});

test('scope-userinfo-claims: claims that the ID token lacks are fetched, with the access token as bearer', async () => {
  const { user, fixture } = await userOf(BARE, {
    userinfo: { email: 'alice@example.org', name: 'Alice', email_verified: false },
  });
  expect(user).toEqual({ id: 'alice-1', email: 'alice@example.org', name: 'Alice', emailVerified: false });
  const asked = fixture.issuer.requests.find(({ path }) => path === '/userinfo');
  expect(asked?.headers.get('authorization')).toMatch(/^Bearer at-/);
});

test('it is asked neither when not advertised nor when the scope needs nothing of it', async () => {
  const behaviour = { userinfo: { email: 'alice@example.org' } };
  expect(
    (await userOf(BARE, { ...behaviour, metadata: { userinfo_endpoint: undefined } })).user,
  ).toStrictEqual({ id: 'alice-1' });
  expect((await userOf(BARE, behaviour, { relyingParty: { scope: 'openid' } })).user).toStrictEqual({
    id: 'alice-1',
  });
});

// spec B-07
describe('email_verified passes unchanged and stays three-state', () => {
  test.each([
    ['true', true, { emailVerified: true }],
    ['false', false, { emailVerified: false }],
    ['absent', undefined, {}],
    ['text is no assertion', 'true', {}],
    ['a number is no assertion', 1, {}],
  ])('%s', async (_, flag, expected) => {
    const { user } = await userOf(BARE, {
      userinfo: { email: 'a@example.org', name: 'A', email_verified: flag },
    });
    expect(user).toStrictEqual({ id: 'alice-1', email: 'a@example.org', name: 'A', ...expected });
  });

  test('the flag of one address never vouches for another', async () => {
    const { user } = await userOf(
      { sub: 'alice-1', claims: { email: 'unverified@example.org' } },
      { userinfo: { email: 'verified@example.org', email_verified: true, name: 'Alice' } },
    );
    expect(user).toStrictEqual({ id: 'alice-1', email: 'unverified@example.org', name: 'Alice' });
  });

  test('the flag of the same address completes it', async () => {
    const { user } = await userOf(
      { sub: 'alice-1', claims: { email: 'a@example.org' } },
      { userinfo: { email: 'a@example.org', email_verified: true, name: 'Alice' } },
    );
    expect(user.emailVerified).toBe(true);
  });
});

describe('userinfo that cannot be trusted ends the sign-in', () => {
  test.each<[string, FakeBehaviour]>([
    ['userinfo-invalid-sub', { userinfo: { sub: 'bob-1', email: 'bob@example.org' } }],
    ['no sub', { userinfo: { sub: undefined } }],
    [
      'an unasked-for JWT',
      { intercept: (request) => (request.path === '/userinfo' ? jwtAnswer() : undefined) },
    ],
    ['401', { intercept: (request) => (request.path === '/userinfo' ? challenge() : undefined) }],
    ['a list', { intercept: (request) => (request.path === '/userinfo' ? Response.json([]) : undefined) }],
  ])('%s', async (_, behaviour) => {
    await expect(userOf(BARE, behaviour)).rejects.toMatchObject({ code: 'userinfo_invalid' });
  });

  test('an endpoint that is down is 503', async () => {
    const intercept: NonNullable<FakeBehaviour['intercept']> = (request) =>
      request.path === '/userinfo' ? new Response(null, { status: 502 }) : undefined;
    await expect(userOf(BARE, { intercept })).rejects.toMatchObject({
      code: 'issuer_unavailable',
      status: 503,
    });
  });
});

function jwtAnswer(): Response {
  return new Response('eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZS0xIn0.', {
    headers: { 'content-type': 'application/jwt' },
  });
}

function challenge(): Response {
  return Response.json({}, { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } });
}
