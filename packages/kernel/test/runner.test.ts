/** The delivery runner: no wake is lost, no lane starves, and a failure or a stop affects no other work. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PlatformError } from '@freehold/contracts';
import { expect, onTestFinished, test } from 'vitest';
import { makeDeliveryRunner, type ScopeStub, type Subscription } from '../src/index.ts';
import { onScenario, openShop, owner, scopeId, tenant } from './shop.ts';
import { billing, executor, hooks, openWorking, verticalWith } from './working-shop.ts';

/** A runner over a scope that is only counted. */
function runnerOver(work: () => Promise<unknown>) {
  return makeDeliveryRunner({
    vertical: verticalWith({ subscriptions: { billing } }),
    scope: () => ({ work }) as unknown as ScopeStub,
    now: () => 0,
    after: () => () => undefined,
    onIncident: (error) => {
      throw error;
    },
  });
}

test.each(Array.from({ length: 12 }, (_, ticks) => ticks))(
  'a wake %d steps after a round has answered begins another round',
  async (ticks) => {
    let rounds = 0;
    const runner = runnerOver(async () => {
      rounds += 1;
      if (rounds === 1) {
        let step = Promise.resolve();
        for (let tick = 0; tick < ticks; tick++) step = step.then(() => undefined);
        void step.then(() => runner.wake(scopeId));
      }
      return { settled: 0, claimed: [], nextAtMs: null };
    });
    runner.wake(scopeId);
    for (let i = 0; i < 5; i++) await new Promise(setImmediate);
    await runner.idle();
    expect(rounds).toBe(2);
  },
);

test('a lane that is always full leaves the others their turn', async () => {
  const endless: Subscription = { ...billing, on: ['box.packed'] };
  const patient: Subscription = { ...billing, on: ['box.shipped'], input: ({ id }) => ({ event: id }) };
  await using working = await openWorking(verticalWith({ subscriptions: { endless, patient } }));
  await working.runner.stop();
  const seen: string[] = [];
  hooks.onBill = (event) => void seen.push(event);
  const what = onScenario('fills two lanes', (ctx) => {
    const entity = { type: 'box', id: 'b' };
    for (let i = 0; i < 200; i++) ctx.emit({ type: 'box.packed', entity });
    return ctx.emit({ type: 'box.shipped', entity });
  });
  const shipped = (await working.run(owner, 'test/run', { what })).output;
  await working.scope.work({});
  expect(seen).not.toContain(shipped);
  await working.scope.work({});
  expect(seen).toContain(shipped);
  expect(seen).toHaveLength(100);
});

test('a person whose key is lost affects the deliveries about them, and no others', async () => {
  const sealKeys = ['a sealing key of this test, which is long enough'];
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  const told: string[] = [];
  const vertical = verticalWith({
    subscriptions: {
      careful: { ...billing, on: ['box.named'], attemptsMax: 2 },
      billing,
    },
    executors: {
      post: executor(async (event) => void told.push(event.type), {
        on: ['box.named', 'box.packed'],
        attemptsMax: 2,
      }),
    },
  });
  {
    await using working = await openWorking(vertical, { dataDirectory, sealKeys });
    await working.runner.stop();
    const what = onScenario(
      'names a person',
      (ctx) =>
        ctx.emit({
          type: 'box.named',
          entity: { type: 'box', id: 'b' },
          piiClass: 'direct',
          subject: 'cus_ada',
          payload: { name: 'Ada' },
        }),
      ['cus_ada'],
    );
    await working.run(owner, 'test/run', { what });
    await working.pack();
  }
  // As if the key had been sealed under a lost secret.
  const vault = new DatabaseSync(join(dataDirectory, 'vault', `${tenant}.sqlite`));
  vault.exec(`UPDATE key_slots SET wrapped = 'v1.lost'`);
  vault.close();
  await using working = await openWorking(vertical, { dataDirectory, sealKeys });
  await working.runner.resume([scopeId]);
  await working.settled();
  expect(await working.countOf('bill.drafted')).toBe(1);
  expect(told).toEqual(['box.packed']);
  await working.pass(2_000);
  expect((await working.scope.deadLetters({ limit: 10 })).items).toMatchObject([
    { subscriber: 'post', event: { type: 'box.named' }, attempts: 2, error: { code: 'unavailable' } },
    { subscriber: 'careful', event: { type: 'box.named' }, attempts: 2, error: { code: 'unavailable' } },
  ]);
  expect(working.runnerIncidents[0]).toMatchObject({ code: 'internal' });
});

