/** Scheduled backups: each is audited work of its own, and so is each deletion. */
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, refusal } from '../../test/platform.ts';
import type { BackupRecord, OperationRecord, ScopeRecord } from '../admin-operations.ts';
import type { BackupLine } from './maintenance.ts';
import { type BackupPolicy, isDue } from './schedule.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A simulated day is a few dozen commits to the disk. */
const SLOW_MS = 60_000;
const POLICY: BackupPolicy = { everyMs: DAY_MS, keepDaily: 7, keepWeekly: 4 };

async function open(policy = POLICY) {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups });
  const stopping = new AbortController();
  const sweep = async (): Promise<BackupLine[]> => {
    const lines: BackupLine[] = [];
    for await (const line of platform.admin.backups.sweep(policy, stopping.signal)) lines.push(line);
    return lines;
  };
  /** One sweep a day. */
  const pass = async (days: number): Promise<void> => {
    for (let day = 0; day < days; day++) {
      platform.clock.ms += DAY_MS;
      await sweep();
    }
  };
  const listed = async ({ tenant, id }: ScopeRecord) =>
    (
      await platform.value<{ items: BackupRecord[] }>('scope-backups.list', {
        params: { tenant, scope: id },
        query: { limit: 200 },
      })
    ).items;
  const ofDirectory = async () =>
    (await platform.value<{ items: BackupRecord[] }>('directory-backups.list', { query: { limit: 200 } }))
      .items;
  const setStatus = (scope: ScopeRecord, status: string) =>
    platform.call('scopes.set-status', {
      params: { tenant: scope.tenant, scope: scope.id },
      body: { status },
    });
  const acme = await platform.tenant('acme');
  const scope = await platform.scope(acme.id);
  return { platform, backups, sweep, pass, listed, ofDirectory, setStatus, acme, scope, stopping };
}

const daysOf = (backups: readonly BackupRecord[]) => backups.map(({ at }) => at.slice(0, 10));

describe('spec C-19, C-31: backups are made without an order', () => {
  test('the directory and each live scope once in each interval, and never a test scope', async () => {
    const { platform, sweep, listed, ofDirectory, acme, scope } = await open();
    const trial = await platform.value<ScopeRecord>('scopes.provision', {
      params: { tenant: acme.id },
      body: { slug: 'trial', name: 'Trial', vertical: 'fieldwork', kind: 'test' },
    });
    const swept = { kind: 'backup', outcome: 'swept', reason: 'backed_up' };
    expect(await sweep()).toEqual([
      { ...swept, unit: 'directory' },
      { ...swept, unit: scope.id, tenant: acme.id, scope: scope.id, vertical: 'fieldwork' },
    ]);
    expect(await sweep()).toEqual([]);
    expect(await listed(scope)).toMatchObject([{ kind: 'scope', origin: 'scheduled', format: 'ndjson' }]);
    expect(await ofDirectory()).toMatchObject([{ kind: 'directory', origin: 'scheduled' }]);
    expect(await listed(trial)).toEqual([]);
    platform.clock.ms += DAY_MS;
    expect(await sweep()).toHaveLength(2);
  });

  test('each is long work of the platform itself, logged under its name and without a token', async () => {
    const { platform, sweep, scope } = await open();
    await sweep();
    const { items } = await platform.value<{ items: OperationRecord[] }>('operations.list');
    const startedBy = { kind: 'system', id: 'backups' };
    expect(items).toMatchObject([
      { name: 'scope-backups.create', state: 'done', startedBy, scope: scope.id },
      { name: 'directory-backups.create', state: 'done', startedBy },
    ]);
    const log = await platform.adminLog({ action: 'scope-backups.create' });
    expect(log).toMatchObject([
      { outcome: 'intent', actor: startedBy, token: null },
      { outcome: 'done', actor: startedBy, token: null, after: { origin: 'scheduled' } },
    ]);
    expect(await platform.value('admin-log.verify')).toMatchObject({ firstBad: null });
  });

  test('suspended scopes are backed up too; archived ones get nothing new, and their backups stay', async () => {
    const { sweep, pass, listed, setStatus, scope } = await open();
    await setStatus(scope, 'suspended');
    await sweep();
    expect(await listed(scope)).toHaveLength(1);
    await setStatus(scope, 'archived');
    const before = await listed(scope);
    await pass(9);
    expect(await listed(scope)).toEqual(before);
  });

  test('no caller from outside acts as the platform itself', async () => {
    const { platform } = await open();
    const as = { kind: 'system', id: 'backups', name: 'x' } as const;
    expect(await refusal(platform.call('directory-backups.create', { body: {}, as }))).toMatchObject({
      code: 'forbidden',
    });
  });

  test('a platform that stops meanwhile leaves the work to the next process', async () => {
    const { sweep, backups, stopping, platform, listed, scope } = await open();
    const held = Promise.withResolvers<void>();
    backups.beforePut = async () => {
      stopping.abort();
      await held.promise;
    };
    expect(await sweep()).toEqual([]);
    const stopped = platform.admin.stopLongWork();
    held.resolve();
    await stopped;
    backups.beforePut = null;
    expect(await listed(scope)).toEqual([]);
  });
});

