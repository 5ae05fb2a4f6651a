/** The checks before every route: addresses, methods, other sites, bodies, and a directory that fails. */
import { describe, expect, test } from 'vitest';
import {
  isSignedIn,
  ORIGIN,
  openProvider,
  PASSWORD,
  type ProviderFixture,
  signUp,
} from '../../test/directory-provider.ts';
import { turnOnTotp } from '../../test/directory-provider-totp.ts';
import { ROUTES } from './dispatch.ts';
import { BODY_BYTES_MAX } from './lib/request-body.ts';

const FORM = 'application/x-www-form-urlencoded';
const EMAIL = 'ada@example.com';

function send(fixture: ProviderFixture, path: string, init: RequestInit) {
  return fixture.provider.handle(new Request(`${ORIGIN}/api/auth/${path}`, init));
}

describe('addresses', () => {
  test.each(['', 'unknown', 'login/', 'login/x', 'LOGIN', '../login', 'login%2f', 'callback', 'constructor'])(
    '%j is a 404 problem',
    async (path) => {
      const fixture = await openProvider();
      const response = await fixture.provider.handle(new Request(`${ORIGIN}/api/auth/${path}`));
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ code: 'not_found' });
    },
  );

  test('another method is 405 with the methods that the address takes', async () => {
    const fixture = await openProvider();
    for (const [path, route] of ROUTES) {
      const response = await send(fixture, path, { method: 'PUT' });
      const methods = [route.GET && 'GET', route.GET && !route.unsafe && 'HEAD', route.POST && 'POST'];
      expect([path, response.status, response.headers.get('allow')]).toEqual([
        path,
        405,
        methods.filter((each) => each).join(', '),
      ]);
    }
    expect(fixture.watch.calls).toEqual([]);
  });

  test('A-01: no cache stores an answer of any address, but for the style sheet and the script', async () => {
    const fixture = await openProvider();
    for (const [path, route] of ROUTES)
      for (const method of ['GET', 'POST'] as const) {
        const response = await send(fixture, path, {
          method,
          headers: { accept: 'text/html', origin: ORIGIN },
        });
        const isAsset = (path === 'style.css' || path === 'client.js') && method === 'GET';
        expect([path, response.headers.get('cache-control')]).toEqual([
          path,
          isAsset ? 'no-cache' : 'no-store',
        ]);
        expect([path, response.headers.get('x-content-type-options')]).toEqual([path, 'nosniff']);
        expect([path, response.headers.get('www-authenticate')]).toEqual([path, null]);
        if (!route[method]) expect(response.status).toBe(405);
      }
  });

  test('HEAD is a GET without its body', async () => {
    const fixture = await openProvider();
    const [head, get] = [await send(fixture, 'login', { method: 'HEAD' }), await send(fixture, 'login', {})];
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect([...head.headers]).toEqual([...get.headers]);
  });
});

describe('a request that another page makes the browser send', () => {
  const posts = [...ROUTES].filter(([, route]) => route.POST).map(([path]) => path);

  test.each(posts)('POST %s is refused before anything is read or called', async (path) => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    fixture.watch.calls.length = 0;
    const sites: Record<string, string>[] = [
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://b.app.example', 'sec-fetch-site': 'same-site' },
      { origin: 'http://app.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://app.example:8443', 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'http://app.example' },
      { origin: 'null' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      // A header that a page cannot set decides over one that it can leave out.
      { origin: ORIGIN, 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
      {},
    ];
    const types = [FORM, 'application/json', 'text/plain', 'multipart/form-data; boundary=x'];
    for (const site of sites)
      for (const type of types)
        for (const cookie of [{}, Object.fromEntries(owner.headersFor('/'))]) {
          const headers = { ...site, 'content-type': type, ...cookie };
          const response = await send(fixture, path, { method: 'POST', headers, body: '{}' });
          expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
          expect(await response.json()).toMatchObject({ reason: 'cross_site' });
        }
    expect(fixture.watch.calls).toEqual([]);
    expect(await isSignedIn(fixture, owner)).toBe(true);
  });

  test.each(posts)(
    'POST %s takes our own pages, in old browsers and new ones, and only its own type',
    async (path) => {
      const fixture = await openProvider();
      const json = ROUTES.get(path)?.json === true;
      const own: Record<string, string>[] = [
        { origin: ORIGIN, 'sec-fetch-site': 'same-origin' },
        { origin: ORIGIN },
        // A browser's headers with a form of a page that forbids the Referer.
        { origin: 'null', 'sec-fetch-site': 'same-origin' },
      ];
      const owner = await signUp(fixture);
      const right = json ? 'application/json' : FORM;
      const statusOf = async (site: Record<string, string>, type?: string) => {
        const headers = { ...Object.fromEntries(owner.headersFor('/')), ...site };
        const init = { method: 'POST', headers: type ? { ...headers, 'content-type': type } : headers };
        return (await send(fixture, path, { ...init, body: new TextEncoder().encode(json ? '{}' : '') }))
          .status;
      };
      const types = [FORM, 'application/json', 'text/plain', `${FORM}; charset=latin1`, undefined];
      for (const type of types.filter((each) => each !== right))
        expect([type, await statusOf({ origin: ORIGIN }, type)]).toEqual([type, 415]);
      for (const site of own) expect([403, 415]).not.toContain(await statusOf(site, right));
    },
  );

  test('A-01: signing out by a link is the one effect that another site can cause, and it begins nothing', async () => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    const response = await owner.get('/api/auth/logout', {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    });
    expect([response.status, owner.cookies.has('sb_session')]).toEqual([302, false]);
  });
});

