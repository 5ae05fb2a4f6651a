/** A shop that does things by itself: subscriptions, executors and schedules that each test chooses, and a runner. */
import { z } from 'zod';
import {
  defineOperations,
  defineVertical,
  type Executor,
  makeDeliveryRunner,
  operation,
  type ScopeHostOptions,
  type Subscription,
  type Vertical,
} from '../src/index.ts';
import { openShop, owner, shop, operations as shopOperations } from './shop.ts';

/** The behaviour of the subscribed operation; each test sets it. */
export const hooks: { onBill: (event: string) => void } = { onBill: () => undefined };

const operations = defineOperations({
  ...shopOperations,
  'bill/for': operation({
    summary: 'Write a bill for what happened',
    input: z.strictObject({ event: z.string() }),
    output: z.null(),
    permission: 'bill.write',
    run: (ctx, { event }) => {
      ctx.sql.run(`INSERT INTO boxes (id, label, state) VALUES (?, 'bill', 'written')`, `bill-${event}`);
      ctx.emit({ type: 'bill.drafted', entity: { type: 'bill', id: event } });
      hooks.onBill(event);
      return null;
    },
  }),
  'bill/nightly': operation({
    summary: 'Every night',
    input: z.strictObject({}),
    output: z.null(),
    permission: 'bill.write',
    run: (ctx) => {
      ctx.emit({ type: 'bill.night', entity: { type: 'bill', id: 'night' } });
      return null;
    },
  }),
});

export const billing: Subscription = { on: ['box.packed'], operation: 'bill/for', as: 'billing' };

export function verticalWith(more: Partial<Vertical>): Vertical {
  return defineVertical({
    ...shop,
    manifest: {
      ...shop.manifest,
      services: {
        billing: { name: 'Billing', permissions: ['bill.write'] },
        idler: { name: 'Idler', permissions: [] },
      },
    },
    operations,
    ...more,
  });
}

/** A shop with a runner whose timers fire only when the test moves the clock. */
export async function openWorking(
  vertical: Vertical,
  {
    fetch,
    ...options
  }: {
    dataDirectory?: string;
    sealKeys?: readonly string[];
    programs?: ScopeHostOptions['programs'];
    /** Answers the outgoing calls of executors. */
    fetch?: typeof globalThis.fetch;
  } = {},
) {
  hooks.onBill = () => undefined;
  const wakes: string[] = [];
  const timers = new Set<{ readonly atMs: number; readonly task: () => void }>();
  let wake = (id: string): void => void wakes.push(id);
  const opened = await openShop({ vertical, ...options, onWork: (id) => wake(id) });
  const runnerIncidents: unknown[] = [];
  const runner = makeDeliveryRunner({
    vertical,
    scope: (id) => opened.host.scope(id),
    now: () => opened.clock.ms,
    after: (ms, task) => {
      const timer = { atMs: opened.clock.ms + ms, task };
      timers.add(timer);
      if (ms === 0) setImmediate(() => timers.delete(timer) && task());
      return () => void timers.delete(timer);
    },
    onIncident: (error) => void runnerIncidents.push(error),
    ...(fetch ? { fetch } : {}),
  });
  wake = runner.wake;
  const pass = async (ms: number): Promise<void> => {
    opened.clock.ms += ms;
    for (const timer of [...timers]) if (timer.atMs <= opened.clock.ms && timers.delete(timer)) timer.task();
    await runner.idle();
  };
  const pack = async (label = 'x') => {
    const { output } = await opened.run(owner, 'box/pack', { label });
    return (output as { box: string }).box;
  };
  const countOf = async (type: string) => (await opened.scope.facets({ groupBy: 'type', type })).total;
  return {
    ...opened,
    runner,
    runnerIncidents,
    timers,
    pass,
    pack,
    countOf,
    settled: () => runner.idle(),
    [Symbol.asyncDispose]: async () => {
      await runner.stop();
      await opened[Symbol.asyncDispose]();
    },
  };
}

export const executor = (run: Executor['run'], more: Partial<Executor> = {}): Executor => ({
  on: ['box.packed'],
  as: 'billing',
  run,
  ...more,
});