test('an executor that is interrupted by the end of its process has not failed: it is lent again after the start', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  const attempts: number[] = [];
  let hang = true;
  const vertical = verticalWith({
    executors: {
      courier: executor(
        (_event, { attempt }) => {
          attempts.push(attempt);
          return hang ? new Promise(() => undefined) : Promise.resolve();
        },
        { attemptsMax: 1 },
      ),
    },
  });
  {
    await using working = await openWorking(vertical, { dataDirectory });
    await working.pack();
    while (attempts.length === 0) await new Promise(setImmediate);
    await working.runner.stop();
    expect((await working.scope.deadLetters({ limit: 10 })).items).toEqual([]);
  }
  hang = false;
  await using working = await openWorking(vertical, { dataDirectory });
  await working.runner.resume([scopeId]);
  await working.settled();
  expect(attempts).toEqual([1, 1]);
  expect(await working.scope.work({})).toEqual({ settled: 0, claimed: [], nextAtMs: null });
});

test('an executor calls out through the port of its runner, and its calls end with its time', async () => {
  const calls: { readonly url: string; readonly signal: AbortSignal }[] = [];
  const own = new AbortController();
  const vertical = verticalWith({
    executors: {
      courier: executor(async (_event, { fetch }) => {
        await fetch('https://courier.example/first');
        await fetch(new Request('https://courier.example/second'), { signal: own.signal });
      }),
    },
  });
  await using working = await openWorking(vertical, {
    fetch: async (target, init) => {
      const { url } = target instanceof Request ? target : { url: String(target) };
      calls.push({ url, signal: init?.signal as AbortSignal });
      return url.endsWith('/first') ? new Response() : new Promise(() => undefined);
    },
  });
  await working.pack();
  while (calls.length < 2) await new Promise(setImmediate);
  expect(calls.map(({ url }) => url)).toEqual([
    'https://courier.example/first',
    'https://courier.example/second',
  ]);
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, false]);
  await working.pass(30_000);
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  expect(own.signal.aborted).toBe(false);
});

test('a caller who asks is told of each attempt of a round, and another is not', async () => {
  const schedules = { nightly: { cron: '0 0 * * *', operation: 'bill/nightly', as: 'billing' } };
  await using working = await openWorking(verticalWith({ subscriptions: { billing }, schedules }));
  await working.runner.stop();
  await working.scope.work({});
  const seen: string[] = [];
  hooks.onBill = (event) => {
    seen.push(event);
    throw new PlatformError('conflict', 'The printer is out of paper.');
  };
  await working.pack();
  working.clock.ms += 86_400_000;
  const error = { code: 'conflict', detail: 'The printer is out of paper.' };
  expect((await working.scope.work({ report: true })).attempts).toEqual([
    { kind: 'schedule', name: 'nightly', event: null, error: null },
    { kind: 'subscription', name: 'billing', event: seen[0], error },
  ]);
  expect(await working.scope.work({})).not.toHaveProperty('attempts');
});

test('steps of an executor may be called anything, and two long names are two steps', async () => {
  const outputs: unknown[] = [];
  const vertical = verticalWith({
    executors: {
      courier: executor(async (event, { invoke }) => {
        for (const step of ['étape', 'x'.repeat(400), `${'x'.repeat(400)}y`, 'étape'])
          outputs.push(await invoke('bill/nightly', {}, step));
        await invoke('bill/for', { event: event.id });
      }),
    },
  });
  await using working = await openWorking(vertical);
  await working.pack();
  await working.settled();
  expect((await working.scope.deadLetters({ limit: 5 })).items).toEqual([]);
  expect(outputs).toHaveLength(4);
  expect(await working.countOf('bill.night')).toBe(3);
});

