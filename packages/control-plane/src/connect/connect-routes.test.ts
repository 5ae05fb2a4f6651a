/** The door for verticals and the two addresses that browsers pass, over rounds that a test decides on. */
import { PlatformError, problemSchema } from '@freehold/contracts';
import { type PlatformSecret, verticalSecret } from '@freehold/contracts/http';
import type { ConnectStep, ConsentAnswer, ConsentOrder, ConsentRounds } from '@freehold/directory';
import { describe, expect, test } from 'vitest';
import { hostAdminDouble } from '../../test/support/host-admin-double.ts';
import { controlPlaneApp } from '../app.ts';

const DOOR = '/internal/connections/connect-url';
const MASTER = 'the platform secret of these tests';
const SECRET = await verticalSecret(MASTER, 'fieldwork');
const order = {
  tenantId: 'tnt_01jd0000000000000000000001',
  scopeId: 'scp_01jd0000000000000000000001',
  provider: 'calendar',
  createdBy: 'prn_01jd0000000000000000000001',
  subjectRef: 'team calendar',
  returnUrl: 'https://acme.example.com/settings',
};
const issued = {
  url: 'https://api.example.com/connect/a.b',
  expiresAt: '2026-11-21T08:15:00.000Z',
  vertical: 'fieldwork',
};
const step: ConnectStep = {
  location: 'https://provider.example/authorize?state=s',
  cookie: { name: '__Host-fh_connect_1', value: 'v', maxAgeSeconds: 900, secure: true },
};

interface SetUp {
  readonly platformSecret?: PlatformSecret;
  readonly fails?: Error;
  readonly result?: ConnectStep;
}

function setUp(options: SetUp = {}) {
  const { platformSecret, fails, result } = { platformSecret: MASTER, result: step, ...options };
  const asked: { orders: ConsentOrder[]; tickets: string[]; answers: ConsentAnswer[] } = {
    orders: [],
    tickets: [],
    answers: [],
  };
  const answer = <T>(value: T): Promise<T> => (fails ? Promise.reject(fails) : Promise.resolve(value));
  const rounds: ConsentRounds = {
    requestUrl: (request) => {
      asked.orders.push(request);
      return answer(issued);
    },
    start: (ticket) => {
      asked.tickets.push(ticket);
      return answer(result);
    },
    finish: (given) => {
      asked.answers.push(given);
      return answer(result);
    },
  };
  const incidents: unknown[] = [];
  const app = controlPlaneApp({
    hostAdmin: hostAdminDouble(),
    onIncident: (error) => incidents.push(error),
    now: () => 0,
    newRequestId: () => 'req_new',
    platformSecret,
    connect: rounds,
  });
  const send = async (path: string, init?: RequestInit): Promise<Response> =>
    app.fetch(new Request(`https://api.example.com${path}`, init));
  const knock = (body: unknown = order, headers: Record<string, string> = { 'x-platform-secret': SECRET }) =>
    send(DOOR, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return { asked, incidents, send, knock };
}

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = problemSchema.strict().parse(await response.json());
  expect(problem.status).toBe(response.status);
  expect(problem.error).toBe(problem.detail);
  return problem;
}

