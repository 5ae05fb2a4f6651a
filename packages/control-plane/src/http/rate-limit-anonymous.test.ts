/** Anonymous callers are limited by their address, and hold up no other caller. */
import { PlatformError, problemSchema } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { type HostAdminDouble, hostAdminDouble, STAFF, TOKEN } from '../../test/support/host-admin-double.ts';
import { aThing, sampleOperations } from '../../test/support/sample-operations.ts';
import { type ControlPlaneOptions, controlPlaneApp } from '../app.ts';
import type { RequestLine } from './env.ts';
import { ANONYMOUS_LIMITS_DEFAULT, type AnonymousLimits } from './rate-limit.ts';

const LIMITS: AnonymousLimits = {
  refused: { calls: 3, windowSeconds: 60 },
  signIn: { calls: 4, windowSeconds: 60 },
  reading: { calls: 5, windowSeconds: 60 },
  anybodyTimes: 2,
};
const HERE = '192.0.2.1';
const THERE = '192.0.2.2';
const bearer = { authorization: `Bearer ${TOKEN}` };
const wrong = { authorization: 'Bearer fh_svc_wrong' };

const noPrincipal = () => Promise.reject(new Error('no call comes this far in this test'));

interface Sent extends RequestInit {
  readonly from?: string | null;
  readonly uncounted?: boolean;
}

function setUp(options: Partial<ControlPlaneOptions> = {}, admin: HostAdminDouble = serving()) {
  const clock = { ms: 0 };
  const lines: RequestLine[] = [];
  const app = controlPlaneApp({
    hostAdmin: admin,
    operations: sampleOperations,
    onIncident: (error) => {
      throw error;
    },
    onRequest: (line) => lines.push(line),
    now: () => clock.ms,
    newRequestId: () => 'req_new',
    origin: () => 'https://control.example',
    staff: {
      signIns: {} as never,
      relyingParty: () => ({
        handle: async () => new Response(null, { status: 302, headers: { location: '/' } }),
        handleBackchannelLogout: async () => new Response(null, { status: 400 }),
        session: () => null,
      }),
    },
    staffSession: async ({ headers }) => (headers.get('cookie') === 'who=ada' ? STAFF : null),
    anonymousLimits: LIMITS,
    ...options,
  });
  const send = async (path: string, { from = HERE, uncounted, ...init }: Sent = {}): Promise<Response> =>
    app.fetch(new Request(`https://control.example${path}`, init), {
      clientAddress: from,
      ...(uncounted ? { uncounted } : {}),
    });
  const statuses = async (times: number, path: string, sent?: Sent) => {
    const seen: number[] = [];
    for (let i = 0; i < times; i++) seen.push((await send(path, sent)).status);
    return seen;
  };
  return { send, statuses, clock, lines, admin };
}

const serving = () => hostAdminDouble(() => ({ value: aThing }));

