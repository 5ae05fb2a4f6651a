/** The retention of a scope: what it removes, how much at a time, and how its reads say so. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type EventId, firstIdAt, toTimestamp } from '@freehold/contracts';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { defineVertical, makeDeliveryRunner, type RetentionPolicy, type Vertical } from '../src/index.ts';
import { BATCH_ROWS } from '../src/retention/housekeeping.ts';
import { guest, onScenario, openShop, owner, scopeId, shop, tenant } from './shop.ts';
import { billing, hooks, verticalWith } from './working-shop.ts';

const DAY_MS = 86_400_000;
const POLICY: RetentionPolicy = { historyDays: 30, denialsDays: 10 };
const ref = { tenantId: tenant, scopeId: scopeId as never };

const keeping = (retention: RetentionPolicy | undefined = POLICY, vertical: Vertical = shop): Vertical =>
  defineVertical({ ...vertical, retention });

type Opened = Awaited<ReturnType<typeof openShop>>;
const openKeeping = (retention?: RetentionPolicy) => openShop({ vertical: keeping(retention) });

/** Lets the scope keep house once, to the end. Answers how many rounds that took. */
async function runRetention({ scope, clock }: Opened): Promise<number> {
  const before = (await scope.retention({})).lastRunAt;
  for (let rounds = 1; rounds < 100; rounds++) {
    const { nextAtMs } = await scope.work({});
    if ((await scope.retention({})).lastRunAt !== before) return rounds;
    clock.ms = Math.max(clock.ms, nextAtMs ?? 0);
  }
  throw new Error('housekeeping does not end');
}

/** Emits so many events on a record, in one operation; answers their ids. */
async function emit(opened: Opened, count: number, id = 'b', type = 'box.moved'): Promise<string[]> {
  const what = onScenario(`emits ${count} ${type} on ${id}`, (ctx) =>
    Array.from({ length: count }, () => ctx.emit({ type, entity: { type: 'box', id } })),
  );
  return (await opened.run(owner, 'test/run', { what })).output as string[];
}

const historyOf = (opened: Opened, id = 'b') =>
  opened.scope.history({ entity: { type: 'box', id }, limit: 200 });
const idsOf = async (opened: Opened, id = 'b') => (await historyOf(opened, id)).items.map((each) => each.id);

async function rowsOf(opened: Opened, ...names: string[]): Promise<(number | null | undefined)[]> {
  const tables = await opened.scope.tables({});
  return names.map((name) => tables.find((table) => table.name === name)?.rows);
}

/** A directory that scopes can be reopened in. */
function makeDirectory(): string {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }));
  return dataDirectory;
}

function withDatabase(dataDirectory: string, work: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(join(dataDirectory, 'scope-shop', `${scopeId}.sqlite`));
  work(db);
  db.close();
}

test('without a policy everything is kept for good, and nothing looks after it', async () => {
  await using opened = await openShop();
  await emit(opened, 3);
  opened.clock.ms += 4_000 * DAY_MS;
  expect(await opened.scope.work({})).toEqual({ settled: 0, claimed: [], nextAtMs: null });
  expect(await historyOf(opened)).toEqual({ items: expect.any(Array), nextCursor: null });
  expect(await opened.scope.retention({})).toEqual({
    historyDays: null,
    denialsDays: null,
    historyPrunedBefore: null,
    denialsPrunedBefore: null,
    lastRunAt: null,
    nextRunAt: null,
  });
});

test('what is older than the policy goes, what is younger stays, and of each record its last event', async () => {
  await using opened = await openKeeping();
  await emit(opened, 3);
  const [quiet] = await emit(opened, 1, 'quiet');
  opened.clock.ms += 20 * DAY_MS;
  const young = await emit(opened, 2);
  opened.clock.ms += 10 * DAY_MS;
  await runRetention(opened);
  opened.clock.ms += 1_000;
  await runRetention(opened);
  expect(await idsOf(opened)).toEqual(young);
  expect(await idsOf(opened, 'quiet')).toEqual([quiet]);
});

test('a record keeps its version, however long nothing has happened to it', async () => {
  await using opened = await openKeeping();
  const { output } = await opened.run(owner, 'box/pack', { label: 'x' });
  const { box } = output as { box: string };
  const seen = (await opened.run(owner, 'box/read', { box })).version as string;
  await emit(opened, 1);
  opened.clock.ms += 400 * DAY_MS;
  await runRetention(opened);
  expect((await opened.run(owner, 'box/read', { box })).version).toBe(seen);
  await opened.run(owner, 'box/ship', { box }, { ifMatch: seen });
});