describe('spec 4.7: the door', () => {
  test('passes the order on, with 900 seconds by default, and answers the issued URL', async () => {
    const { knock, asked } = setUp();
    const response = await knock();
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual(issued);
    await knock({ ...order, ttlSeconds: 1 });
    expect(asked.orders).toEqual([
      { ...order, vertical: 'fieldwork', ttlSeconds: 900 },
      { ...order, vertical: 'fieldwork', ttlSeconds: 1 },
    ]);
  });

  test.each<[string, PlatformSecret, Record<string, string>, string]>([
    ['no secret is set', undefined, { 'x-platform-secret': SECRET }, 'platform_secret_unset'],
    ['the secret is empty', '', { 'x-platform-secret': '' }, 'platform_secret_unset'],
    ['the list is empty', [], { 'x-platform-secret': SECRET }, 'platform_secret_unset'],
    ['the list holds nothing', [''], { 'x-platform-secret': '' }, 'platform_secret_unset'],
    ['none is shown', MASTER, {}, 'platform_secret_mismatch'],
    ['another is shown', MASTER, { 'x-platform-secret': `${SECRET}x` }, 'platform_secret_mismatch'],
    ['the platform’s own is shown', MASTER, { 'x-platform-secret': MASTER }, 'platform_secret_mismatch'],
    [
      'it is shown as a bearer token',
      MASTER,
      { authorization: `Bearer ${SECRET}` },
      'platform_secret_mismatch',
    ],
  ])('spec 5.6: is shut when %s', async (_, secret, headers, reason) => {
    const { knock, asked } = setUp({ platformSecret: secret });
    // The secret is checked first: a caller without it learns nothing about the order.
    expect(await problemOf(await knock('no JSON', headers))).toMatchObject({
      status: 403,
      code: 'forbidden',
      reason,
    });
    expect(await problemOf(await knock(order, headers))).toMatchObject({ status: 403, reason });
    expect(asked.orders).toEqual([]);
  });

  test('takes any secret of the list while one is being replaced', async () => {
    const { knock, asked } = setUp({ platformSecret: ['a newer one', MASTER] });
    for (const secret of [SECRET, await verticalSecret('a newer one', 'library')])
      expect((await knock(order, { 'x-platform-secret': secret })).status).toBe(200);
    expect(asked.orders.map(({ vertical }) => vertical)).toEqual(['fieldwork', 'library']);
  });

  test('is shut on a platform that was wired without it', async () => {
    const app = controlPlaneApp({
      hostAdmin: hostAdminDouble(),
      onIncident: () => undefined,
      now: () => 0,
      newRequestId: () => 'req_new',
      platformSecret: MASTER,
    });
    const init = { method: 'POST', headers: { 'x-platform-secret': SECRET }, body: JSON.stringify(order) };
    const response = await app.fetch(new Request(`https://api.example.com${DOOR}`, init));
    expect(await problemOf(response)).toMatchObject({ status: 403, reason: 'platform_secret_unset' });
    for (const path of ['/connect/a.b', '/connect/callback/calendar'])
      expect((await app.fetch(new Request(`https://api.example.com${path}`))).status).toBe(404);
  });

  test.each<[string, unknown, number, string | undefined]>([
    ['D-16: 901 seconds, which are not clamped', { ...order, ttlSeconds: 901 }, 400, 'ttlSeconds'],
    ['no second at all', { ...order, ttlSeconds: 0 }, 400, 'ttlSeconds'],
    ['half a second', { ...order, ttlSeconds: 0.5 }, 400, 'ttlSeconds'],
    ['seconds in text', { ...order, ttlSeconds: '900' }, 400, 'ttlSeconds'],
    ['an undeclared field', { ...order, vertical: 'fieldwork' }, 400, ''],
    ['the secret in the body', { ...order, platformSecret: SECRET }, 400, ''],
    ['no tenant', { ...order, tenantId: undefined }, 400, 'tenantId'],
    ['a scope of another kind', { ...order, scopeId: order.tenantId }, 400, 'scopeId'],
    ['a principal that is none', { ...order, createdBy: 'ada' }, 400, 'createdBy'],
    ['a provider that is no name', { ...order, provider: '../x' }, 400, 'provider'],
    ['an empty name', { ...order, subjectRef: '' }, 400, 'subjectRef'],
    ['an enormous name', { ...order, subjectRef: 'x'.repeat(257) }, 400, 'subjectRef'],
    ['a name with a line break', { ...order, subjectRef: 'a\nb' }, 400, 'subjectRef'],
    [
      'an enormous address',
      { ...order, returnUrl: `https://a.example/${'x'.repeat(2000)}` },
      400,
      'returnUrl',
    ],
    ['no object', [], 400, ''],
    ['no JSON', '{', 400, ''],
    ['nothing', '', 400, 'tenantId'],
  ])('spec 7.6: refuses %s', async (_, body, status, path) => {
    const { knock, asked } = setUp();
    const problem = await problemOf(await knock(body));
    expect(problem).toMatchObject({ status, code: 'validation_failed' });
    expect(problem.errors?.[0]?.path).toBe(path);
    expect(JSON.stringify(problem)).not.toContain(SECRET);
    expect(asked.orders).toEqual([]);
  });

  test('refuses a form and a body that is too large', async () => {
    const { knock } = setUp();
    const headers = { 'x-platform-secret': SECRET };
    expect(
      (await knock('a=b', { ...headers, 'content-type': 'application/x-www-form-urlencoded' })).status,
    ).toBe(415);
    expect((await knock({ ...order, subjectRef: 'x'.repeat(2_000_000) })).status).toBe(413);
  });

  test.each([
    ['validation_failed', 'no_consent_round', 400],
    ['validation_failed', 'return_url_not_https', 400],
    ['validation_failed', 'return_url_unbound', 400],
    ['not_found', 'unknown_scope', 404],
    ['invalid_transition', 'tenant_not_active', 409],
    ['unavailable', 'no_seal_key', 503],
  ] as const)('spec 7.6: passes a refusal of the platform on: %s, %s', async (code, reason, status) => {
    const { knock } = setUp({ fails: new PlatformError(code, 'No.', { reason }) });
    expect(await problemOf(await knock())).toMatchObject({ status, code, reason, detail: 'No.' });
  });

  test('says nothing of an unexpected error', async () => {
    const { knock, incidents } = setUp({ fails: new Error('the inner works') });
    const problem = await problemOf(await knock());
    expect(problem).toMatchObject({ status: 500, code: 'internal' });
    expect(JSON.stringify(problem)).not.toContain('inner works');
    expect(incidents).toHaveLength(1);
  });

  test('takes POST and nothing else', async () => {
    const { send } = setUp();
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect(await problemOf(await send(DOOR, { method }))).toMatchObject({ status: 405 });
    expect((await send(DOOR, { method: 'OPTIONS' })).headers.get('allow')).toBe('OPTIONS, POST');
  });
});