describe('a call without a credential that counts', () => {
  test.each([
    ['no token', '/things/thing-1', {}],
    ['a wrong token', '/things/thing-1', { headers: wrong }],
    ['a session that is none', '/things/thing-1', { headers: { cookie: 'who=eve' } }],
    ['a wrong token at /auth/me', '/auth/me', { headers: wrong }],
    ['a wrong token at /mcp', '/mcp', { method: 'POST', headers: wrong, body: '{}' }],
  ])('is refused as ever, %s, and then as one too many', async (_, path, init) => {
    const { send, statuses, clock, lines } = setUp();
    const first = await send(path, init);
    expect(first.status).toBe(401);
    expect(first.headers.get('ratelimit-policy')).toBe('"calls";q=3;w=60');
    expect(first.headers.get('ratelimit')).toBe('"calls";r=2;t=20');
    expect(await statuses(2, path, init)).toEqual([401, 401]);
    const refused = await send(path, init);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('20');
    expect(refused.headers.get('ratelimit')).toBe('"calls";r=0;t=20');
    expect(refused.headers.has('www-authenticate')).toBe(false);
    expect(refused.headers.get('x-request-id')).toBe('req_new');
    expect(problemSchema.strict().parse(await refused.json())).toMatchObject({
      status: 429,
      code: 'rate_limited',
    });
    expect(lines.at(-1)).toMatchObject({ status: 429, actor: null });
    clock.ms += 20_000;
    expect(await statuses(2, path, init)).toEqual([401, 429]);
  });

  test('at the door of verticals is counted too', async () => {
    const { statuses } = setUp({
      connect: {} as never,
      platformSecret: 'a secret of these tests, long enough',
    });
    const knock = { method: 'POST', headers: { 'x-platform-secret': 'guessed' }, body: '{}' };
    expect(await statuses(4, '/internal/connections/connect-url', knock)).toEqual([403, 403, 403, 429]);
  });

  test('counts for its own address alone, and for the /64 of an IPv6 one', async () => {
    const { statuses } = setUp();
    expect(await statuses(4, '/things/thing-1')).toEqual([401, 401, 401, 429]);
    expect(await statuses(1, '/things/thing-1', { from: THERE })).toEqual([401]);
    for (const host of ['1', '2', 'ffff:1'])
      expect(await statuses(1, '/things/thing-1', { from: `2001:db8::${host}` })).toEqual([401]);
    expect(await statuses(1, '/things/thing-1', { from: '2001:db8::3' })).toEqual([429]);
    expect(await statuses(1, '/things/thing-1', { from: '2001:db8:0:1::3' })).toEqual([401]);
  });

  test('was looked up all the same, also where it is one too many: its sender might have been known', async () => {
    const { statuses, admin } = setUp();
    expect(await statuses(5, '/things/thing-1', { headers: wrong })).toEqual([401, 401, 401, 429, 429]);
    expect(admin.tokens).toHaveLength(5);
    expect(await statuses(1, '/things/thing-1', { headers: bearer })).toEqual([200]);
  });

  test('of everybody without an address counts together, with more to share', async () => {
    const { statuses } = setUp();
    const unknown = { from: null };
    expect(await statuses(7, '/things/thing-1', unknown)).toEqual([401, 401, 401, 401, 401, 401, 429]);
    expect(await statuses(1, '/things/thing-1')).toEqual([401]);
  });

  test('holds up no known caller of the same address', async () => {
    const { send, statuses } = setUp();
    await statuses(10, '/things/thing-1');
    await statuses(10, '/docs');
    await statuses(10, '/auth/login');
    for (const headers of [bearer, { cookie: 'who=ada' }]) {
      expect((await send('/things/thing-1', { headers })).status).toBe(200);
      expect((await send('/auth/me', { headers })).status).toBe(200);
      const reading = await send('/docs', { headers });
      expect(reading.status).toBe(200);
      expect(reading.headers.get('ratelimit-policy')).toBe('"calls";q=1200;w=60');
      expect((await send('/auth/login', { headers })).status).toBe(302);
    }
    expect((await send('/docs', { headers: wrong })).status).toBe(429);
  });
});

test('a refused permission of a known caller is no guess of an anonymous one', async () => {
  const { send, statuses } = setUp(
    {},
    hostAdminDouble(() => {
      throw new PlatformError('forbidden', 'Not you.');
    }),
  );
  expect(new Set(await statuses(20, '/things/thing-1', { headers: bearer }))).toEqual(new Set([403]));
  expect((await send('/things/thing-1')).headers.get('ratelimit')).toBe('"calls";r=2;t=20');
});

