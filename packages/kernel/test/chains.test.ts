/** Subscriptions that set each other off are stopped: a chain of deliveries has an end, and says where it is. */
import type { EventId } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineOperations,
  defineVertical,
  makeDeliveryRunner,
  operation,
  type Vertical,
} from '../src/index.ts';
import { openShop, owner, shop, operations as shopOperations } from './shop.ts';

const bounce = (verb: 'pinged' | 'ponged') =>
  operation({
    summary: `Say that it was ${verb}`,
    input: z.strictObject({ event: z.string() }),
    output: z.null(),
    permission: 'bill.write',
    run: (ctx) => {
      ctx.emit({ type: `ball.${verb}`, entity: { type: 'bill', id: 'ball' } });
      return null;
    },
  });

const operations = defineOperations({
  ...shopOperations,
  'ball/ping': bounce('pinged'),
  'ball/pong': bounce('ponged'),
});

const rally: Pick<Vertical, 'subscriptions'> = {
  subscriptions: {
    // The first stroke comes from outside of the two.
    ping: { on: ['box.packed', 'ball.ponged'], operation: 'ball/ping', as: 'player' },
    pong: { on: ['ball.pinged'], operation: 'ball/pong', as: 'player' },
  },
};

function verticalWith(more: Partial<Vertical>): Vertical {
  return defineVertical({
    ...shop,
    manifest: {
      ...shop.manifest,
      services: { player: { name: 'Player', permissions: ['bill.write'] } },
    },
    operations,
    ...more,
  });
}

async function openRally(more: Partial<Vertical> = rally) {
  const vertical = verticalWith(more);
  let wake = (_scopeId: string): void => undefined;
  const opened = await openShop({ vertical, onWork: (id) => wake(id) });
  const runner = makeDeliveryRunner({
    vertical,
    scope: (id) => opened.host.scope(id),
    now: () => opened.clock.ms,
    onIncident: (error) => void opened.incidents.push(error),
  });
  wake = runner.wake;
  const strokes = async () =>
    (await opened.scope.history({ entity: { type: 'bill', id: 'ball' }, limit: 200 })).items;
  const deadLetters = async () => (await opened.scope.deadLetters({ limit: 200 })).items;
  return {
    ...opened,
    settled: () => runner.idle(),
    strokes,
    deadLetters,
    begin: () => opened.run(owner, 'box/pack', { label: 'x' }),
    [Symbol.asyncDispose]: async () => {
      await runner.stop();
      await opened[Symbol.asyncDispose]();
    },
  };
}

test('two subscriptions that set each other off are stopped after sixteen deliveries', async () => {
  await using rallied = await openRally();
  await rallied.begin();
  await rallied.settled();
  const strokes = await rallied.strokes();
  expect(strokes).toHaveLength(16);
  expect(await rallied.deadLetters()).toMatchObject([
    {
      event: { id: strokes.at(-1)?.id },
      subscriber: 'ping',
      attempts: 0,
      error: { code: 'conflict', detail: expect.stringContaining('a chain of 16 deliveries') },
    },
  ]);
  // Nothing waits, and the incident was reported to the operator.
  expect(await rallied.scope.work({})).toEqual({ settled: 0, claimed: [], nextAtMs: null });
  expect(rallied.incidents.map(String)).toEqual([expect.stringContaining('ball.ponged')]);
});

test('the bound is of each chain, not of all that happens', async () => {
  await using rallied = await openRally({ ...rally, chainMax: 3 });
  for (let i = 0; i < 4; i++) await rallied.begin();
  await rallied.settled();
  expect(await rallied.strokes()).toHaveLength(12);
  expect(await rallied.deadLetters()).toHaveLength(4);
});

test('an event at the end of a chain goes one delivery further when an operator retries it', async () => {
  await using rallied = await openRally({ ...rally, chainMax: 2 });
  await rallied.begin();
  await rallied.settled();
  const [stopped] = await rallied.deadLetters();
  await rallied.scope.retryDeadLetter({ event: stopped?.event.id as EventId, subscriber: 'ping' });
  await rallied.settled();
  expect(await rallied.strokes()).toHaveLength(3);
  expect(await rallied.deadLetters()).toMatchObject([{ subscriber: 'pong', attempts: 0 }]);
});

test('an executor that calls for its own event again is stopped too', async () => {
  let runs = 0;
  await using rallied = await openRally({
    chainMax: 5,
    executors: {
      echo: {
        on: ['box.packed', 'ball.pinged'],
        as: 'player',
        run: async (event, { invoke }) => {
          runs += 1;
          await invoke('ball/ping', { event: event.id });
        },
      },
    },
  });
  await rallied.begin();
  await rallied.settled();
  expect(runs).toBe(5);
  expect(await rallied.deadLetters()).toMatchObject([{ subscriber: 'echo', attempts: 0 }]);
});

test('operations within an operation are no deliveries: they lengthen no chain', async () => {
  const nested = defineOperations({
    ...operations,
    'ball/volley': operation({
      summary: 'Several strokes in one operation',
      input: z.strictObject({ event: z.string() }),
      output: z.null(),
      permission: 'bill.write',
      run: (ctx, input) => {
        for (let i = 0; i < 5; i++) {
          ctx.invoke('ball/pong', input);
          ctx.emit({ type: 'ball.served', entity: { type: 'bill', id: 'ball' } });
        }
        return null;
      },
    }),
  });
  const told: string[] = [];
  await using rallied = await openRally({
    operations: nested,
    chainMax: 2,
    subscriptions: { volley: { on: ['box.packed'], operation: 'ball/volley', as: 'player' } },
    executors: {
      crowd: { on: ['ball.ponged'], as: 'player', run: async ({ id }) => void told.push(id) },
    },
  });
  await rallied.begin();
  await rallied.settled();
  expect(told).toHaveLength(5);
  expect(await rallied.deadLetters()).toEqual([]);
});

test.each([0, 1.5, 1_001])('a vertical with a chain of %d deliveries fails at start', (chainMax) => {
  expect(() => verticalWith({ chainMax })).toThrow('chainMax');
});
