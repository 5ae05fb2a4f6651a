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

test('userinfo-invalid-sub: userinfo about another subject ends the sign-in', async () => {
  const userinfo = { sub: 'bob-1', email: 'bob@example.org' };
  await expect(userOf(BARE, { userinfo })).rejects.toMatchObject({ code: 'userinfo_invalid' });
});

describe('userinfo that cannot be used keeps no person out: the claims of the ID token remain', () => {
  const answering = (answer: () => Response): FakeBehaviour => ({
    intercept: (request) => (request.path === '/userinfo' ? answer() : undefined),
  });
  test.each<[string, FakeBehaviour]>([
    ['no sub', { userinfo: { sub: undefined, email: 'alice@example.org' } }],
    ['an unasked-for JWT', answering(jwtAnswer)],
    ['401', answering(challenge)],
    ['403', answering(() => Response.json({ error: 'insufficient_scope' }, { status: 403 }))],
    ['a list', answering(() => Response.json([]))],
    ['an endpoint that is down', answering(() => new Response(null, { status: 502 }))],
    [
      'an endpoint that cannot be reached',
      answering(() => {
        throw new TypeError('fetch failed');
      }),
    ],
  ])('%s', async (_, behaviour) => {
    const { user } = await userOf({ sub: 'alice-1', claims: { name: 'Alice' } }, behaviour);
    expect(user).toStrictEqual({ id: 'alice-1', name: 'Alice' });
  });
});

describe('optional claims that cannot be shown keep no person out', () => {
  const nameOf = async (name: string) =>
    (await userOf({ sub: 'alice-1', claims: { email: 'a@b.example', name } })).user.name;

  test('a long name is cut to 200 characters, none of them halved', async () => {
    expect(await nameOf('n'.repeat(5_000))).toBe('n'.repeat(200));
    expect(await nameOf('👩'.repeat(300))).toBe('👩'.repeat(200));
  });

  test('a name is in the form NFC, on one line, without control and bidirectional characters', async () => {
    expect(await nameOf('Zoe\u0308')).toBe('Zoë');
    expect(await nameOf(' Ada\r\n\u0007 Lovelace\u0000')).toBe('Ada Lovelace');
    expect(await nameOf('\u202eecila\u202c Ada\u200f')).toBe('ecila Ada');
    expect(await nameOf('\u2066\u0000')).toBeUndefined();
  });

  test.each([
    ['longer than an address may be', `${'a'.repeat(300)}@example.org`],
    ['with a line break', 'alice@example.org\nbcc: bob@example.org'],
    ['with a bidirectional control', 'alice\u202e@example.org'],
  ])('an e-mail address is left out: %s', async (_, email) => {
    const { user } = await userOf({ sub: 'alice-1', claims: { email, name: 'Alice' } });
    expect(user).toStrictEqual({ id: 'alice-1', name: 'Alice' });
  });

  test('the longest of everything fits in a cookie', async () => {
    const claims = { email: `${'é'.repeat(121)}@example.org`, name: '👩'.repeat(200) };
    const { user } = await userOf({ sub: 's'.repeat(255), claims });
    expect(user).toMatchObject(claims);
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
