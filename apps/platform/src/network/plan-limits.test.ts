/** The limits of a scope follow the plan of its tenant and what it stores, and no request waits for them. */
import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LIMITS_DEFAULT, type LimitSettings, type Limits } from '../settings/limits.ts';
import { PlanLimits, type Stored } from './plan-limits.ts';

const MINUTE_MS = 60_000;
const SMALL: Limits = {
  ...LIMITS_DEFAULT,
  bytes: { scope: 100, tenant: 150 },
  attachments: { scope: 2, tenant: 3 },
};
const SETTINGS: LimitSettings = { default: LIMITS_DEFAULT, plans: { small: SMALL } };
const ref = (scope: string) => ({ tenant: 'tnt_a', scope, vertical: 'fieldwork' });

function setUp(settings = SETTINGS) {
  const clock = { ms: 0 };
  const world = { plan: 'small' as string | null, stored: new Map<string, Stored>(), fails: false, reads: 0 };
  const errors: unknown[] = [];
  const limits = new PlanLimits({
    settings,
    planOf: async () => {
      world.reads += 1;
      if (world.fails) throw new Error('the directory does not answer');
      return world.plan;
    },
    storedOf: async ({ scope }) => world.stored.get(scope) ?? { bytes: 1, attachments: 0 },
    now: () => clock.ms,
    onError: (error) => errors.push(error),
  });
  const look = async (scope = 'scp_a') => {
    limits.of(ref(scope));
    await settled();
    return limits.of(ref(scope));
  };
  return { limits, clock, world, errors, look };
}

test('the first request has the defaults and waits for nothing; the plan counts from then on', async () => {
  const { limits, world, look } = setUp();
  expect(limits.of(ref('scp_a'))).toMatchObject({ limits: LIMITS_DEFAULT, full: null });
  expect((await look()).limits).toEqual(SMALL);
  expect(world.reads).toBe(1);
});

test('another plan takes effect within five minutes, and one that the file does not name is the default', async () => {
  const { clock, world, look } = setUp();
  await look();
  world.plan = 'unheard-of';
  clock.ms += 5 * MINUTE_MS - 1;
  expect((await look()).limits).toEqual(SMALL);
  clock.ms += 1;
  expect((await look()).limits).toEqual(LIMITS_DEFAULT);
});

test('a reading that fails is reported, and what was known goes on', async () => {
  const { clock, world, errors, look } = setUp();
  await look();
  world.fails = true;
  clock.ms += 5 * MINUTE_MS;
  expect((await look()).limits).toEqual(SMALL);
  expect(errors).toHaveLength(1);
});

test('a scope, or a tenant with all its scopes, that stores too much is full until it is measured again', async () => {
  const { clock, world, look } = setUp();
  world.stored.set('scp_a', { bytes: 100, attachments: 2 });
  expect((await look('scp_a')).full).toBeNull();
  world.stored.set('scp_b', { bytes: 51, attachments: 0 });
  expect((await look('scp_b')).full).toBe('bytes');
  expect((await look('scp_a')).full).toBe('bytes');
  world.stored.set('scp_b', { bytes: 1, attachments: 2 });
  clock.ms += 10 * MINUTE_MS;
  expect((await look('scp_b')).full).toBe('attachments');
  world.stored.set('scp_b', { bytes: 1, attachments: 0 });
  clock.ms += 10 * MINUTE_MS;
  expect((await look('scp_b')).full).toBeNull();
});

test('a tenant that deletes a scope has its room back, though no request names that scope again', async () => {
  const { clock, world, look } = setUp();
  world.stored.set('scp_a', { bytes: 100, attachments: 0 });
  world.stored.set('scp_b', { bytes: 60, attachments: 0 });
  await look('scp_a');
  expect((await look('scp_b')).full).toBe('bytes');
  world.stored.set('scp_a', { bytes: 0, attachments: 0 });
  expect((await look('scp_b')).full).toBe('bytes');
  clock.ms += 10 * MINUTE_MS;
  await look('scp_b');
  expect((await look('scp_b')).full).toBeNull();
});

test('without plans no entitlement is read', async () => {
  const { world, look } = setUp({ default: SMALL, plans: {} });
  expect((await look()).limits).toEqual(SMALL);
  expect(world.reads).toBe(0);
});
