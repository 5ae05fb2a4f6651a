/** Walks through the log are bounded, stop at cycles, and ids keep their order (design: kernel, "Events"). */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { WALK_MAX } from '../src/events/log.ts';
import { onScenario, openShop, owner, scopeId } from './shop.ts';

const pack = (shop: Awaited<ReturnType<typeof openShop>>) => shop.run(owner, 'box/pack', { label: 'x' });

/** A scope whose log was written from outside, as damage would. */
async function openWith(sql: string) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  {
    await using _ = await openShop({ dataDirectory });
  }
  const db = new DatabaseSync(join(dataDirectory, 'scope-shop', `${scopeId}.sqlite`));
  db.exec(sql);
  db.close();
  const shop = await openShop({ dataDirectory });
  onTestFinished(async () => {
    await shop.engine.close();
    rmSync(dataDirectory, { recursive: true });
  });
  return shop;
}

const eventId = (n: string | number) => `evt_${String(n).padStart(26, '0')}` as never;
/** Numbered events; `cause` is SQL over the number `n`. */
const events = (count: number, cause: string) => `
  WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${count})
  INSERT INTO _spine_events (id, type, version, entity_type, entity_id, actor, operation, invocation, cause, proof,
    pii_class, subject, payload, at) SELECT 'evt_' || printf('%026d', n), 'box.moved', 1, 'box', 'b', '${owner}', 'box/pack', 'inv_x',
    ${cause}, '{}', 'none', NULL, NULL, 0 FROM number;
  INSERT INTO _spine_invocations (id, operation, principal, started_at, duration_ms, outcome)
    VALUES ('inv_x', 'box/pack', '${owner}', 0, 1, 'done')`;
const before = `CASE n WHEN 1 THEN NULL ELSE 'evt_' || printf('%026d', n - 1) END`;

test.each([
  ['exactly the bound', WALK_MAX, false],
  ['one more', WALK_MAX + 1, true],
])('a walk back over %s says whether it was cut short', async (_name, count, truncated) => {
  const shop = await openWith(events(count, before));
  const walk = await shop.scope.cause({ event: eventId(count) });
  expect(walk.items).toHaveLength(WALK_MAX);
  expect(walk.truncated).toBe(truncated);
  expect((await shop.scope.invocation({ invocation: 'inv_x' as never })).truncated).toBe(truncated);
});

test.each([
  ['a chain', before],
  ['a star', `CASE n WHEN 1 THEN NULL ELSE 'evt_' || printf('%026d', 1) END`],
])('a walk forward over %s is bounded and says so', async (_name, cause) => {
  const short = await openWith(events(WALK_MAX + 1, cause));
  expect(await short.scope.effects({ event: eventId(1) })).toMatchObject({ truncated: false });
  const long = await openWith(events(WALK_MAX + 2, cause));
  const walk = await long.scope.effects({ event: eventId(1) });
  expect(walk.items).toHaveLength(WALK_MAX);
  expect(walk.truncated).toBe(true);
});

test('a walk round a cycle ends, both ways', async () => {
  const shop = await openWith(events(3, `'evt_' || printf('%026d', n % 3 + 1)`));
  for (const walk of [
    await shop.scope.cause({ event: eventId(1) }),
    await shop.scope.effects({ event: eventId(1) }),
  ]) {
    expect(walk.truncated).toBe(false);
    expect(new Set(walk.items.map((each) => each.id)).size).toBe(walk.items.length);
  }
  await expect(shop.scope.cause({ event: eventId(9) })).rejects.toMatchObject({ code: 'not_found' });
});

test('a vertical’s own ids go on increasing when the clock steps back over a restart', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true }));
  const ids: string[] = [];
  // It emits nothing, so that no event tells how far its ids went; and the clock moves on while it runs.
  const take = async (shop: Awaited<ReturnType<typeof openShop>>) => {
    const what = onScenario('ids', (ctx) => {
      const first = ctx.newId('box');
      shop.clock.ms += 5;
      return [first, ctx.newId('box'), ctx.newId('box')];
    });
    ids.push(...((await shop.run(owner, 'test/run', { what })).output as string[]));
  };
  for (const stepMs of [0, -60_000, -1, 0]) {
    await using shop = await openShop({ dataDirectory });
    shop.clock.ms += stepMs;
    await take(shop);
    await take(shop);
  }
  expect(ids).toEqual([...new Set(ids)].sort());
});

test('a version follows the events of its record alone, call by call within a group', async () => {
  await using shop = await openShop();
  const [a, b] = (await Promise.all([pack(shop), pack(shop)])).map(
    (result) => (result.output as { box: string }).box,
  );
  const version = async (box: string | undefined) =>
    (await shop.run(owner, 'box/read', { box })).version as string;
  const [seenA, seenB] = [await version(a), await version(b)];
  const outcomes = await Promise.allSettled([
    shop.run(owner, 'box/ship', { box: a }, { ifMatch: seenA }),
    shop.run(owner, 'box/ship', { box: b }, { ifMatch: seenB }),
    shop.run(owner, 'box/ship', { box: a }, { ifMatch: seenB }),
    shop.run(owner, 'box/ship', { box: a }, { ifMatch: '*' }),
    shop.run(owner, 'box/read', { box: a }),
  ]);
  expect(outcomes.map((each) => each.status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
  const versions = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value.version] : []));
  expect(versions[3]).toBe(versions[2]);
  expect(new Set([...versions.slice(0, 3), seenA, seenB]).size).toBe(5);
});
