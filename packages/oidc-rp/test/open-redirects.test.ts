/** spec B-12, B-13, B-18: for every `returnTo`, a sign-in and a sign-out end on a page of the application's own. */
import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import { APP, type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { OPEN_REDIRECT_PAYLOADS, whereTo } from '../../testkit/src/oidc/open-redirects.ts';
import { checkAuthRoutesOptions } from '../src/routes.ts';
import { landingPath, safePath } from '../src/safe-path.ts';

/** Each payload is judged by the pure functions; whole flows take every fifth in `npm test`. */
const FLOW_PAYLOADS = OPEN_REDIRECT_PAYLOADS.filter((_, index) => index % runs(1, 5) === 0);

type Landing = (fixture: Fixture, returnTo: string) => Promise<string | null>;

/** The three ways in which a `returnTo` becomes an address to which a browser is sent. */
const LANDINGS: Readonly<Record<string, Landing>> = {
  'the callback of a login with it': async (fixture, returnTo) =>
    (await fixture.signIn({ returnTo })).headers.get('location'),
  'a sign-out with it': async (fixture, returnTo) => {
    const query = new URLSearchParams({ returnTo });
    return (await fixture.visit(`/api/auth/logout?${query}`)).headers.get('location');
  },
  'the post_logout_redirect_uri of a federated sign-out with it': async (fixture, returnTo) => {
    const query = new URLSearchParams({ federated: '', returnTo });
    const atIssuer = (await fixture.visit(`/api/auth/logout?${query}`)).headers.get('location');
    expect(whereTo(atIssuer, APP)?.origin).toBe('https://issuer.example');
    return new URL(atIssuer ?? '').searchParams.get('post_logout_redirect_uri');
  },
};

function expectOwnPage(location: string | null): void {
  const place = whereTo(location, APP);
  expect(place?.origin).toBe(APP);
  // Routers read a path decoded, and some without regard to case.
  const decoded = place?.pathname.replace(/%[0-7][0-9a-f]/gi, (octet) => decodeURIComponent(octet));
  expect(decoded).not.toMatch(/^\/api\/auth(\/|$)/i);
}

test('the corpus is large, without repetition, and really leads elsewhere', () => {
  expect(OPEN_REDIRECT_PAYLOADS.length).toBeGreaterThan(1000);
  expect(new Set(OPEN_REDIRECT_PAYLOADS).size).toBe(OPEN_REDIRECT_PAYLOADS.length);
  const leadingAway = OPEN_REDIRECT_PAYLOADS.filter(
    (payload) => !URL.canParse(payload, APP) || new URL(payload, APP).origin !== APP,
  );
  expect(leadingAway.length).toBeGreaterThan(300);
});

test('B-18: safePath and landingPath return a path of ours or null, and accept their own result', () => {
  let accepted = 0;
  for (const payload of OPEN_REDIRECT_PAYLOADS) {
    const path = safePath(payload);
    if (path !== null) {
      accepted += 1;
      expect(path.startsWith('/')).toBe(true);
      expect(whereTo(path, APP)?.origin, payload).toBe(APP);
      expect(safePath(path)).toBe(path);
    }
    const landing = landingPath(payload);
    expect([path, null]).toContain(landing);
    if (landing !== null) expectOwnPage(landing);
  }
  // An odd-looking path is still a path.
  expect(accepted).toBeGreaterThan(50);
  expect(landingPath('/%e2%81%84evil.example')).toBe('/%e2%81%84evil.example');
});

describe.each(Object.entries(LANDINGS))('B-12, B-13, B-18: %s', (_, landingOf) => {
  test('stays on the application’s origin for every payload', async () => {
    const fixture = await makeFixture();
    for (const payload of FLOW_PAYLOADS) expectOwnPage(await landingOf(fixture, payload));
  });

  test('stays on the application’s origin for any string at all', async () => {
    const fixture = await makeFixture();
    await fc.assert(
      fc.asyncProperty(anyReturnTo(), async (returnTo) => {
        expectOwnPage(await landingOf(fixture, returnTo));
      }),
      { numRuns: 150 },
    );
  });

  test('goes where it should for an honest one', async () => {
    const fixture = await makeFixture();
    const place = whereTo(await landingOf(fixture, '/orders?page=2'), APP);
    expect(place?.href).toBe(`${APP}/orders?page=2`);
  });
});

test('B-18: the first returnTo counts, written raw or repeated, and is judged all the same', async () => {
  const fixture = await makeFixture();
  const logout = async (query: string): Promise<string | null> =>
    (await fixture.visit(`/api/auth/logout?${query}`)).headers.get('location');
  expect(await logout('returnTo=/bye&returnTo=//evil.example')).toBe('/bye');
  expect(await logout('returnTo=//evil.example&returnTo=/bye')).toBe('/');
  expect(await logout('returnTo[]=//evil.example')).toBe('/');
  for (const payload of FLOW_PAYLOADS) expectOwnPage(await logout(`returnTo=${payload}`));
});

describe('B-11: onSuccess and onError', () => {
  test('that are no landing of ours are refused when they are checked, for every payload', async () => {
    for (const payload of OPEN_REDIRECT_PAYLOADS) {
      for (const name of ['onSuccess', 'onError'] as const) {
        const check = (): void => checkAuthRoutesOptions({ [name]: payload });
        if (landingPath(payload) === null) expect(check, payload).toThrow(TypeError);
        else expect(check).not.toThrow();
      }
    }
  });

  // Callers without a check use the handler too, with settings that a tenant may have written.
  test('lead nowhere else even unchecked', async () => {
    const fixture = await makeFixture();
    for (const payload of FLOW_PAYLOADS) {
      const { browser, rp, approve } = fixture;
      const options = { onSuccess: payload, onError: payload };
      const signedIn = await rp.handle(browser.request(await approve()), options);
      expect(signedIn.headers.getSetCookie()[0]).toMatch(/^sb_session=./);
      expectOwnPage(signedIn.headers.get('location'));
      const failed = await rp.handle(new Request(`${APP}/api/auth/callback?state=x`), options);
      if (failed.status === 302) expectOwnPage(failed.headers.get('location'));
      else expect([failed.status, failed.headers.get('location')]).toEqual([400, null]);
    }
  });

  test('are written so that a header can hold them', async () => {
    const routes = { onSuccess: '/übersicht/日本', onError: '/a b' };
    const { signIn, visit } = await makeFixture({ routes });
    expect((await signIn()).headers.get('location')).toBe('/%C3%BCbersicht/%E6%97%A5%E6%9C%AC');
    await visit('/api/auth/logout');
    const failed = await visit('/api/auth/callback?state=x');
    expect(failed.headers.get('location')).toBe('/a%20b?error=flow_expired');
  });
});

/** Strings of the pieces of addresses, of arbitrary characters, and of payloads in pieces. */
function anyReturnTo(): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '%2f',
      '%5c',
      '%252f',
      '%09',
      '\t',
      '\r\n',
      '?',
      '#',
      '@',
      ':',
      ';',
    ),
    fc.constantFrom('evil.example', 'https:', 'javascript:', 'api', 'auth', '／', '\u0000', '\ud800'),
    fc.string({ unit: anyCharacter, maxLength: 4 }),
  );
  const pieces = fc.array(piece, { maxLength: 10 }).map((list) => list.join(''));
  return fc.oneof(
    pieces,
    pieces.map((tail) => `/${tail}`),
    fc.string({ unit: anyCharacter }),
    fc
      .tuple(fc.constantFrom(...OPEN_REDIRECT_PAYLOADS), fc.nat(20), pieces)
      .map(([payload, at, insert]) => `${payload.slice(0, at)}${insert}${payload.slice(at)}`),
  );
}