test('one transaction looks at a few hundred rows, and a restart goes on where it was', async () => {
  const dataDirectory = makeDirectory();
  const vertical = keeping();
  const count = 4 * BATCH_ROWS;
  {
    await using opened = await openShop({ vertical, dataDirectory });
    for (let i = 0; i < 4; i++) await emit(opened, BATCH_ROWS);
    opened.clock.ms += 31 * DAY_MS;
    await emit(opened, 1);
    // The first call only says when it will be.
    opened.clock.ms = (await opened.scope.work({})).nextAtMs as number;
    const { nextAtMs } = await opened.scope.work({});
    expect(await rowsOf(opened, '_spine_events')).toEqual([count + 1 - BATCH_ROWS]);
    expect((nextAtMs ?? 0) - opened.clock.ms).toBe(200);
  }
  await using opened = await openShop({ vertical, dataDirectory });
  opened.clock.ms += 33 * DAY_MS;
  let left = count + 1 - BATCH_ROWS;
  while ((await opened.scope.retention({})).lastRunAt === null) {
    const before = left;
    opened.clock.ms = Math.max(opened.clock.ms, (await opened.scope.work({})).nextAtMs ?? 0);
    [left] = (await rowsOf(opened, '_spine_events')) as [number];
    expect(before - left).toBeLessThanOrEqual(BATCH_ROWS);
  }
  expect(left).toBe(1);
});

test('a clock that was far ahead puts the next round off by a day at most', async () => {
  await using opened = await openKeeping();
  const startMs = opened.clock.ms;
  opened.clock.ms += 400 * DAY_MS;
  await runRetention(opened);
  opened.clock.ms = startMs;
  const { nextAtMs } = await opened.scope.work({});
  expect(nextAtMs).toBeLessThanOrEqual(startMs + DAY_MS);
  opened.clock.ms = nextAtMs as number;
  await opened.scope.work({});
  const { lastRunAt } = await opened.scope.retention({});
  expect(Date.parse(lastRunAt ?? '')).toBe(nextAtMs);
});

test('refused attempts go by a policy of their own', async () => {
  await using opened = await openKeeping({ denialsDays: 10 });
  const refused = () => expect(opened.run(guest, 'box/pack', { label: 'x' })).rejects.toThrow();
  await emit(opened, 2);
  for (let i = 0; i < 3; i++) await refused();
  expect(await opened.scope.listDenials({ limit: 10 })).not.toHaveProperty('prunedBefore');
  opened.clock.ms += 11 * DAY_MS;
  await refused();
  await runRetention(opened);
  const denials = await opened.scope.listDenials({ limit: 10 });
  expect(denials.items).toHaveLength(1);
  const prunedBefore = (await opened.scope.retention({})).denialsPrunedBefore;
  expect(denials.prunedBefore).toBe(prunedBefore);
  expect(Date.parse(prunedBefore ?? '')).toBeGreaterThan(opened.clock.ms - 11 * DAY_MS);
  expect(await opened.scope.summarizeDenials({ groupBy: 'actor' })).toMatchObject({ total: 1, prunedBefore });
  expect((await idsOf(opened)).length).toBe(2);
  expect(await historyOf(opened)).not.toHaveProperty('prunedBefore');
});

test('every read that may miss something says so, and no other does', async () => {
  await using opened = await openKeeping();
  // One event causes the next, a month apart.
  const chain: EventId[] = [];
  const invocations: string[] = [];
  const what = onScenario('goes on', (ctx) =>
    ctx.emit({ type: 'box.moved', entity: { type: 'box', id: 'b' } }),
  );
  for (let i = 0; i < 4; i++) {
    const cause = chain.at(-1);
    const { output, invocation } = await opened.scope.invoke({
      principal: owner,
      operation: 'test/run',
      input: { what },
      ...(cause === undefined ? {} : { cause }),
    });
    chain.push(output as EventId);
    invocations.push(invocation as string);
    opened.clock.ms += 20 * DAY_MS;
  }
  const [first, second, third, fourth] = chain as [EventId, EventId, EventId, EventId];
  expect(await opened.scope.cause({ event: fourth })).toMatchObject({ truncated: false });
  await runRetention(opened);
  // The clock stands between the third, which is kept, and the second, which is not.
  expect(await idsOf(opened)).toEqual([fourth]);
  const { historyPrunedBefore } = await opened.scope.retention({});
  expect((await historyOf(opened)).prunedBefore).toBe(historyPrunedBefore);
  const gone = { code: 'not_found', reason: 'history_pruned' };
  for (const event of [first, second, third]) {
    await expect(opened.scope.cause({ event })).rejects.toMatchObject(gone);
    await expect(opened.scope.effects({ event })).rejects.toMatchObject(gone);
  }
  await expect(opened.scope.invocation({ invocation: invocations[0] as never })).rejects.toMatchObject(gone);
  // Its cause is known by name, and not there.
  expect(await opened.scope.cause({ event: fourth })).toMatchObject({
    items: [{ id: fourth, cause: third }],
    truncated: true,
  });
  expect(await opened.scope.effects({ event: fourth })).toMatchObject({ truncated: false });
  expect(await opened.scope.invocation({ invocation: invocations[3] as never })).toMatchObject({
    truncated: false,
  });
  const facets = (days: number) =>
    opened.scope.facets({ groupBy: 'type', since: toTimestamp(opened.clock.ms - days * DAY_MS) });
  expect(await facets(29)).toMatchObject({ total: 1, truncated: false });
  expect(await facets(90)).toMatchObject({ total: 1, truncated: true });
  // An unknown event still differs from one that may have been removed.
  const never = firstIdAt('evt', opened.clock.ms) as EventId;
  await expect(opened.scope.cause({ event: never })).rejects.toMatchObject({ code: 'not_found' });
  await expect(opened.scope.cause({ event: never })).rejects.not.toMatchObject(gone);
});