describe('expired backups are deleted', () => {
  test(
    'the newest of some days and weeks is retained, and a backup that a person ordered for ever',
    async () => {
      const { platform, backups, sweep, pass, listed, ofDirectory, scope } = await open({
        ...POLICY,
        keepDaily: 3,
        keepWeekly: 2,
      });
      const params = { tenant: scope.tenant, scope: scope.id };
      const ordered = (await platform.finish(platform.call('scope-backups.create', { params, body: {} })))
        .result as BackupRecord;
      expect(ordered.origin).toBe('taken');
      await sweep();
      await pass(15);
      // Three days, and the Sunday before this one.
      const stored = ['2026-12-06', '2026-12-05', '2026-12-04', '2026-11-29'];
      expect(daysOf(await ofDirectory())).toEqual(stored);
      expect(daysOf(await listed(scope))).toEqual([...stored, '2026-11-21']);
      expect((await listed(scope)).at(-1)).toEqual(ordered);
      const addresses = [...(await listed(scope)), ...(await ofDirectory())].map(({ address }) => address);
      expect([...backups.stored.keys()].sort()).toEqual(addresses.sort());
      // One pair of rows for a whole sweep, under the name of the platform; none for each copy.
      expect(await platform.adminLog({ action: 'scope-backups.delete' })).toEqual([]);
      expect(await platform.adminLog({ action: 'directory-backups.delete' })).toEqual([]);
      const log = await platform.adminLog({ action: 'backups.expire' });
      const intents = log.filter(({ outcome }) => outcome === 'intent');
      const ids = intents.flatMap(({ after }) => [after?.backups].flat());
      expect(ids).toHaveLength(2 * (16 - stored.length));
      expect(new Set(ids).size).toBe(ids.length);
      expect(intents.length).toBeLessThan(16);
      expect(log).toHaveLength(2 * intents.length);
      for (const row of log)
        expect(row).toMatchObject({ actor: { kind: 'system', id: 'backups' }, token: null });
      expect(await platform.value('admin-log.verify')).toMatchObject({ firstBad: null });
    },
    SLOW_MS,
  );

  test(
    'while the newest backups fail, the older stay; each failure is a row with its reason',
    async () => {
      const { backups, sweep, pass, listed, ofDirectory, scope, platform } = await open();
      await sweep();
      await pass(8);
      const before = [await listed(scope), await ofDirectory()];
      backups.fault = 'put';
      platform.clock.ms += DAY_MS;
      expect(await sweep()).toMatchObject([
        { unit: 'directory', outcome: 'failed', reason: 'unavailable' },
        { unit: scope.id, outcome: 'failed', reason: 'unavailable' },
      ]);
      // It is not tried again at once.
      expect(await sweep()).toEqual([]);
      await pass(9);
      expect([await listed(scope), await ofDirectory()]).toEqual(before);
      backups.fault = null;
      platform.clock.ms += DAY_MS;
      expect(await sweep()).toMatchObject([{ outcome: 'swept' }, { outcome: 'swept' }]);
      expect(await listed(scope)).toHaveLength(before[0]?.length ?? 0);
    },
    SLOW_MS,
  );

  test('a backup that cannot be deleted is reported, and deleted by a later sweep', async () => {
    const { backups, sweep, pass, listed, scope, platform } = await open({
      ...POLICY,
      keepDaily: 1,
      keepWeekly: 0,
    });
    await sweep();
    await pass(1);
    backups.fault = 'delete';
    platform.clock.ms += DAY_MS;
    expect(await sweep()).toMatchObject([
      { unit: 'directory', outcome: 'swept', reason: 'backed_up' },
      { unit: scope.id, outcome: 'swept', reason: 'backed_up' },
      { unit: 'directory', outcome: 'failed', reason: 'expiry_failed' },
      { unit: scope.id, outcome: 'failed', reason: 'expiry_failed' },
    ]);
    const [intent, end] = (await platform.adminLog({ action: 'backups.expire' })).slice(-2);
    expect(intent).toMatchObject({ outcome: 'intent' });
    expect(end).toMatchObject({ outcome: 'failed', code: 'unavailable', intent: intent?.sequence });
    backups.fault = null;
    await pass(1);
    expect(await listed(scope)).toHaveLength(1);
    expect(backups.stored.size).toBe(2);
  });

  test('a crash between the intent and its outcome is settled by the next sweep, and no backup is listed without bytes', async () => {
    const { backups, sweep, pass, listed, ofDirectory, scope, platform } = await open({
      ...POLICY,
      keepDaily: 1,
      keepWeekly: 0,
    });
    // No backup falls due in the hours of this test: the slot of the scope follows from its random id.
    const isDueSoon = (unit: string): boolean =>
      isDue(unit, {
        newestAtMs: platform.clock.ms,
        everyMs: DAY_MS,
        nowMs: platform.clock.ms + 2 * HOUR_MS,
      });
    while (isDueSoon('directory') || isDueSoon(scope.id)) platform.clock.ms += HOUR_MS;
    await sweep();
    const [firstOfDirectory] = await ofDirectory();
    const [first] = await listed(scope);
    // The process dies after the bytes of one copy were deleted.
    const remove = backups.delete;
    const died = Promise.withResolvers<void>();
    backups.delete = async (address) => {
      await remove(address);
      died.resolve();
      await new Promise(() => undefined);
    };
    void pass(1);
    await died.promise;
    await platform.tamper(() => undefined);
    backups.delete = remove;
    expect(await platform.adminLog({ outcome: 'unsettled' })).toMatchObject([
      { action: 'backups.expire', after: { backups: [firstOfDirectory?.id, first?.id] } },
    ]);
    expect(backups.stored.size).toBe(3);
    // Until the lease has run out, another process may still be deleting.
    await sweep();
    expect(await listed(scope)).toHaveLength(2);
    platform.clock.ms += HOUR_MS;
    await sweep();
    expect(await listed(scope)).toHaveLength(1);
    expect(await ofDirectory()).toHaveLength(1);
    expect(backups.stored.size).toBe(2);
    const log = await platform.adminLog({ action: 'backups.expire' });
    expect(log).toHaveLength(2);
    expect(log[1]).toMatchObject({
      outcome: 'done',
      intent: log[0]?.sequence,
      after: { backups: [firstOfDirectory?.id, first?.id], left: 0 },
    });
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });

  test('a reaped scope keeps its scheduled backups as long as others would, and the one of its end for ever', async () => {
    const { sweep, pass, listed, setStatus, scope, platform } = await open({ ...POLICY, keepWeekly: 0 });
    await sweep();
    await setStatus(scope, 'archived');
    const params = { tenant: scope.tenant, scope: scope.id };
    const reap = await platform.finish(platform.call('scopes.reap', { params, body: { backup: true } }));
    expect(reap.state).toBe('done');
    await pass(7);
    expect((await listed(scope)).map(({ origin }) => origin)).toEqual(['reap', 'scheduled']);
    await pass(1);
    expect((await listed(scope)).map(({ origin }) => origin)).toEqual(['reap']);
  });

  test.each([
    [false, []],
    [true, ['reap']],
  ] as const)('a tenant that was reaped (backup: %s) leaves no scheduled backup', async (backup, left) => {
    const { sweep, listed, scope, acme, platform, backups } = await open();
    await sweep();
    const params = { tenant: acme.id };
    await platform.call('tenants.set-status', { params, body: { status: 'deleting' } });
    // No backup is made during the reap.
    platform.clock.ms += DAY_MS;
    expect(await sweep()).toMatchObject([{ unit: 'directory' }]);
    const reap = await platform.finish(platform.call('tenants.reap', { params, body: { backup } }));
    expect(reap.state).toBe('done');
    await sweep();
    expect((await listed(scope)).map(({ origin }) => origin)).toEqual(left);
    expect([...backups.stored.keys()].filter((address) => address.startsWith('scopes/'))).toHaveLength(
      left.length,
    );
  });
});

