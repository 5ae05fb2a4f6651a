/** A program that waits for a device code keeps it, however many codes other sources ask for. */
import { expect, test } from 'vitest';
import { PENDING_MAX } from '../../../directory/src/staff/devices.ts';
import { openFixture } from '../../test/staff/fixture.ts';
import { controlPlaneApp } from '../app.ts';
import { DEVICE_LIMITS, makeDeviceLimiter, sourceOfCodes } from './device.ts';

const { source, unknown, together, beyond } = DEVICE_LIMITS;

/** The endpoint, as programs at these addresses call it. */
async function open() {
  const fixture = await openFixture();
  const sources: (string | null)[] = [];
  const { staff } = fixture.hostAdmin;
  const app = controlPlaneApp({
    hostAdmin: fixture.hostAdmin,
    now: () => fixture.clock.ms,
    onIncident: (error) => {
      throw error;
    },
    newRequestId: () => 'req_1',
    origin: () => 'http://api.localhost:8787',
    staff: {
      signIns: {
        ...staff,
        startDevice: (order) => {
          sources.push(order.source);
          return staff.startDevice(order);
        },
      },
      relyingParty: () => null,
    },
  });
  const post = async (path: string, form: Record<string, string>, from: string | null, uncounted = false) =>
    app.fetch(
      new Request(`http://api.localhost:8787${path}`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: 'freehold-cli', ...form }),
      }),
      { clientAddress: from, ...(uncounted ? { uncounted } : {}) },
    );
  const start = (from: string | null, uncounted?: boolean) =>
    post('/oauth/device_authorization', {}, from, uncounted);
  const poll = async (deviceCode: string, from: string) => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const answer = await post('/oauth/token', { grant_type, device_code: deviceCode }, from);
    return ((await answer.json()) as { error: string }).error;
  };
  return { start, poll, sources, clock: fixture.clock };
}

test('RFC 8628 5: one network of IPv6 pushes out no other source, with one code from each of its subnets', async () => {
  const { start, poll, clock } = await open();
  const honest = (await (await start('203.0.113.9')).json()) as { device_code: string };
  const statuses = new Map<number, number>();
  for (let subnet = 0; subnet < 5_200; subnet++) {
    clock.ms += 1;
    const { status } = await start(`2001:db8:1:${subnet.toString(16)}::1`);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  // In these five seconds the limit gains less than a hundred codes.
  expect(statuses.get(200)).toBeLessThan(source.calls + beyond.calls + 100);
  expect([...statuses.keys()].sort()).toEqual([200, 429]);
  expect(await poll(honest.device_code, '203.0.113.9')).toBe('authorization_pending');
  // Nor does it keep anybody out.
  expect((await start('2001:db8:2::1')).status).toBe(200);
});

test('a site counts as one source, and an unknown address as none', async () => {
  const { start, sources } = await open();
  for (const from of [
    '2001:db8:1:1::1',
    '2001:db8:1:2::1',
    '2001:db8:2::1',
    '192.0.2.1',
    '::ffff:192.0.2.2',
    null,
  ])
    await start(from);
  expect(sources).toEqual([
    ...['2001:db8:1::/48', '2001:db8:1::/48', '2001:db8:2::/48'],
    ...['192.0.2.1', '192.0.2.2', null],
  ]);
  expect(sourceOfCodes('0:0:0:0::/64')).toBe('0:0:0::/48');
});

test('a refusal is one that programs understand, and says when to come again', async () => {
  const { start, clock } = await open();
  // Of one site, and each of its subnets within the limit of every address at `/oauth/*`.
  const site = (n: number) => `2001:db8:7:${(n % 100).toString(16)}::1`;
  for (let n = 0; n < source.calls + beyond.calls; n++) expect((await start(site(n))).status).toBe(200);
  const refused = await start(site(0));
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('ratelimit-policy')).toBe('"calls";q=500;w=60');
  expect(refused.headers.get('cache-control')).toBe('no-store');
  expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' });
  expect((await start(site(0), true)).status).toBe(200);
  expect((await start('192.0.2.1')).status).toBe(200);
  clock.ms += 1_000;
  expect((await start(site(0))).status).toBe(200);
});

test('all sources together have a limit, of which no one of them takes more than its share', () => {
  const clock = { ms: 0 };
  const limited = makeDeviceLimiter(() => clock.ms);
  const greedy = Array.from({ length: 3_000 }, () => limited('192.0.2.1'));
  expect(greedy.filter((tooMany) => tooMany === null)).toHaveLength(source.calls + beyond.calls);
  expect(greedy.at(-1)).toMatchObject({ limit: beyond });
  const others = Array.from({ length: together.calls - source.calls }, (_, n) => limited(`198.51.100.${n}`));
  expect(others.filter((tooMany) => tooMany !== null)).toEqual([]);
  expect(limited('203.0.113.1')).toMatchObject({ limit: together, allowance: { resetSeconds: 1 } });
  clock.ms += 1_000;
  expect(limited('203.0.113.1')).toBeNull();
});

test('everybody without an address shares less than all may have', () => {
  const limited = makeDeviceLimiter(() => 0);
  const given = Array.from({ length: 3_000 }, () => limited(null)).filter((tooMany) => tooMany === null);
  expect(given).toHaveLength(unknown.calls + beyond.calls);
  const left = Array.from({ length: together.calls - unknown.calls }, (_, n) => limited(`198.51.100.${n}`));
  expect(left.filter((tooMany) => tooMany !== null)).toEqual([]);
});

test('within a minute no more codes are begun than may wait, so that none is pushed out sooner', () => {
  const clock = { ms: 0 };
  const limited = makeDeviceLimiter(() => clock.ms);
  let begun = 0;
  // From 7,000 sources, each with one, and from one that is far beyond its share.
  for (let n = 0; n < 7_000; n++) {
    clock.ms = Math.floor((n * 60_000) / 7_000);
    for (const from of [`2001:db8:${n.toString(16)}::/48`, '192.0.2.1']) if (!limited(from)) begun += 1;
  }
  expect(begun).toBeGreaterThan(together.calls);
  expect(begun).toBeLessThanOrEqual(PENDING_MAX);
});