test('what an old event set off, when that is gone: the walk says that it may have been cut', async () => {
  await using opened = await openKeeping();
  const { output } = await opened.run(owner, 'box/pack', { label: 'x' });
  const { box } = output as { box: string };
  const { items } = await opened.scope.history({ entity: { type: 'box', id: box }, limit: 1 });
  const packed = items[0]?.id as EventId;
  const what = onScenario('is set off', (ctx) =>
    ctx.emit({ type: 'box.moved', entity: { type: 'box', id: 'other' } }),
  );
  const setOff = { principal: owner, operation: 'test/run', input: { what }, cause: packed };
  await opened.scope.invoke(setOff);
  await emit(opened, 1, 'other');
  opened.clock.ms += 40 * DAY_MS;
  expect(await opened.scope.effects({ event: packed })).toMatchObject({ items: [{}], truncated: false });
  await runRetention(opened);
  // It is the last event of its own record, and so it is still there.
  expect(await opened.scope.effects({ event: packed })).toEqual({ items: [], truncated: true });
});

test('nothing is said to be gone as long as nothing went', async () => {
  await using opened = await openKeeping();
  await emit(opened, 1);
  opened.clock.ms += 400 * DAY_MS;
  await runRetention(opened);
  expect(await historyOf(opened)).toEqual({ items: [expect.anything()], nextCursor: null });
  expect((await opened.scope.retention({})).historyPrunedBefore).toBeNull();
});

test('what still waits for its delivery is kept, and so is what gave up lately', async () => {
  const dataDirectory = makeDirectory();
  const twice = { ...billing, on: ['box.moved'], attemptsMax: 1 };
  const open = (subscriptions: Vertical['subscriptions']) =>
    openShop({
      dataDirectory,
      vertical: keeping(POLICY, verticalWith({ subscriptions: subscriptions ?? {} })),
    });
  hooks.onBill = () => {
    throw new Error('not today');
  };
  let dead: EventId;
  let waiting: EventId;
  {
    await using opened = await open({ twice });
    [dead] = (await emit(opened, 1)) as [EventId];
    await opened.scope.work({});
    [waiting] = (await emit(opened, 1)) as [EventId];
    await emit(opened, 1, 'b', 'box.painted');
  }
  {
    await using opened = await open({
      twice: { ...twice, on: ['box.moved', 'box.stacked'], attemptsMax: 50 },
    });
    opened.clock.ms += 40 * DAY_MS;
    // It is tried once more by this, and waits again.
    await runRetention(opened);
    expect(await idsOf(opened)).toContain(waiting);
    expect(await idsOf(opened)).not.toContain(dead);
    expect((await opened.scope.deadLetters({ limit: 5 })).items).toEqual([]);
  }
  // When its subscriber is no longer declared, it goes too.
  await using opened = await open(undefined);
  opened.clock.ms += 42 * DAY_MS;
  await runRetention(opened);
  expect(await idsOf(opened)).not.toContain(waiting);
  expect(await rowsOf(opened, '_spine_deliveries', '_spine_dead_letters')).toEqual([0, 0]);
});

