/**
 * Every kind of request that a foreign page can cause, against login and logout, with and without the session's
 * cookies. spec 4.1: a link of another site may sign out, and then gets no hint.
 */
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { makeBrowser } from '../../testkit/src/oidc/browser.ts';
import { ALICE, APP, type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { mountOidcRoutes } from '../src/mount.ts';
import type { AuthRoutesOptions } from '../src/routes.ts';

const EVIL = 'https://evil.example';
const MALLORY = { sub: 'mallory-1', claims: { email: 'mallory@example.org', name: 'Mallory' } };
const ROUTES = ['/api/auth/login', '/api/auth/logout', '/api/auth/logout?federated'];
const METHODS = ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const CONTENT_TYPES = [
  undefined,
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/json',
];

type HeaderFields = Readonly<Record<string, string>>;
type Row = readonly [who: string, headers: HeaderFields];

const metadata = (site: string, mode: string, dest: string): HeaderFields => ({
  'sec-fetch-site': site,
  'sec-fetch-mode': mode,
  'sec-fetch-dest': dest,
});

/** The user meant the request, or no browser sends it. */
const ANSWERED: readonly Row[] = [
  ['a link on our own page', metadata('same-origin', 'navigate', 'document')],
  ['a link on a page of another site', metadata('cross-site', 'navigate', 'document')],
  ['a link on a page of a sibling host', metadata('same-site', 'navigate', 'document')],
  ['the address bar', metadata('none', 'navigate', 'document')],
  ['a link inside a frame that shows our page', metadata('same-origin', 'navigate', 'iframe')],
  ['our own script', metadata('same-origin', 'cors', 'empty')],
  ['our own script that stays on our origin', metadata('same-origin', 'same-origin', 'empty')],
  ['our own script, which names its origin', { ...metadata('same-origin', 'cors', 'empty'), origin: APP }],
  [
    'a link in a browser that names no destination',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  ],
  ['a link in a browser that does not say', {}],
  ['our own script in a browser that does not say', { origin: APP }],
  ['a program', { 'user-agent': 'curl/8' }],
  ['a program on Node, whose fetch says half', { 'sec-fetch-mode': 'cors' }],
];

/** The page makes the request by itself. */
const REFUSED: readonly Row[] = [
  ['an image on another site', metadata('cross-site', 'no-cors', 'image')],
  ['an image on a sibling host', metadata('same-site', 'no-cors', 'image')],
  ['an image that a user put on our own page', metadata('same-origin', 'no-cors', 'image')],
  ['a frame on another site', metadata('cross-site', 'navigate', 'iframe')],
  ['a frame on a sibling host', metadata('same-site', 'navigate', 'iframe')],
  ['an object on another site', metadata('cross-site', 'navigate', 'object')],
  ['an embedded thing on another site', metadata('cross-site', 'navigate', 'embed')],
  ['an embedded thing on our own page', metadata('same-origin', 'navigate', 'embed')],
  ['a fenced frame', metadata('cross-site', 'navigate', 'fencedframe')],
  ['a script element on another site', metadata('cross-site', 'no-cors', 'script')],
  ['a stylesheet on another site', metadata('cross-site', 'no-cors', 'style')],
  ['a film on another site', metadata('cross-site', 'no-cors', 'video')],
  ['a fetch of another site', { ...metadata('cross-site', 'cors', 'empty'), origin: EVIL }],
  [
    'a fetch in a browser that names no destination',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
  ],
  ['an opaque fetch of another site', metadata('cross-site', 'no-cors', 'empty')],
  [
    'a fetch of a sibling host',
    { ...metadata('same-site', 'cors', 'empty'), origin: 'https://b.app.example' },
  ],
  ['a fetch that claims our origin', { ...metadata('cross-site', 'cors', 'empty'), origin: APP }],
  ['a socket of another site', { ...metadata('cross-site', 'websocket', 'websocket'), origin: EVIL }],
  ['a site that is not a word of the standard', metadata('', 'cors', 'empty')],
  ['a fetch of another site in a browser that does not say', { origin: EVIL }],
  ['a fetch of a sandboxed page in a browser that does not say', { origin: 'null' }],
  ['a fetch of our host on another port in a browser that does not say', { origin: `${APP}:8443` }],
];

interface Visitor extends Fixture {
  /** The calls of the application's hooks, and the operator's log. */
  readonly told: readonly string[];
  handle(request: Request): Promise<Response>;
}

async function makeVisitor(): Promise<Visitor> {
  const told: string[] = [];
  const routes: AuthRoutesOptions = {
    onSignedOut: () => void told.push('signed out'),
    onFailure: ({ code }) => void told.push(code),
  };
  const fixture = await makeFixture({ routes });
  return { ...fixture, told, handle: (request) => fixture.rp.handle(request, routes) };
}

/** Returns the request of a row, with all the browser's cookies or none: the check does not rely on SameSite. */
function requestOf(
  { browser }: Fixture,
  path: string,
  use: { headers: HeaderFields; withCookies: boolean },
): Request {
  const url = `${APP}${path}`;
  return use.withCookies
    ? browser.request(url, { headers: use.headers })
    : new Request(url, { headers: use.headers });
}

describe.each(ROUTES)('GET %s', (path) => {
  test.each(ANSWERED)('is answered: %s', async (_who, headers) => {
    for (const withCookies of [true, false]) {
      const visitor = await makeVisitor();
      await visitor.signIn();
      const response = await visitor.handle(requestOf(visitor, path, { headers, withCookies }));
      expect(response.status).toBe(302);
      const [first] = response.headers.getSetCookie();
      const isLogin = path === '/api/auth/login';
      expect(first).toMatch(isLogin ? /^sb_oidc_flow=./ : /^sb_session=; .*Max-Age=0/);
      expect(visitor.told).toEqual(isLogin || !withCookies ? [] : ['signed out']);
    }
  });

  test.each(REFUSED)('changes nothing: %s', async (_who, headers) => {
    for (const withCookies of [true, false]) {
      const visitor = await makeVisitor();
      const { rp, browser, issuer, told, handle } = visitor;
      await visitor.signIn();
      const asked = issuer.requests.length;
      const response = await handle(requestOf(visitor, path, { headers, withCookies }));
      expect(response.status).toBe(403);
      expect(await response.text()).toContain('navigation_required');
      expect(response.headers.getSetCookie()).toEqual([]);
      expect(response.headers.get('location')).toBeNull();
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(issuer.requests).toHaveLength(asked);
      expect(told).toEqual(['navigation_required']);
      expect(rp.sessionFromHeaders(browser.request(`${APP}/page`).headers)?.id).toBe(ALICE.sub);
    }
  });
});

describe.each(ROUTES)('by another method %s changes nothing', (path) => {
  test.each(METHODS)('%s', async (method) => {
    for (const [, headers] of [...ANSWERED, ...REFUSED]) {
      for (const contentType of CONTENT_TYPES) {
        for (const withCookies of [true, false]) {
          const visitor = await answeredBefore();
          const { rp, issuer, browser, told, handle } = visitor;
          const asked = issuer.requests.length;
          const sent = new Headers(requestOf(visitor, path, { headers, withCookies }).headers);
          if (contentType !== undefined) sent.set('content-type', contentType);
          const body =
            contentType === undefined || ['HEAD', 'OPTIONS'].includes(method) ? null : 'returnTo=%2F';
          const response = await handle(new Request(`${APP}${path}`, { method, headers: sent, body }));
          expect(response.status).toBe(405);
          expect(response.headers.get('allow')).toBe('GET');
          expect(response.headers.getSetCookie()).toEqual([]);
          expect(response.headers.get('access-control-allow-origin')).toBeNull();
          expect(issuer.requests).toHaveLength(asked);
          expect(told).toEqual([]);
          expect(rp.sessionFromHeaders(browser.request(`${APP}/page`).headers)?.id).toBe(ALICE.sub);
        }
      }
    }
  });

  // No attempt changes it, so one signed-in visitor serves every row.
  let visitor: Promise<Visitor> | undefined;
  function answeredBefore(): Promise<Visitor> {
    visitor ??= makeVisitor().then(async (made) => {
      await made.signIn();
      return made;
    });
    return visitor;
  }
});

test('a link of another site that signs out gets no hint, and the issuer asks (spec 4.1, rule 3)', async () => {
  const { signIn, visit, browser } = await makeVisitor();
  await signIn();
  const response = await visit('/api/auth/logout?federated', {
    crossSite: true,
    headers: { ...metadata('cross-site', 'navigate', 'document') },
  });
  const atIssuer = new URL(response.headers.get('location') ?? '');
  expect(atIssuer.searchParams.has('id_token_hint')).toBe(false);
  expect(browser.values('sb_session')).toEqual([]);
});

describe('the callback', () => {
  test('is answered for the navigation that the issuer’s redirect is', async () => {
    const { approve, visit } = await makeVisitor();
    const headers = metadata('cross-site', 'navigate', 'document');
    const response = await visit(await approve(), { crossSite: true, headers });
    expect(response.headers.getSetCookie()[0]).toMatch(/^sb_session=./);
  });

  // Login CSRF: the victim would work in the attacker's account.
  test.each([...ANSWERED, ...REFUSED])(
    'with the code and state of an attacker signs no user in: %s',
    async (who, headers) => {
      const { approve, handle, issuer } = await makeVisitor();
      const victim = await makeFixture();
      await victim.visit('/api/auth/login');
      const callback = await approve();
      const inTheMiddle = await handle(victim.browser.request(callback, { headers }));
      const elsewhere = await handle(new Request(callback, { headers }));
      // A user who is signing in and followed a link is sent to the issuer once more, as any link to login does.
      const isMeant = ANSWERED.some(([row]) => row === who);
      expect(inTheMiddle.status).toBe(isMeant ? 302 : 400);
      expect(inTheMiddle.headers.get('location')?.startsWith(`${issuer.url}/authorize?`)).toBe(
        isMeant ? true : undefined,
      );
      expect(elsewhere.status).toBe(400);
      for (const response of [inTheMiddle, elsewhere]) {
        expect(response.headers.getSetCookie()).toEqual([]);
      }
      expect(issuer.count('/token')).toBe(0);
    },
  );

  test('with the code and state of an attacker ends, at most, in the victim’s own account', async () => {
    const { approve, handle, issuer, browser: attacker, rp } = await makeVisitor();
    const callback = await approve({ user: MALLORY, returnTo: '/inbox' });
    const victim = makeBrowser(rp.now);
    victim.store(APP, await handle(victim.request(`${APP}/api/auth/login`)));
    const again = await handle(victim.request(callback));
    const own = issuer.approve(again.headers.get('location') ?? '', ALICE);
    // Nor can the attacker finish the victim's sign-in, or swap places.
    const stolen = await handle(attacker.request(own));
    expect(stolen.headers.getSetCookie()).toEqual([]);
    const done = await handle(victim.request(own));
    victim.store(APP, done);
    expect(done.headers.get('location')).toBe('/inbox');
    expect(rp.sessionFromHeaders(victim.request(`${APP}/page`).headers)?.id).toBe(ALICE.sub);
    expect(issuer.count('/token')).toBe(1);
  });
});

test('the mounted routes know no other method at all', async () => {
  const { rp, signIn, browser } = await makeVisitor();
  await signIn();
  const app = new Hono();
  mountOidcRoutes(app, { resolve: () => rp });
  for (const path of [...ROUTES, '/api/auth/callback']) {
    for (const method of METHODS) {
      const { headers } = browser.request(`${APP}${path}`);
      const response = await app.request(`${APP}${path}`, { method, headers });
      expect([404, 405]).toContain(response.status);
      expect(response.headers.getSetCookie()).toEqual([]);
    }
  }
});
