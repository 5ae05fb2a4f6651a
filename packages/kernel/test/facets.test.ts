/** Counting the log: right, bounded, and honest about where it stopped (spec C-10). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ActorId, type EventFacets, firstIdAt, toTimestamp } from '@freehold/contracts';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { FACET_EVENTS_MAX } from '../src/events/facets.ts';
import { openShop, owner, packer, scopeId } from './shop.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1);

interface Noted {
  readonly type: string;
  readonly entityType: string;
  readonly actor: string;
  readonly operation: string;
  readonly atMs: number;
}

/** A scope with exactly these events. */
async function openWith(noted: readonly Noted[]) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  {
    await using _ = await openShop({ dataDirectory });
  }
  const db = new DatabaseSync(join(dataDirectory, 'scope-shop', `${scopeId}.sqlite`));
  const insert = db.prepare(
    `INSERT INTO _spine_events (id, type, version, entity_type, entity_id, actor, operation, invocation, proof, pii_class, at)
     VALUES (?, ?, 1, ?, 'x', ?, ?, 'inv_x', '{}', 'none', ?)`,
  );
  db.exec('BEGIN');
  [...noted]
    .sort((a, b) => a.atMs - b.atMs)
    .forEach((each, i) => {
      const id = firstIdAt('evt', each.atMs).slice(0, -6) + String(i).padStart(6, '0');
      insert.run(id, each.type, each.entityType, each.actor, each.operation, each.atMs);
    });
  db.exec('COMMIT');
  db.close();
  const shop = await openShop({ dataDirectory });
  onTestFinished(async () => {
    await shop.engine.close();
    rmSync(dataDirectory, { recursive: true });
  });
  return shop;
}

const shape = ({ buckets }: EventFacets) => buckets.map(({ key, count }) => [key, count]);

test('events are counted by type, by kind of record, by actor, by operation and by day', async () => {
  await using shop = await openShop();
  const { output } = await shop.run(owner, 'box/pack', { label: 'x' });
  await shop.run(packer, 'box/pack', { label: 'y' });
  shop.clock.ms += DAY_MS;
  await shop.run(owner, 'box/ship', { box: (output as { box: string }).box });
  const by = async (groupBy: 'type' | 'entityType' | 'actor' | 'operation' | 'day') =>
    shape(await shop.scope.facets({ groupBy }));
  expect(await by('type')).toEqual([
    ['box.packed', 2],
    ['bill.written', 1],
    ['box.shipped', 1],
  ]);
  expect(await by('entityType')).toEqual([
    ['box', 3],
    ['bill', 1],
  ]);
  expect(await by('actor')).toEqual([
    [owner, 3],
    [packer, 1],
  ]);
  expect(await by('operation')).toEqual([
    ['box/pack', 2],
    ['bill/write', 1],
    ['box/ship', 1],
  ]);
  expect(await by('day')).toEqual([
    ['2026-01-01', 2],
    ['2026-01-02', 2],
  ]);
  const narrowed = await shop.scope.facets({ groupBy: 'type', actor: packer });
  expect(narrowed).toMatchObject({ total: 1, others: 0, truncated: false });
  expect(narrowed.buckets[0]).toMatchObject({
    firstAt: toTimestamp(START_MS),
    lastAt: toTimestamp(START_MS),
  });
});

const anEvent = fc.record({
  type: fc.constantFrom('box.packed', 'box.moved', 'bill.written'),
  entityType: fc.constantFrom('box', 'bill'),
  actor: fc.constantFrom<ActorId>(owner, packer),
  operation: fc.constantFrom('box/pack', 'box/move'),
  atMs: fc.integer({ min: START_MS - 60 * DAY_MS, max: START_MS }),
});