describe('an address that asks for no credential', () => {
  test.each([
    ['/docs', 5],
    ['/openapi.json', 5],
    ['/auth/login', 4],
    ['/auth/logout', 4],
    ['/api/auth/login', 4],
    ['/api/auth/callback', 4],
    ['/api/auth/logout', 4],
    ['/oauth/authorize', 4],
    ['/oauth/nothing', 4],
    ['/device', 4],
  ])('%s answers so many times a minute, and says where a stranger stands', async (path, calls) => {
    const { send, statuses } = setUp();
    const first = await send(path);
    expect(first.headers.get('ratelimit-policy')).toBe(`"calls";q=${calls};w=60`);
    expect(new Set(await statuses(calls - 1, path))).toEqual(new Set([first.status]));
    const refused = await send(path);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe(String(60 / calls));
    expect((await send(path, { from: THERE })).status).toBe(first.status);
  });

  test.each(['/oauth/token', '/oauth/device_authorization', '/oauth/revoke'])(
    '%s refuses in the words of OAuth, which programs read',
    async (path) => {
      const { send, statuses } = setUp();
      await statuses(4, path, { method: 'POST' });
      const refused = await send(path, { method: 'POST' });
      expect([refused.status, refused.headers.get('cache-control')]).toEqual([429, 'no-store']);
      expect(refused.headers.get('retry-after')).toBe('15');
      expect(await refused.json()).toEqual({
        error: path === '/oauth/token' ? 'slow_down' : 'temporarily_unavailable',
        error_description: expect.stringContaining('15 seconds'),
      });
    },
  );

  test('refuses a browser with a page', async () => {
    const { send, statuses } = setUp();
    await statuses(4, '/device');
    const page = await send('/device', { headers: { accept: 'text/html,*/*' } });
    expect([page.status, page.headers.get('retry-after')]).toEqual([429, '15']);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(await page.text()).toContain('Try again in 15 seconds');
  });

  test.each([
    '/healthz',
    '/readyz',
    '/problems/conflict',
    '/',
    '/.well-known/oauth-protected-resource',
    '/none',
  ])('%s costs nothing, and is never refused', async (path) => {
    const { send, statuses } = setUp();
    const [first] = await statuses(20, path);
    expect((await send(path)).status).toBe(first);
    expect((await send(path)).headers.has('ratelimit')).toBe(false);
  });

  test('the issuer’s logout tokens are counted only where they are refused', async () => {
    const refusing = setUp();
    const post = { method: 'POST' };
    expect(await refusing.statuses(4, '/api/auth/backchannel-logout', post)).toEqual([400, 400, 400, 429]);
    const taking = setUp({
      staff: {
        signIns: {} as never,
        relyingParty: () => ({
          handle: noPrincipal,
          handleBackchannelLogout: async () => new Response(null, { status: 200 }),
          session: () => null,
        }),
      },
    });
    expect(new Set(await taking.statuses(20, '/api/auth/backchannel-logout', post))).toEqual(new Set([200]));
  });
});

describe('no caller is counted', () => {
  test('for the platform’s own work', async () => {
    const { statuses } = setUp();
    const own = { uncounted: true };
    expect(new Set(await statuses(20, '/things/thing-1', own))).toEqual(new Set([401]));
    expect(new Set(await statuses(20, '/docs', own))).toEqual(new Set([200]));
  });

  test.each([{ anonymousLimits: null }, { anonymousLimits: undefined as never, rateLimit: null }])(
    'where the wiring says so: %j',
    async (options) => {
      const { statuses, send } = setUp(options);
      const times = ANONYMOUS_LIMITS_DEFAULT.refused.calls + 1;
      expect(new Set(await statuses(times, '/things/thing-1'))).toEqual(new Set([401]));
      expect((await send('/docs')).headers.has('ratelimit')).toBe(false);
    },
  );

  test('but everybody is where the wiring says nothing', async () => {
    const { statuses } = setUp({ anonymousLimits: undefined as never });
    const { calls } = ANONYMOUS_LIMITS_DEFAULT.refused;
    expect((await statuses(calls + 1, '/things/thing-1')).slice(-2)).toEqual([401, 429]);
  });
});