describe('bodies', () => {
  const headers = { origin: ORIGIN, 'content-type': FORM };

  test.each([
    ['an unknown field', 'email=a@example.com&password=x&admin=1'],
    ['a field twice', 'email=a@example.com&email=b@example.com&password=x'],
    ['a prototype', '__proto__=x'],
    ['bytes that are no UTF-8', new Uint8Array([0x65, 0x3d, 0xff])],
  ])('%s is a 400', async (_, body) => {
    const fixture = await openProvider();
    const response = await send(fixture, 'login', { method: 'POST', headers, body });
    expect([response.status, fixture.watch.calls]).toEqual([400, []]);
    expect(await response.json()).toMatchObject({ reason: 'form_invalid' });
  });

  test('more than 16 KB is refused by the header and by the bytes that arrive', async () => {
    const fixture = await openProvider();
    const fields = (size: number) => new TextEncoder().encode(`email=${'a'.repeat(size - 6)}`);
    const post = (body: NonNullable<RequestInit['body']>, more = {}) =>
      send(fixture, 'reset', {
        method: 'POST',
        headers: { ...headers, ...more },
        body,
        duplex: 'half',
      } as RequestInit);
    expect((await post(fields(BODY_BYTES_MAX))).status).toBe(422);
    expect((await post(fields(BODY_BYTES_MAX + 1))).status).toBe(413);
    expect((await post('x=1', { 'content-length': String(BODY_BYTES_MAX + 1) })).status).toBe(413);
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(4_096).fill(97));
      },
    });
    expect((await post(endless)).status).toBe(413);
    expect(pulled).toBeLessThan(10);
    const large = await fixture.browser().ask('/api/auth/passkey/options', { x: 'a'.repeat(BODY_BYTES_MAX) });
    expect(large.status).toBe(413);
  });

  test('one that breaks off is a 400', async () => {
    const fixture = await openProvider();
    const broken = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) });
    const init = { method: 'POST', headers, body: broken, duplex: 'half' } as RequestInit;
    expect((await send(fixture, 'login', init)).status).toBe(400);
  });
});

describe('a directory that fails', () => {
  const PAGES = [
    'login/second-factor',
    'sign-up/finish',
    'reset/finish',
    'email/finish',
    'email/revert',
    'confirm',
    'security',
  ];

  test('signs no caller in, whichever of its answers is missing', async () => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    const methods = ['beginPassword', 'finishPassword', 'recordSignIn', 'endSession'];
    for (const failing of methods) {
      fixture.clock.nowMs += 1;
      fixture.watch.failing = [failing];
      const browser = fixture.browser();
      const cookie = owner.headersFor('/').get('cookie') ?? '';
      const response = await browser.post(
        '/api/auth/login',
        { email: EMAIL, password: PASSWORD },
        { cookie },
      );
      expect([failing, response.status, browser.cookies.size]).toEqual([failing, 503, 0]);
    }
    fixture.watch.failing = false;
    expect(await isSignedIn(fixture, owner)).toBe(true);
  });

  test('begins no session at the end of any other way in', async () => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    await owner.post('/api/auth/reset', { email: EMAIL });
    const resetToken = await fixture.mailedToken();
    await owner.post('/api/auth/sign-up', { email: 'bea@example.com' });
    const signUpToken = await fixture.mailedToken();
    const password = 'another good phrase';
    fixture.watch.failing = ['recordSignIn'];
    for (const [path, token] of [
      ['sign-up/finish', signUpToken],
      ['reset/finish', resetToken],
    ] as const) {
      const browser = fixture.browser();
      const response = await browser.post(`/api/auth/${path}`, { token, password });
      expect([path, response.status, browser.cookies.has('sb_session')]).toEqual([path, 503, false]);
    }
  });

  test('is a 503 on every page that needs it, without a word about the failure', async () => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    await turnOnTotp(fixture, owner);
    const half = fixture.browser();
    await half.post('/api/auth/login', { email: EMAIL, password: PASSWORD });
    fixture.watch.failing = true;
    for (const path of PAGES.filter((each) => each !== 'login/second-factor')) {
      const response = await owner.get(`/api/auth/${path}?token=x`);
      expect([path, response.status, response.headers.getSetCookie()]).toEqual([path, 503, []]);
      expect(response.headers.get('content-type')).toContain('text/html');
    }
    expect((await half.post('/api/auth/login/second-factor', { code: '000000' })).status).toBe(503);
    expect((await owner.ask('/api/auth/passkey/options', { confirm: true })).body).toMatchObject({
      code: 'unavailable',
    });
    expect(fixture.reported.length).toBeGreaterThan(PAGES.length - 1);
  });

  test('an unexpected error is a 500 that reveals nothing, and is reported', async () => {
    const fixture = await openProvider();
    const broken = new Proxy(fixture.directory, {
      get: () => async () => {
        throw new Error('SQLITE_CORRUPT: page 7 of secret.db');
      },
    });
    const browser = fixture.browser(fixture.make({ directory: broken }));
    const response = await browser.post('/api/auth/login', { email: EMAIL, password: PASSWORD });
    const body = await response.text();
    expect([response.status, body.includes('SQLITE'), body.includes(PASSWORD)]).toEqual([500, false, false]);
    expect(String(fixture.reported[0])).toContain('SQLITE_CORRUPT');
  });

  test('software gets a problem document', async () => {
    const fixture = await openProvider();
    fixture.watch.failing = true;
    const browser = fixture.browser();
    const fields = { email: EMAIL, password: PASSWORD };
    const response = await browser.post('/api/auth/login', fields, { accept: '*/*' });
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await response.json()).toMatchObject({ code: 'unavailable' });
  });
});
