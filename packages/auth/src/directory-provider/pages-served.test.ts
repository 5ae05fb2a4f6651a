/** The served pages: their headers, the addresses they lead to, and values that never get into them. */
import { describe, expect, test } from 'vitest';
import {
  ORIGIN,
  openProvider,
  PASSWORD,
  type ProviderFixture,
  signUp,
} from '../../test/directory-provider.ts';
import { totpOf, turnOnTotp } from '../../test/directory-provider-totp.ts';

const EMAIL = 'ada@example.com';

describe('headers', () => {
  test('nothing runs but our script, nothing is framed, and no other site learns an address', async () => {
    const fixture = await openProvider({
      theme: { logoUrl: 'https://img.example/logo.png', stylesheetUrl: 'https://css.example/a.css' },
    });
    const response = await fixture.browser().get('/api/auth/login');
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self' https://css.example; " +
        "img-src 'self' data: https://img.example; connect-src 'self'; form-action 'self'; " +
        "frame-ancestors 'none'; base-uri 'none'",
    );
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
    });
    const page = await response.text();
    expect(page).toContain('Sign in to app.example');
    // A browser requests /favicon.ico where a page has none.
    expect(page).toContain('<link rel="icon" href="data:image/svg+xml,');
  });

  test('the style sheet and the script have a version, and are not sent again', async () => {
    const fixture = await openProvider({ theme: { accentColor: '#7a1fa2' } });
    const browser = fixture.browser();
    for (const [path, type] of [
      ['style.css', 'text/css'],
      ['client.js', 'text/javascript'],
    ] as const) {
      const first = await browser.get(`/api/auth/${path}`);
      const tag = first.headers.get('etag') ?? '';
      expect([first.status, first.headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`]);
      const second = await browser.get(`/api/auth/${path}`, { 'if-none-match': tag });
      expect([second.status, await second.text()]).toEqual([304, '']);
      expect((await browser.get(`/api/auth/${path}`, { 'if-none-match': '"other"' })).status).toBe(200);
    }
    expect(await (await browser.get('/api/auth/style.css')).text()).toContain('#7a1fa2');
    const other = fixture.browser(fixture.make({ theme: { accentColor: '#004488' } }));
    expect((await other.get('/api/auth/style.css')).headers.get('etag')).not.toBe(
      (await browser.get('/api/auth/style.css')).headers.get('etag'),
    );
  });
});

describe('the path to return to', () => {
  const hostile = [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/%5cevil.example',
    '/%2f%2fevil.example',
    '///evil.example',
    'javascript:alert(1)',
    '/ok\r\nlocation: https://evil.example',
    '/api/auth/logout',
    '/api/auth/../auth/logout',
  ];

  test.each(hostile)('B-18: %j leads nowhere, on any page that takes it', async (returnTo) => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    const secret = await turnOnTotp(fixture, owner);
    const query = `?returnTo=${encodeURIComponent(returnTo)}`;
    const isOurs = (location: string | null) => {
      const url = new URL(location ?? '', ORIGIN);
      expect(url.origin).toBe(ORIGIN);
      expect([null, '/api/auth/security']).toContain(url.searchParams.get('returnTo'));
      expect(url.pathname).not.toBe('/api/auth/logout');
    };
    for (const path of ['login', 'sign-up', 'reset', 'confirm', 'login/second-factor']) {
      const page = await owner.get(`/api/auth/${path}${query}`);
      if (page.status === 303) isOurs(page.headers.get('location'));
      const body = await page.text();
      expect(body).not.toContain('evil.example');
      expect(body).not.toMatch(/(?:value|href|data-return-to)="[^"]*logout"[^>]*>(?!Sign out)/);
    }
    const browser = fixture.browser();
    const first = await browser.post('/api/auth/login', { email: EMAIL, password: PASSWORD, returnTo });
    isOurs(first.headers.get('location'));
    fixture.clock.nowMs += 30_000;
    const code = totpOf(secret, fixture.clock.nowMs);
    const second = await browser.post('/api/auth/login/second-factor', { code, returnTo });
    expect(second.headers.get('location')).toBe('/');
    const confirmed = await browser.post('/api/auth/confirm', { password: PASSWORD, returnTo });
    isOurs(confirmed.headers.get('location'));
    fixture.clock.nowMs += 30_000;
    const again = totpOf(secret, fixture.clock.nowMs);
    const confirming = { code: again, returnTo: '/api/auth/security' };
    const done = await browser.post('/api/auth/login/second-factor', confirming);
    expect(done.headers.get('location')).toBe('/api/auth/security');
    for (const path of ['sign-up', 'reset']) {
      const asked = await fixture.browser().post(`/api/auth/${path}`, { email: 'bea@example.com', returnTo });
      expect(asked.headers.getSetCookie()).toEqual([]);
    }
    const out = await browser.get(`/api/auth/logout${query}`);
    expect(out.headers.get('location')).toBe('/');
  });

  test('B-18: a planted cookie leads nowhere either', async () => {
    const fixture = await openProvider();
    const browser = fixture.browser();
    await browser.post('/api/auth/sign-up', { email: EMAIL });
    const token = await fixture.mailedToken();
    const cookie = `__Host-sb_return_to=${encodeURIComponent('//evil.example')}`;
    const done = await browser.post('/api/auth/sign-up/finish', { token, password: PASSWORD }, { cookie });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/']);
  });
});

test('a password is in no answer, no mail, no cookie, no event and no error, in any case', async () => {
  const fixture = await openProvider();
  const secrets = [
    'correct battery-α staple',
    'another battery-β staple',
    'wrong battery-γ staple',
    'tiny-δ',
  ];
  const [first = '', second = '', wrong = '', tiny = ''] = secrets;
  const seen: string[] = [];
  const { provider } = fixture;
  const recording: ProviderFixture['provider'] = {
    ...provider,
    handle: async (request) => {
      const response = await provider.handle(request);
      seen.push(JSON.stringify([...response.headers]), await response.clone().text());
      return response;
    },
  };
  const browser = fixture.browser(recording);
  await signUp(fixture, EMAIL, { browser, password: first });
  await browser.post('/api/auth/login', { email: EMAIL, password: wrong });
  await browser.post('/api/auth/login', { email: wrong, password: wrong });
  await browser.post('/api/auth/confirm', { password: wrong });
  await browser.post('/api/auth/security/password', { password: tiny });
  await browser.post('/api/auth/security/password', { password: second });
  await browser.post('/api/auth/reset', { email: EMAIL });
  const token = await fixture.mailedToken();
  await browser.post('/api/auth/reset/finish', { token, password: tiny });
  await browser.post('/api/auth/reset/finish', { token, password: first });
  for (const failing of ['beginPassword', 'finishPassword', 'setPassword', 'showLink', 'recordSignIn']) {
    fixture.watch.failing = [failing];
    await browser.post('/api/auth/login', { email: EMAIL, password: first });
    await browser.post('/api/auth/security/password', { password: second });
    await browser.post('/api/auth/reset/finish', { token, password: first });
  }
  fixture.watch.failing = false;
  await browser.post('/api/auth/login', { email: EMAIL, password: first, unknown: first });
  await browser.ask('/api/auth/passkey/verify', { password: first });
  await fixture.settled();
  const { items } = await fixture.directory.listIdentityEvents({ limit: 200 });
  const errors = fixture.reported.map(
    (error) => `${error} ${(error as Error).stack} ${JSON.stringify(error)}`,
  );
  const everything = [...seen, JSON.stringify(fixture.outbox), JSON.stringify(items), ...errors].join('\n');
  expect(seen.length).toBeGreaterThan(40);
  // As an address it is the user's own text, and shown to them again.
  const withoutAddress = everything.replaceAll(`value="${wrong}"`, '');
  for (const secret of secrets) {
    expect(withoutAddress).not.toContain(secret);
    expect(withoutAddress).not.toContain(encodeURIComponent(secret));
  }
});

test('a page whose address has a token in it sends that address nowhere, and still sends its origin', async () => {
  const fixture = await openProvider();
  const browser = fixture.browser();
  for (const path of ['sign-up/finish', 'reset/finish', 'email/revert']) {
    const page = await browser.get(`/api/auth/${path}?token=made-up`);
    expect([path, page.headers.get('referrer-policy')]).toEqual([path, 'strict-origin']);
  }
  expect((await browser.get('/api/auth/login')).headers.get('referrer-policy')).toBe('same-origin');
});

test("a mailed link leads to the application's own origin, for any host of the request", async () => {
  const fixture = await openProvider({ baseUrl: ORIGIN });
  for (const host of ['app.example:1337', 'evil.example']) {
    const request = new Request(`https://${host}/api/auth/reset`, {
      method: 'POST',
      headers: { origin: ORIGIN },
      body: new URLSearchParams({ email: EMAIL }),
    });
    await fixture.directory.importAccount({ email: EMAIL, emailVerified: true }).catch(() => undefined);
    expect((await fixture.provider.handle(request)).status).toBe(200);
    await fixture.settled();
    expect(fixture.outbox.at(-1)?.text).toContain(`${ORIGIN}/api/auth/reset/finish?token=`);
  }
});
