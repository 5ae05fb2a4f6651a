import { PlatformError } from '@freehold/contracts';
import type { CollectedUsage, OpsFailureInput } from '@freehold/directory';
import { expect, test } from 'vitest';
import type { FleetScope } from '../applications/operator.ts';
import { ScopeActivity } from '../network/activity.ts';
import { UsageSweep } from './usage.ts';

const DONE: CollectedUsage = { taken: 1, repeated: 0, refused: 0, more: false };

const FLEET: readonly FleetScope[] = [
  { tenant: 't', scope: 'a', vertical: 'x', serving: true },
  { tenant: 't', scope: 'b', vertical: 'x', serving: false },
  { tenant: 't', scope: 'c', vertical: 'elsewhere', serving: true },
];
const HOUR_MS = 3_600_000;

function open(collect: (scope: string) => CollectedUsage = () => DONE, fleet = FLEET) {
  const clock = { nowMs: 0 };
  const asked: string[] = [];
  const failures: OpsFailureInput[] = [];
  const errors: unknown[] = [];
  const activity = new ScopeActivity();
  const touch = (scope: string) => void activity.touched.set(scope, { tenant: 't', scope });
  const usage = new UsageSweep({
    activity,
    collect: async ({ scope }) => {
      asked.push(scope);
      return collect(scope);
    },
    fleet: {
      scopes: async function* scopes() {
        yield* fleet;
      },
    },
    now: () => clock.nowMs,
    isRunning: (vertical) => vertical === 'x',
    onFailure: (failure) => void failures.push(failure),
    onError: (error) => errors.push(error),
  });
  const { signal } = new AbortController();
  return { usage, touch, asked, failures, errors, signal, clock };
}

test('spec 4.3.13: an active scope is asked once, and again when more waits', async () => {
  let more = true;
  const { usage, touch, asked, signal } = open(() => ({ ...DONE, more }));
  touch('a');
  touch('a');
  await usage.collectTouched(signal);
  expect(asked).toEqual(['a']);
  more = false;
  await usage.collectTouched(signal);
  await usage.collectTouched(signal);
  expect(asked).toEqual(['a', 'a']);
});

test('every scope is asked now and then, also a suspended one, where its vertical runs', async () => {
  const { usage, asked, signal } = open();
  await usage.collectAll(signal);
  expect(asked).toEqual(['a', 'b']);
});

test.each([
  ['not_found', 0],
  ['unsupported', 0],
  ['runtime_fault', 1],
] as const)(
  'a scope that is refused with %s makes %i rows, and costs the next one nothing',
  async (code, rows) => {
    const { usage, asked, failures, errors, signal } = open((scope) => {
      if (scope === 'a') throw new PlatformError(code, 'No.', { reason: 'because' });
      return DONE;
    });
    await usage.collectAll(signal);
    expect([asked, failures.map(({ reason }) => reason), errors]).toEqual([
      ['a', 'b'],
      Array.from({ length: rows }, () => 'because'),
      [],
    ]);
  },
);

test('an unexpected error is an incident', async () => {
  const { usage, failures, errors, signal } = open(() => {
    throw new TypeError('our bug');
  });
  await usage.collectAll(signal);
  expect([failures, errors.length]).toEqual([[], 2]);
});

test('a round goes through ten thousand scopes in portions, and the next one begins a day later', async () => {
  const fleet = Array.from({ length: 1_200 }, (_, index) => ({
    tenant: 't',
    scope: `s${index}`,
    vertical: 'x',
    serving: true,
  }));
  const { usage, asked, signal, clock } = open(() => DONE, fleet);
  const counts: number[] = [];
  for (let hour = 0; hour < 25; hour++) {
    clock.nowMs = hour * HOUR_MS;
    await usage.collectAll(signal);
    counts.push(asked.length);
  }
  expect(counts.slice(0, 4)).toEqual([500, 1_000, 1_200, 1_200]);
  expect(counts.at(-2)).toBe(1_200);
  expect(counts.at(-1)).toBe(1_700);
});

test('a scope is owed from its activity until its collection, and stays owed after a failed one', async () => {
  let broken = true;
  const { usage, touch, asked, signal } = open(() => {
    if (broken) throw new PlatformError('runtime_fault', 'No.');
    return DONE;
  }, []);
  expect(usage.isOwed('a')).toBe(false);
  touch('a');
  expect(usage.isOwed('a')).toBe(true);
  await usage.collectTouched(signal);
  expect(usage.isOwed('a')).toBe(true);
  broken = false;
  await usage.collectAll(signal);
  expect(usage.isOwed('a')).toBe(false);
  expect(asked).toEqual(['a', 'a']);
});

test('a clock that was ahead delays the next round by a day at most', async () => {
  const { usage, asked, signal, clock } = open();
  const YEAR_MS = 365 * 24 * HOUR_MS;
  clock.nowMs = YEAR_MS;
  await usage.collectAll(signal);
  clock.nowMs = 0;
  await usage.collectAll(signal);
  clock.nowMs = 24 * HOUR_MS - 1;
  await usage.collectAll(signal);
  expect(asked).toEqual(['a', 'b']);
  clock.nowMs = 24 * HOUR_MS;
  await usage.collectAll(signal);
  expect(asked).toEqual(['a', 'b', 'a', 'b']);
});