test('any question is answered as counting by hand would', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anEvent, { maxLength: 60 }),
      fc.record(
        {
          type: anEvent.map(({ type }) => type),
          entityType: anEvent.map(({ entityType }) => entityType),
          actor: anEvent.map(({ actor }) => actor),
          operation: anEvent.map(({ operation }) => operation),
          since: fc.integer({ min: START_MS - 70 * DAY_MS, max: START_MS }).map(toTimestamp),
          until: fc.integer({ min: START_MS - 70 * DAY_MS, max: START_MS + DAY_MS }).map(toTimestamp),
        },
        { requiredKeys: [] },
      ),
      fc.constantFrom('type', 'entityType', 'actor', 'operation'),
      async (noted, filter, groupBy) => {
        const shop = await openWith(noted);
        const untilMs = filter.until === undefined ? START_MS + 1 : Date.parse(filter.until);
        const sinceMs = filter.since === undefined ? untilMs - 30 * DAY_MS : Date.parse(filter.since);
        const matching = noted.filter(
          (each) =>
            each.atMs >= sinceMs &&
            each.atMs < untilMs &&
            (['type', 'entityType', 'actor', 'operation'] as const).every(
              (key) => filter[key] === undefined || filter[key] === each[key],
            ),
        );
        const counted = new Map<string, number>();
        for (const each of matching) counted.set(each[groupBy], (counted.get(each[groupBy]) ?? 0) + 1);
        const answer = await shop.scope.facets({ groupBy, ...filter });
        expect(answer.total).toBe(matching.length);
        expect(new Map(shape(answer) as [string, number][])).toEqual(counted);
      },
    ),
    { numRuns: 20 },
  );
}, 30_000);

test('a long log is counted from its newest events, and says so', async () => {
  const noted = (n: number) => ({
    type: 'box.moved',
    entityType: 'box',
    actor: owner,
    operation: 'box/move',
    atMs: START_MS - n * 1_000,
  });
  const shop = await openWith(Array.from({ length: FACET_EVENTS_MAX + 5 }, (_, n) => noted(n)));
  const answer = await shop.scope.facets({ groupBy: 'type' });
  expect(answer).toMatchObject({ total: FACET_EVENTS_MAX, truncated: true });
  const recent = await shop.scope.facets({ groupBy: 'type', since: toTimestamp(START_MS - 10_000) });
  expect(recent).toMatchObject({ total: 11, truncated: false });
}, 30_000);

test('more buckets than an answer holds are counted together', async () => {
  const noted = Array.from({ length: 450 }, (_, n) => ({
    type: `box.t${n % 300}`,
    entityType: 'box',
    actor: owner,
    operation: 'box/move',
    atMs: START_MS - n,
  }));
  const shop = await openWith(noted);
  const answer = await shop.scope.facets({ groupBy: 'type' });
  expect(answer).toMatchObject({ total: 450, others: 100 });
  expect(answer.buckets).toHaveLength(200);
  expect(answer.buckets[0]?.count).toBe(2);
});

test('an unknown way to group and an unknown field are refused', async () => {
  await using shop = await openShop();
  const code = 'validation_failed';
  await expect(shop.scope.facets({ groupBy: 'payload' } as never)).rejects.toMatchObject({ code });
  await expect(shop.scope.facets({ groupBy: 'type', x: 1 } as never)).rejects.toMatchObject({ code });
});

// spec C-10
test('an invocation is told whole, and one that never was is not found', async () => {
  await using shop = await openShop();
  const { output } = await shop.run(owner, 'box/pack', { label: 'x' });
  const shipped = await shop.run(
    owner,
    'box/ship',
    { box: (output as { box: string }).box },
    { idempotencyKey: 'k' },
  );
  const told = await shop.scope.invocation({ invocation: shipped.invocation as never });
  expect(told).toMatchObject({
    invocation: {
      operation: 'box/ship',
      principal: owner,
      parent: null,
      cause: null,
      idempotencyKey: 'k',
      outcome: 'done',
    },
    truncated: false,
  });
  expect(told.items.map(({ type }) => type)).toEqual(['box.shipped']);
  await expect(shop.scope.invocation({ invocation: 'inv_x' as never })).rejects.toMatchObject({
    code: 'not_found',
    reason: 'unknown_invocation',
  });
});
