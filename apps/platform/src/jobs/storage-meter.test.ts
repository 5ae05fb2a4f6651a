import type { GaugeInput } from '@freehold/directory';
import { expect, test } from 'vitest';
import { makeStorageMeter, type StorageMeterOptions } from './meters.ts';

const DAY_MS = 86_400_000;

/** Two tenants: `a` has two live scopes and a test scope, `b` has one. */
function open(changes: Partial<StorageMeterOptions> = {}) {
  const clock = { ms: Date.UTC(2026, 10, 21, 8) };
  const stopping = new AbortController();
  const set: [tenant: string, quantity: number][] = [];
  const errors: string[] = [];
  const sizes = new Map([
    ['a1', 1000],
    ['a2', 200],
    ['test-a', 5000],
    ['b1', 7],
  ]);
  const blobs = new Map([['a1', [30, 4]]]);
  const meter = makeStorageMeter({
    fleet: {
      scopes: async function* scopes() {
        for (const scope of [...sizes.keys(), 'elsewhere'])
          yield { tenant: scope.includes('b') ? 'b' : 'a', scope, vertical: 'x', serving: false };
      },
    },
    databaseBytes: async ({ scope }) => sizes.get(scope) ?? null,
    blobs: (scope) => ({
      list: async function* list() {
        for (const bytes of blobs.get(scope) ?? []) yield { digest: 'd', bytes, atMs: 0 };
      },
    }),
    isLive: async ({ scope }) => !scope.startsWith('test'),
    set: async ([reading]: readonly GaugeInput[]) => {
      if (reading) set.push([reading.tenant, reading.quantity]);
    },
    now: () => clock.ms,
    onError: (_error, tenant) => void errors.push(tenant),
    ...changes,
  });
  const measure = () => meter.measure(stopping.signal);
  return { measure, clock, sizes, set, errors, stop: () => stopping.abort() };
}

test('spec C-22: databases and attachments of live scopes are measured, suspended ones too, test scopes never', async () => {
  const { measure, set } = open();
  await measure();
  expect(set).toEqual([
    ['a', 1234],
    ['b', 7],
  ]);
});

test('once a day of UTC, however often it is called', async () => {
  const { measure, set, sizes, clock } = open();
  await measure();
  clock.ms += 15 * 3_600_000;
  sizes.set('b1', 8);
  await measure();
  expect(set).toHaveLength(2);
  // Midnight, not a day after the first measure.
  clock.ms += 3_600_000;
  await measure();
  expect(set.slice(2)).toEqual([
    ['a', 1234],
    ['b', 8],
  ]);
  clock.ms += DAY_MS;
  await measure();
  expect(set).toHaveLength(6);
});

test('a tenant with one scope that cannot be measured has no figure, and the others have theirs', async () => {
  const { measure, set, errors } = open({
    databaseBytes: async ({ scope }) => {
      if (scope === 'a2') throw new Error('disk');
      return 1;
    },
    blobs: () => ({ list: async function* list() {} }),
  });
  await measure();
  expect([errors, set.map(([tenant]) => tenant)]).toEqual([['a'], ['b']]);
});

test('a figure that cannot be recorded is reported', async () => {
  const { measure, errors } = open({
    set: async ([reading]) => {
      if (reading?.tenant === 'a') throw new Error('no');
    },
  });
  await measure();
  expect(errors).toEqual(['a']);
});

test('a platform that stops records no partial figure, and measures again when it is up', async () => {
  let stop = (): void => undefined;
  const opened = open({
    databaseBytes: async () => {
      stop();
      return 1;
    },
  });
  stop = opened.stop;
  await opened.measure();
  expect(opened.set).toEqual([]);
});
