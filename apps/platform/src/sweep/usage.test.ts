import { PlatformError } from '@freehold/contracts';
import type { CollectedUsage, OpsFailureInput } from '@freehold/directory';
import { expect, test } from 'vitest';
import { makeUsageSweep } from './usage.ts';

const DONE: CollectedUsage = { taken: 1, repeated: 0, refused: 0, more: false };

function open(collect: (scope: string) => CollectedUsage = () => DONE) {
  const asked: string[] = [];
  const failures: OpsFailureInput[] = [];
  const errors: unknown[] = [];
  const usage = makeUsageSweep({
    collect: async ({ scope }) => {
      asked.push(scope);
      return collect(scope);
    },
    fleet: {
      scopes: async function* scopes() {
        yield { tenant: 't', scope: 'a', vertical: 'x', serving: true };
        yield { tenant: 't', scope: 'b', vertical: 'x', serving: false };
        yield { tenant: 't', scope: 'c', vertical: 'elsewhere', serving: true };
      },
    },
    isRunning: (vertical) => vertical === 'x',
    onFailure: (failure) => void failures.push(failure),
    onError: (error) => errors.push(error),
  });
  const { signal } = new AbortController();
  return { usage, asked, failures, errors, signal };
}

test('spec 4.3.13: a scope in which something was done is asked once, and again when more waits', async () => {
  let more = true;
  const { usage, asked, signal } = open(() => ({ ...DONE, more }));
  usage.touch({ tenant: 't', scope: 'a' });
  usage.touch({ tenant: 't', scope: 'a' });
  await usage.collectTouched(signal);
  expect(asked).toEqual(['a']);
  more = false;
  await usage.collectTouched(signal);
  await usage.collectTouched(signal);
  expect(asked).toEqual(['a', 'a']);
});

test('every scope is asked now and then, also a suspended one, where something answers for its vertical', async () => {
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

test('what nobody expected is an incident', async () => {
  const { usage, failures, errors, signal } = open(() => {
    throw new TypeError('our bug');
  });
  await usage.collectAll(signal);
  expect([failures, errors.length]).toEqual([[], 2]);
});
