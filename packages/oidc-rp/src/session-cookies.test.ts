/** Sessions without an issuer. */
import { expect, test } from 'vitest';
import { SESSION_TTL_MS } from './cookies.ts';
import { makeSessionCookies, type SessionCookiesOptions } from './session.ts';

const START_MS = Date.UTC(2026, 10, 21);
const SECRETS = ['a secret of at least thirty-two bytes', 'an older secret of thirty-two bytes!'];

function make(options: Partial<SessionCookiesOptions> = {}) {
  const clock = { nowMs: START_MS };
  const cookies = makeSessionCookies({
    issuer: 'urn:example:directory:1',
    secrets: SECRETS,
    audience: 'tenant/scope',
    now: () => clock.nowMs,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    ...options,
  });
  return { clock, cookies };
}

const asRequest = (setCookies: readonly string[]) =>
  new Headers({ cookie: setCookies.map((each) => each.split(';')[0]).join('; ') });

test('B-05, B-07: what was minted is read back, for seven days and not a moment longer', () => {
  const { clock, cookies } = make();
  const user = { id: 'usr_1', email: 'ada@example.com', name: 'Ada', emailVerified: false };
  const { session, setCookies } = cookies.mint(user, 'https://app.example', { authTimeMs: START_MS });
  expect(session).toMatchObject({ user, issuer: 'urn:example:directory:1', authTimeMs: START_MS });
  expect(setCookies).toHaveLength(1);
  expect(setCookies[0]).toMatch(/^sb_session=.*; Path=\/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax$/);
  clock.nowMs += SESSION_TTL_MS - 1;
  expect(cookies.read(asRequest(setCookies))).toEqual(session);
  clock.nowMs += 1;
  expect(cookies.read(asRequest(setCookies))).toBeNull();
});

test('a session of another issuer, audience or secret is refused; an older secret still verifies', () => {
  const { setCookies } = make().cookies.mint({ id: 'usr_1' }, 'https://app.example');
  const headers = asRequest(setCookies);
  expect(make({ issuer: 'urn:example:directory:2' }).cookies.read(headers)).toBeNull();
  expect(make({ audience: 'tenant/other' }).cookies.read(headers)).toBeNull();
  expect(make({ secrets: [SECRETS[1] as string] }).cookies.read(headers)).toBeNull();
  const rotated = make({ secrets: ['a new secret of at least 32 bytes!!', ...SECRETS] });
  expect(rotated.cookies.read(headers)?.user.id).toBe('usr_1');
});

test('a secret that is too short is refused', () => {
  expect(() => make({ secrets: ['short'] })).toThrow('SESSION_SECRET');
  expect(() => make({ secrets: [] })).toThrow('SESSION_SECRET');
});

test('a session is issued at the time that is asked for, and lives from then on', () => {
  const { clock, cookies } = make();
  const atMs = START_MS + 5_000;
  const { session, setCookies } = cookies.mint({ id: 'usr_1' }, 'https://app.example', { atMs });
  expect(session).toMatchObject({ issuedAtMs: atMs, expiresAtMs: atMs + SESSION_TTL_MS });
  clock.nowMs = atMs + SESSION_TTL_MS - 1;
  expect(cookies.read(asRequest(setCookies))).toEqual(session);
});

test('of several sessions none counts as the user’s, and all are listed for ending', () => {
  const { cookies } = make();
  const [one, two] = ['usr_1', 'usr_2'].map((id) => cookies.mint({ id }, 'https://app.example'));
  const values = [one, two].map((each) => each?.setCookies[0]?.split(';')[0]);
  const headers = new Headers({ cookie: [...values, 'sb_session=planted', values[0]].join('; ') });
  expect(cookies.read(headers)).toBeNull();
  expect(cookies.readAll(headers)).toEqual([one?.session, two?.session]);
  expect(cookies.readAll(new Headers())).toEqual([]);
  const many = Array.from({ length: 50 }, (_, i) => `sb_session=${i}`);
  expect(cookies.readAll(new Headers({ cookie: [...many, values[0]].join('; ') }))).toEqual([]);
});