test('an executor that keeps failing is one incident, with its own error, until it is done again', async () => {
  let failure: unknown = new TypeError('the door is locked');
  const vertical = verticalWith({
    executors: {
      courier: executor(async () => {
        if (failure !== null) throw failure;
      }),
    },
  });
  await using working = await openWorking(vertical);
  await working.pack();
  await working.settled();
  await working.pass(5_000);
  await working.pass(5_000);
  expect(working.runnerIncidents).toEqual([failure]);

  failure = null;
  await working.pass(60_000);
  failure = 'a text';
  await working.pack();
  await working.settled();
  expect(working.runnerIncidents.map(String)).toEqual([
    'TypeError: the door is locked',
    'TypeError: operation courier threw the text "a text" instead of an error',
  ]);
});

test('an executor that refuses is no incident: its dead letter says why', async () => {
  const refusing = async () => {
    throw new PlatformError('conflict', 'The address is incomplete.');
  };
  const vertical = verticalWith({ executors: { courier: executor(refusing, { attemptsMax: 1 }) } });
  await using working = await openWorking(vertical);
  await working.pack();
  await working.settled();
  expect(working.runnerIncidents).toEqual([]);
  const { items } = await working.scope.deadLetters({ limit: 5 });
  expect(items).toMatchObject([{ error: { code: 'conflict', detail: 'The address is incomplete.' } }]);
});

test('a subscription that keeps failing is one incident until it is done again', async () => {
  await using working = await openWorking(verticalWith({ subscriptions: { billing } }));
  const fail = () => {
    throw new Error('no ink');
  };
  hooks.onBill = fail;
  await working.pack();
  await working.settled();
  await working.pass(5_000);
  await working.pass(5_000);
  expect(working.incidents.map(String)).toEqual(['Error: no ink']);
  hooks.onBill = () => undefined;
  await working.pass(60_000);
  hooks.onBill = fail;
  await working.pack();
  await working.settled();
  expect(working.incidents).toHaveLength(2);
});

test('a schedule that keeps failing is one incident until it is done again', async () => {
  const hourly = { cron: '0 * * * *', operation: 'bill/for', input: { event: 'evt_1' }, as: 'billing' };
  await using working = await openWorking(verticalWith({ schedules: { hourly } }));
  let runs = 0;
  hooks.onBill = () => {
    runs += 1;
    if (runs !== 3) throw new Error('no ink');
  };
  working.runner.wake(scopeId);
  await working.settled();
  for (let hour = 0; hour < 2; hour++) await working.pass(3_600_000);
  expect([runs, working.incidents.map(String)]).toEqual([2, ['Error: no ink']]);
  for (let hour = 0; hour < 2; hour++) await working.pass(3_600_000);
  // The third one wrote the bill, and the fourth finds it there.
  expect(working.incidents.map(String)).toEqual(['Error: no ink', expect.stringContaining('UNIQUE')]);
});

test('deliveries about many persons ask for their keys together, and not once for each', async () => {
  const sealKeys = ['a sealing key of this test, which is long enough'];
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  const vertical = verticalWith({ subscriptions: { careful: { ...billing, on: ['box.named'] } } });
  const persons = 90;
  {
    await using working = await openWorking(vertical, { dataDirectory, sealKeys });
    await working.runner.stop();
    const named = Array.from({ length: persons }, (_, i) => `cus_${i}`);
    const what = onScenario(
      'says their names',
      (ctx) => {
        for (const subject of named)
          ctx.emit({
            type: 'box.named',
            entity: { type: 'box', id: 'b' },
            piiClass: 'direct',
            subject,
            payload: { subject },
          });
      },
      named,
    );
    await working.run(owner, 'test/run', { what });
  }
  await using working = await openWorking(vertical, { dataDirectory, sealKeys });
  let deliveries = 0;
  hooks.onBill = () => {
    deliveries += 1;
  };
  await working.runner.resume([scopeId]);
  await working.settled();
  expect(await working.countOf('bill.drafted')).toBe(persons);
  expect(deliveries).toBe(persons);
  expect(working.runnerIncidents).toEqual([]);
});