describe('a browser on its way', () => {
  const PATHS = ['/connect/a.b', '/connect/callback/calendar?state=s&code=c'];

  test('is sent on, with a cookie for these addresses, and without a trace of where it was', async () => {
    const { send, asked } = setUp();
    const response = await send('/connect/a.b');
    expect(response.status).toBe(303);
    expect(response.headers.get('location')).toBe(step.location);
    expect(response.headers.getSetCookie()).toEqual([
      '__Host-fh_connect_1=v; Path=/; Max-Age=900; HttpOnly; SameSite=Lax; Secure',
    ]);
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(asked.tickets).toEqual(['a.b']);
  });

  test('brings the provider’s answer with its cookies', async () => {
    const { send, asked } = setUp({
      result: { location: 'https://acme.example.com/?connection=con_1', cookie: null },
    });
    const headers = { cookie: 'a=1; fh_connect_1=v; b="x=y"; twice=1; twice=2' };
    const response = await send('/connect/callback/calendar?state=s&code=c&iss=i', { headers });
    expect(response.status).toBe(303);
    expect(response.headers.has('set-cookie')).toBe(false);
    const [answer] = asked.answers;
    expect(answer).toMatchObject({ provider: 'calendar', requestId: 'req_new' });
    expect(Object.fromEntries(answer?.parameters ?? [])).toEqual({ state: 's', code: 'c', iss: 'i' });
    expect(['a', 'fh_connect_1', 'b', 'none'].map((name) => answer?.cookie(name))).toEqual([
      '1',
      'v',
      '"x=y"',
      undefined,
    ]);
    // Of two of one name a sibling host may have planted either.
    expect(answer?.cookie('twice')).toBeUndefined();
  });

  test('a cookie on plain http is not Secure: it would be dropped', async () => {
    const { send } = setUp({
      result: { ...step, cookie: { name: 'c', value: '', maxAgeSeconds: 0, secure: false } },
    });
    expect((await send('/connect/a.b')).headers.getSetCookie()).toEqual([
      'c=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
    ]);
  });

  test.each(PATHS)('that only looks at %s spends nothing', async (path) => {
    const { send, asked } = setUp();
    expect((await send(path, { method: 'HEAD' })).status).toBe(204);
    expect((await send(path, { method: 'OPTIONS' })).status).toBe(204);
    expect((await send(path, { method: 'POST' })).status).toBe(405);
    for (const headers of [{ 'sec-purpose': 'prefetch;prerender' }, { purpose: 'prefetch' }])
      expect((await send(path, { headers: headers as Record<string, string> })).status).toBe(403);
    expect(asked).toEqual({ orders: [], tickets: [], answers: [] });
  });

  test.each(PATHS)(
    'that is refused at %s sees a page with our own words, and software a problem',
    async (path) => {
      const { send, incidents } = setUp({
        fails: new PlatformError('conflict', 'This link was used before.', { reason: 'ticket_used' }),
      });
      const page = await send(path, { headers: { accept: 'text/html' } });
      expect(page.status).toBe(409);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('referrer-policy')).toBe('no-referrer');
      expect(await page.text()).toContain('This link was used before.');
      expect(await problemOf(await send(path))).toMatchObject({ status: 409, reason: 'ticket_used' });
      expect(incidents).toEqual([]);
    },
  );

  test('an unexpected error is an incident and says nothing', async () => {
    const { send, incidents } = setUp({ fails: new Error('the inner works') });
    const response = await send('/connect/a.b');
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('inner works');
    expect(incidents).toHaveLength(1);
  });
});