test('a dead letter that is younger than the policy keeps its event', async () => {
  const vertical = keeping(
    POLICY,
    verticalWith({ subscriptions: { late: { ...billing, on: ['box.moved'], attemptsMax: 1 } } }),
  );
  await using opened = await openShop({ vertical });
  hooks.onBill = () => {
    throw new Error('not today');
  };
  const [event] = (await emit(opened, 1)) as [EventId];
  await emit(opened, 1, 'b', 'box.painted');
  opened.clock.ms += 40 * DAY_MS;
  await runRetention(opened);
  expect((await opened.scope.deadLetters({ limit: 5 })).items).toMatchObject([{ event: { id: event } }]);
  hooks.onBill = () => undefined;
  await opened.scope.retryDeadLetter({ event, subscriber: 'late' });
  await opened.scope.work({});
  expect((await opened.scope.facets({ groupBy: 'type', type: 'bill.drafted' })).total).toBe(1);
});

test('requests to the platform go when they are settled, and never while they wait', async () => {
  await using opened = await openKeeping();
  const what = onScenario('asks thrice', (ctx) => [1, 2, 3].map(() => ctx.requestPlatform('mail.send')));
  const ids = (await opened.run(owner, 'test/run', { what })).output as string[];
  await opened.scope.settlePlatformRequest({ id: ids[0] as string, revision: 1, status: 'done' });
  opened.clock.ms += 25 * DAY_MS;
  await opened.scope.settlePlatformRequest({ id: ids[1] as string, revision: 1, status: 'done' });
  opened.clock.ms += 10 * DAY_MS;
  await runRetention(opened);
  const history = await opened.scope.platformRequestHistory({ limit: 10 });
  expect(history.items.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
  expect(history.prunedBefore).toBe((await opened.scope.retention({})).historyPrunedBefore);
});

test('kept answers that no repeat can ask for any more are cleared', async () => {
  await using opened = await openKeeping({});
  for (const idempotencyKey of ['a', 'b', 'c'])
    await opened.run(owner, 'box/pack', { label: 'x' }, { idempotencyKey });
  await runRetention(opened);
  opened.clock.ms += 2 * DAY_MS;
  await runRetention(opened);
  expect(await rowsOf(opened, '_spine_idempotency', '_spine_events')).toEqual([0, 3]);
});

test('ids go on increasing after all that was there is gone and the clock has stepped back', async () => {
  const dataDirectory = makeDirectory();
  const vertical = keeping({ historyDays: 1, denialsDays: 1 });
  const what = onScenario('makes an id', (ctx) => ctx.newId('box'));
  const ids: string[] = [];
  const take = async (opened: Opened) =>
    ids.push((await opened.run(owner, 'test/run', { what })).output as string);
  {
    await using opened = await openShop({ vertical, dataDirectory });
    for (let i = 0; i < 3; i++) await take(opened);
    opened.clock.ms += 30 * DAY_MS;
    await take(opened);
    opened.clock.ms += 30 * DAY_MS;
    await runRetention(opened);
    expect(await rowsOf(opened, '_spine_invocations')).toEqual([1]);
  }
  await using opened = await openShop({ vertical, dataDirectory });
  await take(opened);
  expect(ids).toEqual([...new Set(ids)].sort());
});

test('a policy that is delivered to one scope stands over the one that is declared', async () => {
  await using opened = await openKeeping({ historyDays: 30 });
  const deliver = (policy: unknown) =>
    opened.scope.projectSettings({ settings: { 'platform:retention': JSON.stringify(policy) } });
  await emit(opened, 2);
  opened.clock.ms += 40 * DAY_MS;
  await deliver({ historyDays: null, denialsDays: 5 });
  expect(await opened.scope.retention({})).toMatchObject({ historyDays: null, denialsDays: 5 });
  await runRetention(opened);
  expect(await idsOf(opened)).toHaveLength(2);
  for (const wrong of [{ historyDays: 0 }, { historyDays: 1.5 }, { historyDays: '30' }, { days: 3 }, 'x', 7])
    await expect(deliver(wrong)).rejects.toMatchObject({ reason: 'retention_invalid' });
  await expect(
    opened.scope.projectSettings({ settings: { 'platform:retention': '{' } }),
  ).rejects.toMatchObject({ code: 'validation_failed', reason: 'retention_invalid' });
  await opened.scope.projectSettings({ settings: {} });
  opened.clock.ms += DAY_MS;
  await runRetention(opened);
  expect(await idsOf(opened)).toHaveLength(1);
});

test('a policy cannot be delivered to a vertical without housekeeping', async () => {
  await using opened = await openShop();
  await expect(
    opened.scope.projectSettings({ settings: { 'platform:retention': '{"historyDays":3}' } }),
  ).rejects.toMatchObject({ code: 'validation_failed', reason: 'retention_invalid' });
});

test.each([{ historyDays: 0 }, { denialsDays: 0.5 }, { historyDays: 40_000 }, { weeks: 2 }])(
  'a vertical whose policy is %j fails at start',
  (retention) => {
    expect(() => keeping(retention as RetentionPolicy)).toThrow('retention');
  },
);

test('the runner has it done, day by day, without anybody asking', async () => {
  const vertical = keeping();
  await using opened = await openShop({ vertical });
  const timers = new Set<{ readonly atMs: number; readonly task: () => void }>();
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
    onIncident: (error) => {
      throw error;
    },
  });
  await emit(opened, 2 * BATCH_ROWS);
  await runner.resume([scopeId]);
  await runner.idle();
  while ((await rowsOf(opened, '_spine_events'))[0] !== 1) {
    const [timer] = timers;
    expect(timer).toBeDefined();
    opened.clock.ms = Math.max(opened.clock.ms, timer?.atMs ?? 0);
    if (timer) timers.delete(timer);
    timer?.task();
    await runner.idle();
  }
  expect(opened.clock.ms).toBeGreaterThan(Date.UTC(2026, 0, 31));
  await runner.stop();
});