test('scopes that always have more to do take turns with all others, also at a start', async () => {
  const done = new Map<string, number>();
  let total = 0;
  const runner = makeDeliveryRunner({
    vertical: verticalWith({ subscriptions: { billing } }),
    scope: (id) =>
      ({
        work: async () => {
          done.set(id, (done.get(id) ?? 0) + 1);
          total += 1;
          await new Promise(setImmediate);
          const isBusy = id.startsWith('busy') && total < 2_000;
          return { settled: 1, claimed: [], nextAtMs: isBusy ? 0 : null };
        },
      }) as unknown as ScopeStub,
    now: () => 0,
    after: (_ms, task) => {
      setImmediate(task);
      return () => undefined;
    },
    onIncident: (error) => {
      throw error;
    },
  });
  const busy = Array.from({ length: 20 }, (_, i) => `busy ${i}`);
  for (const id of busy) runner.wake(id);
  await runner.resume(['quiet 1', 'quiet 2']);
  while (!done.has('quiet 2')) await new Promise(setImmediate);
  expect(total).toBeLessThan(200);
  await runner.idle();
  const turns = busy.map((id) => done.get(id) ?? 0);
  expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(2);
});

test('what is lent while everything stops is not begun, and handed back', async () => {
  let runs = 0;
  const settled: unknown[] = [];
  const runner = makeDeliveryRunner({
    vertical: verticalWith({
      executors: {
        courier: executor(async () => {
          runs += 1;
        }),
      },
    }),
    scope: () =>
      ({
        work: async () => {
          void runner.stop();
          const event = { id: 'evt_x', type: 'box.packed' };
          return {
            settled: 0,
            claimed: [{ subscriber: 'courier', event, attempt: 1, claim: 1 }],
            nextAtMs: null,
          };
        },
        settle: async (result: unknown) => settled.push(result),
      }) as unknown as ScopeStub,
    now: () => 0,
    after: () => () => undefined,
    onIncident: (error) => {
      throw error;
    },
  });
  runner.wake(scopeId);
  await runner.idle();
  expect(runs).toBe(0);
  expect(settled).toEqual([{ subscriber: 'courier', event: 'evt_x', claim: 1, handedBack: true }]);
});

test('a sweep that fails is for the operator to know, unless there is no place that could be swept', async () => {
  const swept: string[] = [];
  const incidents: unknown[] = [];
  const failures = [
    new PlatformError('unsupported', 'There is no place.', { reason: 'no_blob_store' }),
    new PlatformError('unavailable', 'The bucket is out of reach.', { reason: 'blob_store_failed' }),
  ];
  const runner = makeDeliveryRunner({
    vertical: verticalWith({ subscriptions: { billing } }),
    scope: () =>
      ({
        work: async () => ({ settled: 0, claimed: [], nextAtMs: null, sweep: true }),
      }) as unknown as ScopeStub,
    attachments: {
      sweep: (id) => {
        swept.push(id);
        return Promise.reject(failures.shift());
      },
      remove: async () => undefined,
    },
    now: () => 0,
    after: () => () => undefined,
    onIncident: (error) => void incidents.push(error),
  });
  for (const id of ['without a place', 'out of reach']) {
    runner.wake(id);
    await runner.idle();
  }
  expect(swept).toEqual(['without a place', 'out of reach']);
  expect(incidents).toMatchObject([{ reason: 'blob_store_failed' }]);
});

test('a new scope is told of at once, so that its schedules run', async () => {
  const told: string[] = [];
  await using opened = await openShop({ onWork: (id) => void told.push(id) });
  expect(told).toEqual([scopeId]);
  await opened.host.provisionScopeLocal({ tenantId: tenant, scopeId: scopeId as never, name: 'Acme' });
  expect(told).toEqual([scopeId]);
});
