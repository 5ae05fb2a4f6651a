/** The limits of applications: what one address, scope or tenant uses up, and that it costs the others nothing. */
import type { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { LIMITS_DEFAULT, type Limits } from '../settings/limits.ts';
import { type KnownLimits, type LimitHit, RequestGate } from './activity.ts';

const SMALL: Limits = {
  ...LIMITS_DEFAULT,
  requests: { address: 3, scope: 4, tenant: 5 },
  streams: { address: 1, scope: 2, tenant: 3 },
};
const ACME = { tenant: 'tnt_acme', scope: 'scp_a', vertical: 'fieldwork' };
const ACME_TWO = { ...ACME, scope: 'scp_b' };
const PIPES = { tenant: 'tnt_pipes', scope: 'scp_p', vertical: 'fieldwork' };

function setUp(limits: Limits = SMALL) {
  const clock = { ms: 30_000 };
  const known: { full: KnownLimits['full'] } = { full: null };
  const hits: LimitHit[] = [];
  let asked = 0;
  const gate = new RequestGate({
    now: () => clock.ms,
    limitsOf: () => {
      asked += 1;
      return { limits, ...known, untilMs: clock.ms + 1_000 };
    },
    onOften: (hit) => hits.push(hit),
  });
  const outcome = (work: () => unknown) => {
    try {
      work();
      return 'in';
    } catch (error) {
      const { status, reason, headers } = error as PlatformError;
      return [status, reason, headers?.['retry-after']];
    }
  };
  const ask = (ref = ACME, address: string | null = null, method = 'GET', path = '/api/orders') =>
    outcome(() => gate.admit(ref, { method, path }, address));
  const times = (count: number, ...parts: Parameters<typeof ask>) =>
    Array.from({ length: count }, () => ask(...parts));
  return { gate, clock, known, hits, ask, times, outcome, asked: () => asked };
}

const REFUSED = [429, 'too_many_requests', '30'];

describe('requests', () => {
  test('of one address are limited, and no other address waits', () => {
    const { times, ask } = setUp();
    expect(times(4, ACME, '192.0.2.1')).toEqual(['in', 'in', 'in', REFUSED]);
    expect(ask(ACME, '192.0.2.2')).toBe('in');
    expect(ask(ACME_TWO, '192.0.2.1')).toEqual(REFUSED);
  });

  test('of one address at one tenant are not judged by the limits of another', () => {
    const { times, hits } = setUp();
    const over = times(400, ACME, '192.0.2.1');
    expect(over.at(-1)).toEqual(REFUSED);
    expect(times(4, PIPES, '192.0.2.1')).toEqual(['in', 'in', 'in', REFUSED]);
    times(400, PIPES, '192.0.2.1');
    expect(hits.map(({ tenant, address }) => [tenant, address])).toEqual([
      ['tnt_acme', '192.0.2.1'],
      ['tnt_pipes', '192.0.2.1'],
    ]);
  });

  test('of one scope, and of one tenant, are limited, and no other tenant waits', () => {
    const { times } = setUp();
    expect(times(5, ACME)).toEqual(['in', 'in', 'in', 'in', REFUSED]);
    expect(times(2, ACME_TWO)).toEqual(['in', REFUSED]);
    expect(times(1, PIPES)).toEqual(['in']);
  });

  test('begin anew with each minute, and the answer says when', () => {
    const { clock, times, ask } = setUp();
    times(5, ACME);
    clock.ms = 59_500;
    expect(ask(ACME)).toEqual([429, 'too_many_requests', '1']);
    clock.ms = 60_000;
    expect(times(5, ACME)).toEqual(['in', 'in', 'in', 'in', [429, 'too_many_requests', '60']]);
  });

  test('without a known address, and from this machine, have no limit of an address', () => {
    for (const address of [null, '127.0.0.1', '::1']) {
      const { times } = setUp();
      expect(times(4, ACME, address)).toEqual(['in', 'in', 'in', 'in']);
    }
  });

  test('of an IPv6 subscriber are those of the /64', () => {
    const { ask } = setUp();
    expect([1, 2, 3, 4].map((host) => ask(ACME, `2001:db8::${host}`)).at(-1)).toEqual(REFUSED);
  });

  test('without a limit are all admitted, and a hundred of a second ask for the limits once', () => {
    const none = { address: null, scope: null, tenant: null };
    const { times, asked } = setUp({ ...SMALL, requests: none });
    expect(new Set(times(100, ACME, '192.0.2.1'))).toEqual(new Set(['in']));
    expect(asked()).toBe(1);
  });

  test('that are often refused are reported once in a minute', () => {
    const { clock, hits, times } = setUp();
    times(500, ACME, '192.0.2.1');
    expect(hits).toEqual([
      { tenant: 'tnt_acme', scope: 'scp_a', of: 'address', what: 'requests', address: '192.0.2.1' },
    ]);
    clock.ms += 60_000;
    times(50, ACME, '192.0.2.1');
    expect(hits).toHaveLength(1);
  });
});

test('where the storage is used up, writing is refused; reading and removing go on', () => {
  const { known, ask } = setUp(LIMITS_DEFAULT);
  known.full = 'bytes';
  expect(ask(ACME, null, 'POST')).toEqual([429, 'too_many_bytes', '600']);
  for (const method of ['GET', 'HEAD', 'DELETE']) expect(ask(ACME, null, method)).toBe('in');
});

test.each([
  '/api/auth/password',
  '/api/auth/backchannel-logout',
  '/api/sessions/end-all',
  '/api/members/prn_1/remove',
  '/api/members/prn_1/role',
  '/api/invites/prn_1/revoke',
  '/api/accept-invite',
  '/api/claim',
  '/api/orders/ord_1/attachments/att_1/remove',
  '/api/customers/cus_1/erase',
])('where the storage is used up, POST %s goes on: access is taken away by it, or room is made', (path) => {
  const { known, ask } = setUp(LIMITS_DEFAULT);
  for (known.full of ['bytes', 'attachments'] as const) expect(ask(ACME, null, 'POST', path)).toBe('in');
});

test.each(['/api/authors', '/api/orders/ord_1/attachments', '/api/removed', '/x/api/auth', '/mcp'])(
  'where the storage is used up, POST %s is refused',
  (path) => {
    const { known, ask } = setUp(LIMITS_DEFAULT);
    known.full = 'attachments';
    expect(ask(ACME, null, 'POST', path)).toEqual([429, 'too_many_attachments', '600']);
  },
);

describe('event streams', () => {
  const stream = () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
      cancel: () => {
        isCancelled = true;
      },
    });
    const response = new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
    return { response, isCancelled: () => isCancelled };
  };

  test('that are open are limited, and the place of one that ended is free', async () => {
    const { gate, outcome } = setUp();
    const open = (address: string | null) => gate.hold(ACME, address, stream().response);
    const first = open('192.0.2.1');
    const refused = stream();
    expect(outcome(() => gate.hold(ACME, '192.0.2.1', refused.response))).toEqual([
      429,
      'too_many_streams',
      '60',
    ]);
    expect(refused.isCancelled()).toBe(true);
    await first.body?.cancel();
    const again = open('192.0.2.1');
    // Its place at another tenant is another one.
    expect(outcome(() => gate.hold(PIPES, '192.0.2.1', stream().response))).toBe('in');
    open('192.0.2.2');
    expect(outcome(() => open('192.0.2.3'))).toEqual([429, 'too_many_streams', '60']);
    expect(new TextDecoder().decode((await again.body?.getReader().read())?.value)).toBe('data: 1\n\n');
  });

  test('are what is counted: every other answer passes as it is', () => {
    const { gate } = setUp();
    const page = new Response('page', { headers: { 'content-type': 'text/html' } });
    expect(gate.hold(ACME, '192.0.2.1', page)).toBe(page);
  });
});