test('a log that cannot be pruned is in the way of nothing else, and is tried again', async () => {
  const dataDirectory = makeDirectory();
  const vertical = keeping(POLICY, verticalWith({ subscriptions: { billing } }));
  hooks.onBill = () => undefined;
  {
    await using opened = await openShop({ vertical, dataDirectory });
    await emit(opened, 2);
    await opened.scope.work({});
  }
  withDatabase(dataDirectory, (db) =>
    db.exec(`CREATE TRIGGER hold BEFORE DELETE ON _spine_events BEGIN SELECT RAISE(ABORT, 'held'); END`),
  );
  await using opened = await openShop({ vertical, dataDirectory });
  opened.clock.ms += 40 * DAY_MS;
  await opened.run(owner, 'box/pack', { label: 'x' });
  const { settled, nextAtMs } = await opened.scope.work({});
  expect(settled).toBe(1);
  expect(nextAtMs).toBe(opened.clock.ms + 3_600_000);
  expect(opened.incidents.map(String)).toContainEqual(expect.stringContaining('held'));
  expect((await historyOf(opened)).prunedBefore).toBeUndefined();
});

test('a rewind to before brings back what went, and the next round takes it away again', async () => {
  await using opened = await openKeeping();
  await emit(opened, 5);
  opened.clock.ms += 31 * DAY_MS;
  await emit(opened, 1);
  const { current } = await opened.host.migrationBookmarksLocal({ ...ref, limit: 1 });
  await runRetention(opened);
  expect(await idsOf(opened)).toHaveLength(1);
  await opened.host.rewindScopeLocal({ ...ref, bookmark: current?.bookmark as string });
  expect(await idsOf(opened)).toHaveLength(6);
  expect((await historyOf(opened)).prunedBefore).toBeUndefined();
  await runRetention(opened);
  expect(await idsOf(opened)).toHaveLength(1);
});

const anEvent = fc.record({
  record: fc.constantFrom('a', 'b', 'c'),
  ageDays: fc.integer({ min: 0, max: 60 }),
});

test('of any log, exactly that is left which is young enough or the last of its record', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anEvent, { maxLength: 40 }), async (events) => {
      await using opened = await openKeeping();
      const endMs = opened.clock.ms + 60 * DAY_MS;
      const all: { id: string; record: string; atMs: number }[] = [];
      for (const { record, ageDays } of events.toSorted((x, y) => y.ageDays - x.ageDays)) {
        // Not on the edge of a day, because the rounds take a moment.
        opened.clock.ms = Math.max(opened.clock.ms + 1, endMs - ageDays * DAY_MS + 43_200_000);
        const [id] = await emit(opened, 1, record);
        all.push({ id: id as string, record, atMs: opened.clock.ms });
      }
      opened.clock.ms = endMs + DAY_MS;
      await runRetention(opened);
      const cutoffMs = Date.parse((await opened.scope.retention({})).lastRunAt ?? '') - 30 * DAY_MS;
      const isLast = ({ id, record }: { id: string; record: string }) =>
        all.findLast((each) => each.record === record)?.id === id;
      for (const record of ['a', 'b', 'c']) {
        const left = all.filter((each) => each.record === record && (each.atMs >= cutoffMs || isLast(each)));
        expect(await idsOf(opened, record)).toEqual(left.map(({ id }) => id));
      }
    }),
    { numRuns: 15 },
  );
}, 60_000);
