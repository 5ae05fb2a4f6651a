/** Signing in at a certified OpenID provider that runs beside this test, by way of component B, in a browser with cookies. */
import { describe, expect, test } from 'vitest';
import { type Browser, makeBrowser } from '../connect/browser.ts';
import { authorization, ORIGIN, openFixture } from './fixture.ts';
import { chooses, type IssuerFixtureOptions, openFixtureWithIssuer } from './fixture-with-issuer.ts';

async function openSignIn(origin = ORIGIN, more: IssuerFixtureOptions = {}) {
  const { fixture, issuer } = await openFixtureWithIssuer(origin, more);
  const browser = makeBrowser({ [new URL(origin).host]: fixture.send }, ['127.0.0.1:4711']);
  return { fixture, issuer, browser };
}

const me = async (browser: Browser) => (await browser.go(`${ORIGIN}/auth/me`)).response;

describe('spec 5.5: a member of the staff', () => {
  test('signs in, is who the roster says, and is out with the request after they are removed', async () => {
    const { fixture, issuer, browser } = await openSignIn();
    const { id } = await fixture.invite('ada', 'admin');
    expect((await me(browser)).status).toBe(401);
    const { response, url } = await browser.go(`${ORIGIN}/auth/login`);
    expect(url.origin).toBe(issuer.url);
    const landed = await chooses(browser, issuer, response, 'ada');
    expect(landed.url.href).toBe(`${ORIGIN}/`);
    expect(await landed.response.text()).toContain('signed in as ada, admin');
    expect(await (await me(browser)).json()).toMatchObject({ kind: 'staff', id, role: 'admin' });
    expect((await browser.go(`${ORIGIN}/tenants`)).response.status).toBe(200);
    const authorized = { authorization: `Bearer ${fixture.secret}` };
    await fixture.ask(`/staff/${id}`, { method: 'DELETE', headers: authorized });
    expect((await me(browser)).status).toBe(401);
    expect((await browser.go(`${ORIGIN}/tenants`)).response.status).toBe(401);
  });

  test('has a cookie of this host alone, which scripts cannot read, and Secure where there is TLS', async () => {
    const origin = 'https://api.apps.example.test';
    for (const [each, isSecure] of [
      [ORIGIN, false],
      [origin, true],
    ] as const) {
      const { fixture, issuer, browser } = await openSignIn(each);
      await fixture.invite('ada', 'admin');
      await chooses(browser, issuer, (await browser.go(`${each}/auth/login`)).response, 'ada');
      const cookie = browser.received.join('').match(/sb_session=[^"]{50,}?(?=")/)?.[0] ?? '';
      expect(cookie).toMatch(/Path=\/; Max-Age=604800; HttpOnly/);
      expect(cookie).not.toContain('Domain');
      expect(cookie.includes('Secure')).toBe(isSecure);
    }
  });

  test('cannot be acted for by another page: a session on an unsafe method is for our own', async () => {
    const { fixture, issuer, browser } = await openSignIn();
    await fixture.invite('ada', 'admin');
    await chooses(browser, issuer, (await browser.go(`${ORIGIN}/auth/login`)).response, 'ada');
    const init = (site: string) => ({
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': site },
      body: '{"slug":"acme","name":"Acme"}',
    });
    const refused = (await browser.go(`${ORIGIN}/tenants`, init('same-site'))).response;
    expect([refused.status, await refused.json()]).toMatchObject([403, { reason: 'cross_site' }]);
    // The browser goes on to the tenant that was made.
    const made = await browser.go(`${ORIGIN}/tenants`, init('same-origin'));
    expect(await made.response.json()).toMatchObject({ slug: 'acme' });
  });

  test('signs out here and at the issuer, and the session is over on the server too', async () => {
    const { fixture, issuer, browser } = await openSignIn();
    await fixture.invite('ada', 'admin');
    await chooses(browser, issuer, (await browser.go(`${ORIGIN}/auth/login`)).response, 'ada');
    const line = browser.received.find((each) => each.includes('sb_session=')) ?? '';
    const stolen = /sb_session=([^;"]+)/.exec(line)?.[1] ?? '';
    const withStolen = () => fixture.ask('/auth/me', { headers: { cookie: `sb_session=${stolen}` } });
    expect((await withStolen()).status).toBe(200);
    await browser.go(`${ORIGIN}/auth/logout?federated`);
    expect((await me(browser)).status).toBe(401);
    expect((await withStolen()).status).toBe(401);
    expect((await browser.go(`${ORIGIN}/auth/login`)).url.origin).toBe(issuer.url);
  });
});

describe('another person', () => {
  test.each([
    ['who is not on the roster', 'grace', 'not_on_roster'],
    ['whose address the issuer does not vouch for', 'edsger', 'email_unverified'],
  ])('%s sees a page that says whom to ask, and gets no session', async (_, login, code) => {
    const { fixture, issuer, browser } = await openSignIn();
    await fixture.invite('edsger', 'admin');
    const { response } = await chooses(
      browser,
      issuer,
      (await browser.go(`${ORIGIN}/auth/login`)).response,
      login,
    );
    const page = await response.text();
    expect(response.status).toBe(403);
    expect(page).toContain(code);
    expect(page).toMatch(code === 'not_on_roster' ? /Ask an admin of this platform/ : /Verify it there/);
    expect(browser.received.join('')).not.toMatch(/sb_session=[^;"]/);
    expect((await me(browser)).status).toBe(401);
  });
});

test('a member whose issuer shows no second factor sees the claim that is missing, and gets no session', async () => {
  const accepted = [{ claim: 'amr', value: 'mfa' }] as const;
  const { fixture, issuer, browser } = await openSignIn(ORIGIN, {
    secondFactor: { demand: 'all', accepted },
  });
  await fixture.invite('ada', 'admin');
  const login = await browser.go(`${ORIGIN}/auth/login`);
  const { response } = await chooses(browser, issuer, login.response, 'ada');
  const page = await response.text();
  expect([response.status, page]).toEqual([403, expect.stringContaining('second_factor')]);
  expect(page).toContain('acr or amr');
  expect((await me(browser)).status).toBe(401);
});

test('a program is allowed by a member who signs in on the way', async () => {
  const { fixture, issuer, browser } = await openSignIn();
  await fixture.invite('ada', 'operator');
  const asked = await browser.go(`${ORIGIN}/oauth/authorize?${new URLSearchParams(authorization)}`);
  expect(asked.url.origin).toBe(issuer.url);
  const { response, url } = await chooses(browser, issuer, asked.response, 'ada');
  expect(url.pathname).toBe('/oauth/authorize');
  const page = await response.text();
  const fields = [...page.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value.replaceAll('&#38;', '&')],
  );
  const body = new URLSearchParams(fields.filter(([name]) => name !== 'decision'));
  body.set('decision', 'allow');
  const headers = { 'sec-fetch-site': 'same-origin' };
  const back = await browser.go(`${ORIGIN}/oauth/authorize`, { method: 'POST', body, headers });
  expect(back.url.host).toBe('127.0.0.1:4711');
  expect(back.url.searchParams.get('state')).toBe(authorization.state);
  expect(back.url.searchParams.get('code')).toMatch(/^[0-9a-f]{64}$/);
});

test('where no issuer is configured, everybody is told so', async () => {
  const fixture = await openFixture({ relyingParty: () => () => null });
  const response = await fixture.ask('/api/auth/login');
  expect([response.status, await response.json()]).toMatchObject([503, { reason: 'no_issuer' }]);
  expect((await fixture.ask('/tenants', { headers: { cookie: 'sb_session=x' } })).status).toBe(401);
});