describe('a clock that was ahead', () => {
  test('stops nothing: a backup dated into the future does not count until its day has come', async () => {
    const { platform, sweep, pass, listed, ofDirectory, scope } = await open();
    await sweep();
    platform.clock.ms += 60 * DAY_MS;
    expect(await sweep()).toHaveLength(2);
    platform.clock.ms -= 60 * DAY_MS;
    await pass(3);
    const days = ['2027-01-20', '2026-11-24', '2026-11-23', '2026-11-22', '2026-11-21'];
    // By their time, not in the order in which they were made.
    expect(
      daysOf(await listed(scope))
        .toSorted()
        .reverse(),
    ).toEqual(days);
    expect(
      daysOf(await ofDirectory())
        .toSorted()
        .reverse(),
    ).toEqual(days);
    // Nor are backups repeated until then.
    expect(await sweep()).toEqual([]);
  });

  test('expires nothing of a reaped scope', async () => {
    const { platform, sweep, pass, listed, setStatus, scope } = await open({ ...POLICY, keepWeekly: 0 });
    await sweep();
    await setStatus(scope, 'archived');
    const params = { tenant: scope.tenant, scope: scope.id };
    await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
    platform.clock.ms += 60 * DAY_MS;
    await sweep();
    platform.clock.ms += HOUR_MS;
    await sweep();
    expect(await listed(scope)).toHaveLength(1);
    platform.clock.ms -= 60 * DAY_MS + HOUR_MS;
    await pass(7);
    expect(await listed(scope)).toHaveLength(1);
    await pass(1);
    expect(await listed(scope)).toEqual([]);
  });

  test('a failure while it was ahead does not delay the next attempt', async () => {
    const { platform, backups, sweep, scope } = await open();
    platform.clock.ms += 60 * DAY_MS;
    backups.fault = 'put';
    expect(await sweep()).toMatchObject([
      { unit: 'directory', reason: 'unavailable' },
      { unit: scope.id, reason: 'unavailable' },
      { unit: scope.id, reason: 'overdue' },
    ]);
    backups.fault = null;
    platform.clock.ms -= 60 * DAY_MS;
    expect(await sweep()).toMatchObject([{ outcome: 'swept' }, { outcome: 'swept' }]);
  });
});

