/**
 * Scheduled backups of a fleet that is larger than a sweep, with parts that fail: order, and reports of overdue units.
 */
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { type BackupLine, type BackupMaintenanceDeps, makeBackupMaintenance } from './maintenance.ts';
import type { BackupPolicy, ScheduledCopy, UnitOfBackups } from './schedule.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START_MS = Date.UTC(2026, 10, 1);
const POLICY: BackupPolicy = { everyMs: DAY_MS, keepDaily: 7, keepWeekly: 4 };
const HEAD = { sequence: 1, hash: 'h' };

interface Fleet {
  readonly scopes: number;
  /** Default: all of `fieldwork`. */
  readonly verticalOf?: (index: number) => string;
  readonly fails?: (key: string, nowMs: number) => 'vertical' | 'store' | null;
}

/** The sweep over a fleet in memory, where each backup takes a second. */
function fleetOf({ scopes, verticalOf = () => 'fieldwork', fails = () => null }: Fleet) {
  const ids = Array.from({ length: scopes }, (_, i) => `scp_${String(i).padStart(6, '0')}` as ScopeId);
  const copies = new Map<string, ScheduledCopy[]>();
  const ended = new Map<string, object>();
  const state = { ms: START_MS, faults: 0, begun: [] as string[] };
  const unitOf = (scope: ScopeId): UnitOfBackups => ({
    ...{ scope, tenant: 'tnt_1' as TenantId, vertical: verticalOf(ids.indexOf(scope)), state: 'kept' },
    ...{ createdAtMs: START_MS, newestAtMs: copies.get(scope)?.at(-1)?.atMs ?? null },
    oldestAtMs: copies.get(scope)?.[0]?.atMs ?? null,
  });
  const begin = (key: string): object => {
    state.begun.push(key);
    const why = fails(key, state.ms);
    if (why === 'store') state.faults += 1;
    if (why) return { state: 'failed', finishedAt: 'now', problem: { code: 'unavailable' } };
    state.ms += 1000;
    const made = { id: `bkp_${key}_${state.ms}`, atMs: state.ms };
    copies.set(key, [...(copies.get(key) ?? []), made]);
    return { state: 'done', finishedAt: 'now' };
  };
  const directory: BackupMaintenanceDeps['directory'] = {
    unitsToBackUp: async ({ after }) =>
      ids
        .filter((scope) => after === null || scope > after)
        .slice(0, 200)
        .map(unitOf),
    scheduledBackups: async ({ scope }) => (copies.get(scope ?? 'directory') ?? []).toReversed(),
    directoryTimes: async () => [],
    leftExpiries: async () => [],
    beginExpiry: async ({ ids }) => ({
      head: HEAD,
      intent: 1,
      copies: ids.map((id) => ({ id, address: id })),
    }),
    resumeExpiry: async () => {
      throw new TypeError('nothing was left');
    },
    settleExpiry: async ({ ids }) => {
      const gone = new Set(ids);
      for (const [key, some] of copies)
        copies.set(
          key,
          some.filter(({ id }) => !gone.has(id)),
        );
      return HEAD;
    },
    leaveExpiry: async () => null,
  };
  const maintenance = makeBackupMaintenance({
    directory,
    backups: makeMemoryBackups(),
    storeFaults: () => state.faults,
    now: () => state.ms,
    newRequestId: () => 'req_1',
    publish: async () => undefined,
    begin: async ({ params }) => {
      const key = String(params.scope ?? 'directory');
      const id = `op_${state.begun.length}`;
      ended.set(id, { id, ...begin(key) });
      return { status: 202, value: { id }, replayed: false };
    },
    waitFor: async ({ params }) => ({
      status: 200,
      value: ended.get(String(params.operation)),
      replayed: false,
    }),
    incident: (error) => {
      throw error;
    },
  });
  const sweep = async (policy = POLICY) => {
    const lines: BackupLine[] = [];
    const run = maintenance.sweep(policy, new AbortController().signal);
    for (;;) {
      const { done, value } = await run.next();
      if (done) return { lines, more: value };
      lines.push(value);
    }
  };
  /** A sweep every ten minutes; `follows`: repeated at once where the sweep says so, as the job does. */
  const pass = async (hours: number, { policy = POLICY, follows = false } = {}): Promise<BackupLine[]> => {
    const all: BackupLine[] = [];
    for (const untilMs = state.ms + hours * HOUR_MS; state.ms < untilMs; ) {
      const nextMs = state.ms + HOUR_MS / 6;
      for (let more = true; more; ) {
        const result = await sweep(policy);
        all.push(...result.lines);
        more = follows && result.more;
      }
      state.ms = Math.max(state.ms, nextMs);
    }
    return all;
  };
  /** Ages in hours of the scopes that can be backed up, the oldest first. */
  const ages = (): number[] =>
    ids
      .filter((id) => fails(id, state.ms) === null)
      .map((id) => (state.ms - (copies.get(id)?.at(-1)?.atMs ?? START_MS)) / HOUR_MS)
      .sort((a, b) => b - a);
  const never = (): string[] => ids.filter((id) => !copies.has(id) && fails(id, state.ms) === null);
  return { ids, state, sweep, pass, ages, never, copies };
}

