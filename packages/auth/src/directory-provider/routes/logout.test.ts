/** Signing out. */
import { expect, test } from 'vitest';
import { isSignedIn, logIn, openProvider, signUp } from '../../../test/directory-provider.ts';

const LOGOUT = '/api/auth/logout';

test('A-01: takes effect on the next request with the old cookie, in every copy, and there only', async () => {
  const fixture = await openProvider();
  const [browser, other] = [await signUp(fixture), await logIn(fixture)];
  const stolen = browser.headersFor('/');
  const response = await browser.get(`${LOGOUT}?returnTo=%2Fbye`);
  expect([response.status, response.headers.get('location')]).toEqual([302, '/bye']);
  expect([...browser.cookies.keys()]).toEqual(['__Host-sb_browser']);
  expect(await fixture.provider.resolve(stolen)).toBeNull();
  expect(await isSignedIn(fixture, other)).toBe(true);
});

test('without a session it clears the cookies all the same, and does not call the directory', async () => {
  const fixture = await openProvider();
  const response = await fixture.browser().get(LOGOUT);
  expect([response.status, response.headers.get('location')]).toEqual([302, '/']);
  const cleared = response.headers.getSetCookie();
  expect(cleared.map((line) => line.split('=')[0])).toEqual([
    'sb_session',
    '__Host-sb_second_factor',
    '__Host-sb_return_to',
  ]);
  for (const line of cleared) expect(line).toContain('Max-Age=0');
  expect(fixture.watch.calls).toEqual([]);
});

test('a browser that prefetches does not sign out', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  for (const header of ['sec-purpose', 'purpose', 'x-moz']) {
    const response = await browser.get(LOGOUT, { [header]: 'prefetch' });
    expect([response.status, response.headers.getSetCookie()]).toEqual([503, []]);
  }
  expect(await isSignedIn(fixture, browser)).toBe(true);
  expect(fixture.reported).toEqual([]);
});

test('the cookie is cleared, and the page reports a directory that fails', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  fixture.watch.failing = true;
  const response = await browser.get(LOGOUT);
  expect([response.status, browser.cookies.has('sb_session')]).toEqual([503, false]);
  expect(await response.text()).toContain('could not be ended everywhere');
  expect(fixture.reported).toMatchObject([{ code: 'unavailable' }]);
});

test.each(['POST', 'HEAD', 'PUT', 'DELETE'])('%s does not sign out', async (method) => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const response = await fixture.provider.handle(
    new Request(`https://app.example${LOGOUT}`, { method, headers: browser.headersFor('/') }),
  );
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
  expect(await isSignedIn(fixture, browser)).toBe(true);
});

test.each([
  ['another site', 'cross-site'],
  ['a sibling host', 'same-site'],
  ['this very site', 'same-origin'],
])('an image on a page of %s does not sign out', async (_, site) => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
  const response = await browser.get(LOGOUT, { ...headers, accept: 'image/*' });
  expect([response.status, response.headers.getSetCookie()]).toEqual([503, []]);
  expect(await isSignedIn(fixture, browser)).toBe(true);
});

test("beside a planted session, the user's own is ended as well", async () => {
  const fixture = await openProvider();
  const [browser, mallory] = [await signUp(fixture), await signUp(fixture, 'mallory@example.com')];
  const cookies = [browser, mallory].map((each) => `sb_session=${each.cookies.get('sb_session')?.value}`);
  const out = await fixture.browser().get(LOGOUT, { cookie: cookies.join('; ') });
  expect(out.status).toBe(302);
  for (const cookie of cookies) expect(await fixture.provider.resolve(new Headers({ cookie }))).toBeNull();
});
