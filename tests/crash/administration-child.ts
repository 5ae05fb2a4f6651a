/** The process that is killed: it reads orders from its standard input and works in the given place. */
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import type { OperationRecord } from '../../packages/directory/src/admin-operations.ts';
import { ask, type Deed, makeBench, recordOf, say } from './administration/bench.ts';
import { deeds } from './administration/deeds/index.ts';
import { type OpenedPlatform, openInPlace } from './administration/open.ts';
import type { Order } from './administration/protocol.ts';

const platform = await openInPlace(process.argv[2] as string, (error) =>
  say({ t: 'trouble', message: wordsOf(error) }),
);
await platform.admin.resumeLongWork();
await allEnded(platform);
say({ t: 'ready' });
// A process that is killed does not write it at its end.
flushCompileCache();
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Order;
  if (order.do === 'stop') break;
  try {
    await carryOut(platform, order);
  } catch (error) {
    say({ t: 'trouble', message: wordsOf(error) });
  }
  say({ t: 'over', points: platform.points.passed });
  platform.points.arm(Number.POSITIVE_INFINITY);
}
await platform.close();
process.exit();

async function carryOut(opened: OpenedPlatform, order: Exclude<Order, { do: 'stop' }>): Promise<void> {
  if (order.do === 'verify') {
    const { status, firstBad } = await ask<{ status: string; firstBad: unknown }>(opened, 'admin-log.verify');
    return say({ t: 'verdict', status, firstBad });
  }
  if (order.do === 'repeat') {
    const bench = makeBench(opened, 'repeat');
    for (const { of, call } of order.calls) await bench.repeat(call, `${of}-again`).catch(() => undefined);
    return;
  }
  const bench = makeBench(opened, order.round);
  const prepared = await Promise.all(
    order.deeds.map(async (name) => {
      try {
        return [{ name, mutation: await (deeds[name] as Deed)(bench) }];
      } catch (error) {
        say({ t: 'trouble', message: `${name} could not be prepared: ${wordsOf(error)}` });
        return [];
      }
    }),
  );
  opened.points.arm(order.killAt);
  await Promise.all(
    // The bench reports a refusal, and the test judges it.
    prepared.flat().map(({ name, mutation }) => bench.make(name, mutation).catch(() => undefined)),
  );
}

async function allEnded(opened: OpenedPlatform): Promise<void> {
  for (const state of ['queued', 'running']) {
    const { items } = await ask<{ items: OperationRecord[] }>(opened, 'operations.list', {
      state,
      limit: 200,
    });
    for (const { id } of items) await recordOf(opened, id);
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? String(error.stack) : String(error);
}
