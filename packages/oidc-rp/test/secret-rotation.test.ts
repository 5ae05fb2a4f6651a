/**
 * spec B-04, B-05, B-06: SESSION_SECRET is a list. The first signs, all verify, and a secret that left the list is
 * refused.
 */
import { describe, expect, test } from 'vitest';
import { ALICE, APP, type Fixture, makeFixture, SECRET } from '../../testkit/src/oidc/fixture.ts';
import { parseOidcEnv } from '../src/env.ts';
import type { RelyingParty } from '../src/relying-party.ts';

const NEXT = 'the next session secret, also long enough';

/** Returns the application after a restart with other secrets: another process, the same issuer and clock. */
const restarted = ({ rp, other }: Fixture, ...sessionSecrets: string[]): RelyingParty =>
  other({ env: { ...rp.env, sessionSecrets } });

async function visit({ browser }: Fixture, rp: RelyingParty, url: string): Promise<Response> {
  const address = new URL(url, APP).href;
  const response = await rp.handle(browser.request(address), { onSuccess: '/home', onError: '/oops' });
  browser.store(address, response);
  return response;
}

const hintOf = (logout: Response): string | null =>
  new URL(logout.headers.get('location') ?? '').searchParams.get('id_token_hint');

describe('while the old secret is still listed', () => {
  test('B-05: a session from before is a session', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    const { headers } = fixture.browser.request(`${APP}/page`);
    expect(restarted(fixture, NEXT, SECRET).sessionFromHeaders(headers)?.id).toBe(ALICE.sub);
  });

  test('B-04: a sign-in from before completes, and leaves cookies that the next secret alone verifies', async () => {
    const fixture = await makeFixture();
    const tab = await fixture.approve({ returnTo: '/other-tab' });
    const callback = await fixture.approve({ returnTo: '/inbox' });
    const done = await visit(fixture, restarted(fixture, NEXT, SECRET), callback);
    expect(done.headers.get('location')).toBe('/inbox');
    const later = restarted(fixture, NEXT);
    expect(later.sessionFromHeaders(fixture.browser.request(`${APP}/page`).headers)?.id).toBe(ALICE.sub);
    // The other tab's flow was signed again with the cookie, and the used one is still remembered.
    expect((await visit(fixture, later, tab)).headers.get('location')).toBe('/other-tab');
    expect((await visit(fixture, later, callback)).headers.get('location')).toBe('/inbox');
    expect(hintOf(await visit(fixture, later, '/api/auth/logout?federated'))).not.toBeNull();
  });

  test('B-06: a hint from before is handed to the issuer', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    const logout = await visit(fixture, restarted(fixture, NEXT, SECRET), '/api/auth/logout?federated');
    const hint = hintOf(logout) ?? '';
    await expect(fixture.rp.issuer.verifyJwt(hint)).resolves.toMatchObject({ sub: ALICE.sub });
  });

  test('the last of three secrets verifies too, and none but the first signs', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    const third = 'yet another session secret, long enough too';
    const app = restarted(fixture, third, NEXT, SECRET);
    expect(app.sessionFromHeaders(fixture.browser.request(`${APP}/page`).headers)?.id).toBe(ALICE.sub);
    const token = app.mintSession({ id: 'bob-1' });
    expect(restarted(fixture, third).verifySession(token)).not.toBeNull();
    expect(restarted(fixture, NEXT, SECRET).verifySession(token)).toBeNull();
  });
});

describe('once the old secret has left the list', () => {
  test('B-05: a session from before is refused', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    const { headers } = fixture.browser.request(`${APP}/page`);
    expect(restarted(fixture, NEXT).sessionFromHeaders(headers)).toBeNull();
  });

  test('B-04: a sign-in from before is over, and its code is not redeemed', async () => {
    const fixture = await makeFixture();
    const callback = await fixture.approve({ returnTo: '/inbox' });
    const done = await visit(fixture, restarted(fixture, NEXT), callback);
    expect(done.headers.get('location')).toBe('/oops?error=flow_expired');
    expect(fixture.browser.values('sb_session')).toEqual([]);
    expect(fixture.issuer.count('/token')).toBe(0);
  });

  test('B-06, B-16: a hint from before is dropped, and the sign-out happens all the same', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    const logout = await visit(fixture, restarted(fixture, NEXT), '/api/auth/logout?federated');
    expect(logout.headers.get('location')).toMatch(/^https:\/\/issuer\.example\/logout\?/);
    expect(hintOf(logout)).toBeNull();
    expect(fixture.browser.values('sb_session')).toEqual([]);
    expect(fixture.browser.values('sb_oidc_idt')).toEqual([]);
  });

  test('the reader signs in again as if for the first time, over the cookies from before', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    await fixture.approve();
    const app = restarted(fixture, NEXT);
    const login = await visit(fixture, app, '/api/auth/login?returnTo=%2Finbox');
    const callback = fixture.issuer.approve(login.headers.get('location') ?? '', ALICE);
    expect((await visit(fixture, app, callback)).headers.get('location')).toBe('/inbox');
    expect(app.sessionFromHeaders(fixture.browser.request(`${APP}/page`).headers)?.id).toBe(ALICE.sub);
  });
});

test('B-02: SESSION_SECRET lists them by commas, the signing one first', () => {
  const { sessionSecrets } = parseOidcEnv({
    OIDC_ISSUER: 'https://issuer.example',
    OIDC_CLIENT_ID: 'client-1',
    SESSION_SECRET: `${NEXT.replace(',', '')}, ${SECRET}`,
  });
  expect(sessionSecrets).toEqual([NEXT.replace(',', ''), SECRET]);
});
