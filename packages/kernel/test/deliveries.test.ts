/** The own work of a scope after events: in order, at least once, and without delaying other lanes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EventRecord, PlatformError } from '@freehold/contracts';
import { expect, onTestFinished, test } from 'vitest';
import type { Vertical } from '../src/index.ts';
import { owner, scopeId } from './shop.ts';
import { billing, executor, hooks, openWorking, verticalWith } from './working-shop.ts';

test('an event is brought to its subscriber after the commit, as its service, with itself as the cause', async () => {
  await using working = await openWorking(verticalWith({ subscriptions: { billing } }));
  const box = await working.pack();
  await working.settled();
  const [packed] = (await working.scope.history({ entity: { type: 'box', id: box }, limit: 10 })).items;
  const { items } = await working.scope.effects({ event: (packed as EventRecord).id });
  expect(items).toMatchObject([
    { type: 'bill.drafted', actor: 'service:billing', cause: packed?.id, operation: 'bill/for' },
  ]);
  expect(await working.scope.work({})).toEqual({ settled: 0, claimed: [], nextAtMs: null });
});

test('events of a type arrive in the order in which they happened, each once', async () => {
  await using working = await openWorking(verticalWith({ subscriptions: { billing } }));
  const seen: string[] = [];
  hooks.onBill = (event) => void seen.push(event);
  await Promise.all(Array.from({ length: 130 }, (_, i) => working.pack(`box ${i}`)));
  await working.settled();
  expect(seen).toHaveLength(130);
  expect(seen).toEqual([...seen].sort());
  expect(await working.countOf('bill.drafted')).toBe(130);
});

test('a failing delivery leaves nothing, is tried again later and later, and holds its lane back', async () => {
  await using working = await openWorking(verticalWith({ subscriptions: { billing } }));
  const tried: { readonly event: string; readonly atMs: number }[] = [];
  hooks.onBill = (event) => {
    tried.push({ event, atMs: working.clock.ms });
    if (tried.length < 4) throw new PlatformError('conflict', 'Not yet.');
  };
  const startMs = working.clock.ms;
  await working.pack('first');
  await working.pack('second');
  await working.settled();
  expect(tried).toHaveLength(1);
  expect(await working.countOf('bill.drafted')).toBe(0);
  while (tried.length < 5) {
    const nextAtMs = Math.min(...[...working.timers].map(({ atMs }) => atMs));
    await working.pass(nextAtMs - working.clock.ms);
  }
  const waits = tried.slice(1, 4).map(({ atMs }, i) => atMs - (tried[i]?.atMs ?? startMs));
  expect(waits).toHaveLength(3);
  // 1, 2 and 4 seconds, give or take a fifth.
  for (const [i, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(800 * 2 ** i);
    expect(wait).toBeLessThanOrEqual(1_200 * 2 ** i);
  }
  // The second came only once the first was through.
  expect(new Set(tried.slice(0, 4).map(({ event }) => event)).size).toBe(1);
  expect(tried).toHaveLength(5);
  expect(await working.countOf('bill.drafted')).toBe(2);
});

test('after its last attempt an event is a dead letter, and the ones behind it go on', async () => {
  await using working = await openWorking(
    verticalWith({ subscriptions: { billing: { ...billing, attemptsMax: 2 } } }),
  );
  let poison = '';
  hooks.onBill = (event) => {
    poison ||= event;
    if (event === poison) throw new PlatformError('invalid_transition', 'This can never work.');
  };
  await working.pack('poison');
  await working.pack('fine');
  await working.settled();
  await working.pass(1_200);
  const { items } = await working.scope.deadLetters({ limit: 10 });
  expect(items).toMatchObject([
    {
      subscriber: 'billing',
      attempts: 2,
      event: { id: poison, type: 'box.packed' },
      error: { code: 'invalid_transition', detail: 'This can never work.' },
    },
  ]);
  expect(await working.countOf('bill.drafted')).toBe(1);
  // Once what was wrong is repaired, it can be sent again.
  hooks.onBill = () => undefined;
  await working.scope.retryDeadLetter({ event: poison as never, subscriber: 'billing' });
  await working.settled();
  expect(await working.countOf('bill.drafted')).toBe(2);
  expect((await working.scope.deadLetters({ limit: 10 })).items).toEqual([]);
  await expect(
    working.scope.retryDeadLetter({ event: poison as never, subscriber: 'billing' }),
  ).rejects.toMatchObject({ code: 'not_found', reason: 'unknown_dead_letter' });
});

test('C-10: dead letters come newest event first, page by page, of one subscriber or of all', async () => {
  const twice = { ...billing, attemptsMax: 1 };
  await using working = await openWorking(verticalWith({ subscriptions: { one: twice, two: twice } }));
  hooks.onBill = () => {
    throw new PlatformError('conflict', 'No.');
  };
  for (let i = 0; i < 5; i++) await working.pack();
  await working.settled();
  const all = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof working.scope.deadLetters>> = await working.scope.deadLetters({
      limit: 3,
      ...(cursor === null ? {} : { cursor }),
    });
    all.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  const keys = all.map(({ event, subscriber }) => `${event.id} ${subscriber}`);
  expect(keys).toHaveLength(10);
  expect(keys).toEqual([...new Set(keys)].sort().reverse());
  const ofOne = await working.scope.deadLetters({ subscriber: 'one', limit: 10 });
  expect(ofOne.items.map(({ subscriber }) => subscriber)).toEqual(Array(5).fill('one'));
});

test('one subscriber’s poison is no other subscriber’s', async () => {
  await using working = await openWorking(
    verticalWith({
      subscriptions: {
        billing,
        broken: {
          ...billing,
          input: () => {
            throw new Error('a bug');
          },
        },
      },
    }),
  );
  for (let i = 0; i < 3; i++) await working.pack();
  await working.settled();
  expect(await working.countOf('bill.drafted')).toBe(3);
  expect(working.incidents.map(String)).toContain('Error: a bug');
});

test('a refusal of the service is a denial row, and the event waits', async () => {
  const declared = verticalWith({ subscriptions: { billing } });
  // The service lost its permission with a later version of the vertical.
  const vertical: Vertical = {
    ...declared,
    manifest: {
      ...declared.manifest,
      services: { billing: { name: 'Billing', permissions: [] } },
    },
  };
  await using working = await openWorking(vertical);
  await working.pack();
  await working.settled();
  expect((await working.scope.listDenials({ actor: 'service:billing', limit: 10 })).items).toMatchObject([
    { permission: 'bill.write', operation: 'bill/for' },
  ]);
  expect((await working.scope.work({})).nextAtMs).toBeGreaterThan(working.clock.ms);
});

test('an operation that is rolled back puts nothing in line', async () => {
  await using working = await openWorking(verticalWith({ subscriptions: { billing } }));
  await expect(working.run(owner, 'box/pack', { label: '' })).rejects.toMatchObject({
    code: 'validation_failed',
  });
  expect(await working.scope.work({})).toMatchObject({ settled: 0, nextAtMs: null });
});

test('what waits survives a restart', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  const vertical = verticalWith({ subscriptions: { billing } });
  {
    await using working = await openWorking(vertical, { dataDirectory });
    await working.runner.stop();
    await working.pack();
    expect(await working.countOf('bill.drafted')).toBe(0);
  }
  await using again = await openWorking(vertical, { dataDirectory });
  await again.runner.resume([scopeId, 'scp_01arz3ndektsv4rrffq69g5fff']);
  await again.settled();
  expect(await again.countOf('bill.drafted')).toBe(1);
  expect(again.runnerIncidents).toEqual([]);
});

test('an executor works outside the transaction, and what it does inside is done once', async () => {
  const attempts: number[] = [];
  const vertical = verticalWith({
    executors: {
      courier: executor(async (event, { attempt, invoke, deliveryKey }) => {
        attempts.push(attempt);
        expect(deliveryKey).toBe(`courier:${event.id}`);
        await invoke('bill/for', { event: event.id });
        if (attempt === 1) throw new Error('the line broke after it was done');
      }),
    },
  });
  await using working = await openWorking(vertical);
  await working.pack();
  await working.settled();
  await working.pass(1_200);
  expect(attempts).toEqual([1, 2]);
  expect(await working.countOf('bill.drafted')).toBe(1);
  expect(await working.scope.work({})).toMatchObject({ claimed: [], nextAtMs: null });
});

test('an executor that hangs is stopped at its time, and its late answer changes nothing', async () => {
  const aborted: number[] = [];
  const vertical = verticalWith({
    executors: {
      courier: executor(
        (_event, { signal }) =>
          new Promise((_resolve) => signal.addEventListener('abort', () => void aborted.push(1))),
        { timeoutMs: 1_000, attemptsMax: 1 },
      ),
    },
  });
  await using working = await openWorking(vertical);
  await working.pack();
  while (working.timers.size === 0) await new Promise(setImmediate);
  await working.pass(1_000);
  expect(aborted).toHaveLength(1);
  expect((await working.scope.deadLetters({ limit: 10 })).items).toMatchObject([
    { subscriber: 'courier', error: { code: 'unavailable' } },
  ]);
});

test('a claim whose holder died is given to the next, and the dead one’s answer is not taken', async () => {
  const vertical = verticalWith({
    executors: { courier: executor(async () => undefined, { timeoutMs: 1_000 }) },
  });
  await using working = await openWorking(vertical);
  await working.runner.stop();
  await working.pack();
  const [first] = (await working.scope.work({})).claimed;
  expect((await working.scope.work({})).claimed).toEqual([]);
  working.clock.ms += 31_000;
  const [second] = (await working.scope.work({})).claimed;
  expect(second).toMatchObject({ attempt: 2, event: { id: first?.event.id } });
  const answer = { subscriber: 'courier', event: first?.event.id as never };
  expect(await working.scope.settle({ ...answer, claim: first?.claim as number })).toEqual({
    settled: false,
  });
  expect(await working.scope.settle({ ...answer, claim: second?.claim as number })).toEqual({
    settled: true,
  });
  expect(await working.scope.settle({ ...answer, claim: second?.claim as number })).toEqual({
    settled: false,
  });
});

test('a schedule runs at its times, in its time zone, and makes up for missed ones once', async () => {
  const vertical = verticalWith({
    schedules: {
      nightly: { cron: '0 3 * * *', timezone: 'Europe/Vienna', operation: 'bill/nightly', as: 'billing' },
    },
  });
  await using working = await openWorking(vertical);
  await working.runner.resume([scopeId]);
  await working.settled();
  expect(await working.countOf('bill.night')).toBe(0);
  // 3:00 in Vienna in winter is 2:00 UTC; the clock of the test starts at midnight UTC.
  await working.pass(2 * 3_600_000 - 1);
  expect(await working.countOf('bill.night')).toBe(0);
  await working.pass(1);
  expect(await working.countOf('bill.night')).toBe(1);
  await working.pass(3 * 86_400_000);
  expect(await working.countOf('bill.night')).toBe(2);
});

test('a clock that jumped ahead and back leaves no schedule and no delivery waiting for the far future', async () => {
  const nightly = { cron: '0 3 * * *', operation: 'bill/nightly', as: 'billing' };
  await using working = await openWorking(
    verticalWith({ schedules: { nightly }, subscriptions: { billing } }),
  );
  const nextAtMs = async () => (await working.scope.work({})).nextAtMs;
  const nights = async () =>
    (await working.scope.history({ entity: { type: 'bill', id: 'night' }, limit: 10 })).items.length;
  const startMs = working.clock.ms;
  expect(await nextAtMs()).toBe(startMs + 3 * 3_600_000);
  working.clock.ms += 400 * 86_400_000;
  // The missed runs are made up for once, and an event waits for its second attempt.
  const tries: number[] = [];
  hooks.onBill = () => {
    tries.push(working.clock.ms - startMs);
    if (tries.length === 1) throw new PlatformError('conflict', 'Not yet.');
  };
  await working.pack('while ahead');
  await working.settled();
  expect(await nights()).toBe(1);
  working.clock.ms = startMs + 60_000;
  expect(await nextAtMs()).toBe(startMs + 3 * 3_600_000);
  expect(tries).toEqual([400 * 86_400_000, 60_000]);
  working.clock.ms = startMs + 3 * 3_600_000;
  await working.scope.work({});
  expect(await nights()).toBe(2);
  // Set back by a little, it does not run again.
  working.clock.ms -= 5_000;
  expect(await nextAtMs()).toBe(startMs + 27 * 3_600_000);
  expect(await nights()).toBe(2);
});

test.each<[string, Pick<Vertical, 'subscriptions' | 'executors' | 'schedules'>, string]>([
  [
    'an unknown operation',
    { subscriptions: { billing: { ...billing, operation: 'bill/lost' } } },
    'bill/lost',
  ],
  ['an unknown service', { subscriptions: { billing: { ...billing, as: 'unknown' } } }, 'unknown'],
  ['a service that may not', { subscriptions: { billing: { ...billing, as: 'idler' } } }, 'bill.write'],
  ['nothing to listen to', { subscriptions: { billing: { ...billing, on: [] } } }, 'listens to nothing'],
  ['a type that is none', { subscriptions: { billing: { ...billing, on: ['Packed'] } } }, 'Packed'],
  ['no attempt', { subscriptions: { billing: { ...billing, attemptsMax: 0 } } }, 'attemptsMax'],
  ['a bad name', { subscriptions: { 'Bill ing': billing } }, 'lower-case'],
  [
    'one name for two',
    { subscriptions: { a: billing }, executors: { a: executor(async () => undefined) } },
    'a name is used once',
  ],
  ['no time', { executors: { a: executor(async () => undefined, { timeoutMs: 0 }) } }, 'timeoutMs'],
  [
    'a cron expression that is none',
    { schedules: { a: { cron: 'soon', operation: 'bill/nightly', as: 'billing' } } },
    'soon',
  ],
  [
    'a day that never comes',
    { schedules: { a: { cron: '0 0 31 2 *', operation: 'bill/nightly', as: 'billing' } } },
    '0 0 31 2 *',
  ],
])('a vertical with %s fails at start', (_name, listeners, words) => {
  expect(() => verticalWith(listeners)).toThrow(words);
});

test('a dead letter whose subscriber is declared no more cannot be sent again, and stays', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  let event: string;
  {
    const once = { ...billing, attemptsMax: 1 };
    await using working = await openWorking(verticalWith({ subscriptions: { once } }), { dataDirectory });
    hooks.onBill = () => {
      throw new PlatformError('conflict', 'No.');
    };
    await working.pack();
    await working.settled();
    event = (await working.scope.deadLetters({ limit: 5 })).items[0]?.event.id as string;
  }
  await using working = await openWorking(verticalWith({ subscriptions: { billing } }), { dataDirectory });
  await expect(
    working.scope.retryDeadLetter({ event: event as never, subscriber: 'once' }),
  ).rejects.toMatchObject({ code: 'conflict', reason: 'unknown_subscriber' });
  expect((await working.scope.deadLetters({ limit: 5 })).items).toHaveLength(1);
});