describe('spec C-19: a fleet that is larger than a sweep', () => {
  test('every scope is backed up although no sweep gets through: the longest waiting comes first', async () => {
    // 600 an hour are made, and 800 are due.
    const { pass, never, ages } = fleetOf({ scopes: 800 });
    await pass(12, { policy: { ...POLICY, everyMs: HOUR_MS } });
    expect(never()).toEqual([]);
    expect(ages()[0]).toBeLessThan(2);
  });

  test('one sweep backs up a hundred, and tells that it could go on', async () => {
    const { sweep, state, copies } = fleetOf({ scopes: 150 });
    expect(await sweep()).toMatchObject({ more: true });
    // The directory is one of them.
    expect(state.begun).toHaveLength(100);
    expect(await sweep()).toMatchObject({ more: false });
    expect(copies.size).toBe(151);
  });

  test('a scope without a backup comes before one with an old backup', async () => {
    const { ids, sweep, state, copies } = fleetOf({ scopes: 150 });
    for (const id of ids.slice(0, 120)) copies.set(id, [{ id: `bkp_${id}`, atMs: START_MS - 3 * DAY_MS }]);
    await sweep();
    expect(state.begun.slice(1, 31)).toEqual(ids.slice(120));
  });

  test('units that have waited for two intervals are reported: ten of them, once an hour', async () => {
    const { pass } = fleetOf({ scopes: 1500 });
    const lines = await pass(4, { policy: { ...POLICY, everyMs: HOUR_MS } });
    const late = lines.filter(({ reason }) => reason === 'overdue');
    expect(late).toHaveLength(20);
    expect(late[0]).toMatchObject({
      kind: 'backup',
      outcome: 'failed',
      tenant: 'tnt_1',
      vertical: 'fieldwork',
    });
  });

  test('the directory is reported like any other unit', async () => {
    const { pass } = fleetOf({
      scopes: 1,
      fails: (key, nowMs) => (key === 'directory' && nowMs > START_MS ? 'vertical' : null),
    });
    const lines = await pass(72);
    expect(lines.find(({ reason }) => reason === 'overdue')).toMatchObject({ unit: 'directory' });
  });

  test('a unit that cannot be backed up is reported as overdue too, long after its attempts have become rare', async () => {
    const { ids, pass } = fleetOf({ scopes: 5, fails: (scope) => (scope.endsWith('3') ? 'vertical' : null) });
    const lines = await pass(72);
    const late = lines.filter(({ reason }) => reason === 'overdue').map(({ unit }) => unit);
    expect(new Set(late)).toEqual(new Set([ids[3]]));
    expect(late.length).toBeGreaterThan(20);
  });
});

describe('spec C-19: broken parts do not stop the others', () => {
  test('a vertical whose backups all fail: the other verticals are backed up in the same sweep', async () => {
    const { sweep, ages, state, never } = fleetOf({
      scopes: 90,
      verticalOf: (i) => (i < 40 ? 'broken' : 'fieldwork'),
      fails: (key) => (key.startsWith('scp_') && key < 'scp_000040' ? 'vertical' : null),
    });
    const { lines } = await sweep();
    expect(never()).toEqual([]);
    expect(ages()[0]).toBeLessThan(1);
    // Three failures in a row, and no more of this vertical in this sweep.
    expect(lines.filter(({ outcome }) => outcome === 'failed')).toHaveLength(3);
    expect(state.begun.filter((key) => key.startsWith('scp_') && key < 'scp_000040')).toHaveLength(3);
  });

  test('many failing scopes of one vertical: its other scopes are backed up within the day', async () => {
    const fails = (key: string) =>
      key.startsWith('scp_') && key < 'scp_000060' ? ('vertical' as const) : null;
    const { pass, never, ages } = fleetOf({ scopes: 500, fails });
    await pass(24);
    expect(never()).toEqual([]);
    await pass(24);
    expect(ages()[0]).toBeLessThan(48);
  });

  test('when the place for backups fails, three are tried and then none for an hour', async () => {
    const { sweep, state } = fleetOf({
      scopes: 50,
      verticalOf: (i) => `v${i}`,
      fails: (_scope, nowMs) => (nowMs < START_MS + HOUR_MS ? 'store' : null),
    });
    expect((await sweep()).lines).toHaveLength(3);
    state.ms += HOUR_MS - 1;
    expect(await sweep()).toEqual({ lines: [], more: false });
    state.ms += 1;
    expect((await sweep()).lines).toHaveLength(51);
  });
});

test('only failures of the place itself count as its failures', async () => {
  const { watchStore } = await import('./backup-store.ts');
  const memory = makeMemoryBackups();
  const { store, faults } = watchStore(memory);
  const broken = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new PlatformError('unavailable', 'The application is down.')),
  });
  await expect(store.put('a', broken)).rejects.toThrow();
  expect(faults()).toBe(0);
  memory.fault = 'put';
  await expect(store.put('a', new Response('x').body as ReadableStream<Uint8Array>)).rejects.toThrow();
  expect(faults()).toBe(1);
  memory.fault = 'open';
  await expect(store.open('a')).rejects.toThrow();
  memory.fault = 'delete';
  await expect(store.delete('a')).rejects.toThrow();
  expect(faults()).toBe(3);
  memory.fault = null;
  await store.put('a', new Response('x').body as ReadableStream<Uint8Array>);
  expect(memory.stored.get('a')).toBe('x');
});