describe('a scope that cannot be backed up does not hold up others', () => {
  test('while other work on it is not finished, it is skipped', async () => {
    const { platform, backups, sweep, scope } = await open();
    const held = Promise.withResolvers<void>();
    backups.beforePut = async () => {
      backups.beforePut = null;
      await held.promise;
    };
    const params = { tenant: scope.tenant, scope: scope.id };
    const busy = await platform.call('scope-backups.create', { params, body: {} });
    expect(await sweep()).toMatchObject([
      { unit: 'directory', outcome: 'swept' },
      { unit: scope.id, outcome: 'skipped', reason: 'operation_running' },
    ]);
    held.resolve();
    await platform.finish(busy);
    expect(await sweep()).toMatchObject([{ unit: scope.id, outcome: 'swept' }]);
  });

  test('where neither a worker nor a host answers for its vertical, it is skipped', async () => {
    const { platform, sweep, scope } = await open();
    platform.reach = 'none';
    expect(await sweep()).toMatchObject([
      { unit: 'directory', outcome: 'swept' },
      { unit: scope.id, outcome: 'skipped' },
    ]);
  });

  test('when the place for backups fails three times in a row, nothing is tried for an hour', async () => {
    const { platform, backups, sweep, acme } = await open();
    for (const slug of ['b', 'c', 'd', 'e']) await platform.scope(acme.id, slug);
    backups.fault = 'put';
    expect(await sweep()).toHaveLength(3);
    platform.clock.ms += HOUR_MS - 1;
    backups.fault = null;
    expect(await sweep()).toEqual([]);
    platform.clock.ms += 1;
    expect((await sweep()).map(({ outcome }) => outcome)).toEqual(Array(6).fill('swept'));
  });
});

test('without a place for backups nothing is made or reported', async () => {
  const platform = await openPlatform();
  await platform.tenant('acme');
  const sweep = platform.admin.backups.sweep(POLICY, new AbortController().signal);
  expect(await sweep.next()).toEqual({ done: true, value: false });
});
