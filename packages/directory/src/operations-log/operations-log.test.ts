/** The log of the platform's own work, on the real engine: written by its wiring, read by staff and by builders. */
import { describe, expect, test } from 'vitest';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { OpsFailureRecord, SweepRunRecord } from '../admin-operations.ts';
import type { SweepUnit } from './recorder.ts';

const runs = async (platform: Platform, query = {}, as?: Parameters<Platform['call']>[1]) =>
  (await platform.value<{ items: SweepRunRecord[] }>('sweep-runs.list', { query, ...as })).items;
const failures = async (platform: Platform, query = {}, as?: Parameters<Platform['call']>[1]) =>
  (await platform.value<{ items: OpsFailureRecord[] }>('ops-failures.list', { query, ...as })).items;

async function openTwo() {
  const platform = await openPlatform();
  const ours = await platform.scope((await platform.tenant('ours')).id);
  const theirs = await platform.scope((await platform.tenant('theirs')).id);
  const at = { tenant: ours.tenant, scope: ours.id, vertical: 'fieldwork' };
  const elsewhere = { tenant: theirs.tenant, scope: theirs.id, vertical: 'fieldwork' };
  return { platform, ours, theirs, at, elsewhere };
}

describe('spec C-31: one row a unit swept', () => {
  test('whatever kind it is of: a connection, a schedule, a verdict on freshness', async () => {
    const { platform, at } = await openTwo();
    const units: SweepUnit[] = [
      { kind: 'connection', unit: 'con_1', ...at, outcome: 'swept', reason: 'refreshed' },
      { kind: 'connection', unit: 'con_2', ...at, outcome: 'skipped', reason: 'not_due' },
      { kind: 'connection', unit: 'con_3', ...at, outcome: 'failed', reason: 'provider_unavailable' },
      { kind: 'schedule', unit: 'nightly', ...at, outcome: 'ran' },
      { kind: 'freshness', unit: 'orders-feed', ...at, outcome: 'stale', reason: 'two_days_old' },
      { kind: 'freshness', unit: 'platform', outcome: 'fresh' },
    ];
    const totals = await platform.admin.recordSweep(units);
    expect(totals).toEqual({ run: expect.any(String), units: 6, failed: 1 });
    const rows = (await runs(platform)).reverse();
    expect(rows).toMatchObject(units);
    expect(new Set(rows.map(({ run }) => run))).toEqual(new Set([totals.run]));
    expect(rows.at(-1)).toMatchObject({ tenant: null, scope: null, vertical: null, reason: null });
    // A stale or skipped unit is no failure of the platform.
    expect(await failures(platform)).toMatchObject([{ subject: 'con_3' }]);
  });

  test('what connections.sweep() yields fits as it is', async () => {
    const provider = makeKeyProvider();
    const platform = await openPlatform({ connections: provider.options });
    const tenant = await platform.tenant('acme');
    const scope = await platform.scope(tenant.id);
    const connect = (account: string) =>
      platform.value<{ id: string }>('connections.create', {
        params: { tenant: tenant.id },
        body: { provider: 'ledger', scope: scope.id, subjectRef: account, apiKey: `key-of-${account}` },
      });
    const [good, bad] = [await connect('ada-1'), await connect('bob-1')];
    platform.clock.ms += 25 * 60 * 60 * 1000;
    provider.withdrawn.add('key-of-bob-1');
    const { admin } = platform;
    expect(await admin.recordConnectionSweep(admin.connections.sweep())).toMatchObject({
      units: 2,
      failed: 1,
    });
    expect(await admin.recordConnectionSweep(admin.connections.sweep())).toMatchObject({
      units: 2,
      failed: 0,
    });
    const told = (await runs(platform)).map(({ unit, outcome, reason }) => [unit, outcome, reason]);
    expect(told).toEqual([
      [bad.id, 'skipped', 'broken'],
      [good.id, 'skipped', 'not_due'],
      [bad.id, 'failed', 'provider_refused'],
      [good.id, 'swept', 'verified'],
    ]);
    expect(await failures(platform)).toMatchObject([
      { operation: 'sweep.connection', subject: bad.id, tenant: tenant.id, reason: 'provider_refused' },
    ]);
  });

  test('an unusual word of a provider’s does not end the sweep over connections', async () => {
    const { platform, at } = await openTwo();
    async function* lines() {
      for (const [connection, reason] of [
        ['con_1', 'Quota exceeded: 100%'],
        ['con_2', 'verified'],
      ] as const)
        yield { connection, ...at, provider: 'ledger', outcome: 'failed', reason } as const;
    }
    expect(await platform.admin.recordConnectionSweep(lines())).toMatchObject({ units: 2 });
    expect((await runs(platform)).map(({ unit, reason }) => [unit, reason])).toEqual([
      ['con_2', 'verified'],
      ['con_1', 'unknown'],
    ]);
  });

  test('an outcome that its kind cannot have is refused, and what came before it stays written down', async () => {
    const { platform, at } = await openTwo();
    const good = { kind: 'schedule', unit: 'a', ...at, outcome: 'ran' } as const;
    for (const bad of [
      { ...good, outcome: 'swept' },
      { ...good, kind: 'backup' },
      { ...good, tenant: 'acme' },
      { ...good, reason: 'Ada has called' },
      { ...good, secret: 'x' },
    ])
      expect(await refusal(platform.admin.recordSweep([good, bad as never]))).toMatchObject({ status: 400 });
    expect(await runs(platform)).toHaveLength(5);
  });

  test('a sweep that breaks off leaves what it had done, and its error goes on', async () => {
    const { platform, at } = await openTwo();
    async function* sweep() {
      for (let i = 0; i < 150; i++) yield { kind: 'schedule', unit: `s${i}`, ...at, outcome: 'ran' } as const;
      throw new Error('the power went');
    }
    await expect(platform.admin.recordSweep(sweep())).rejects.toThrow('the power went');
    expect(await runs(platform, { limit: 200 })).toHaveLength(150);
  });

  test('is filtered and paged, newest first', async () => {
    const { platform, at, elsewhere } = await openTwo();
    const { run } = await platform.admin.recordSweep([
      { kind: 'schedule', unit: 'a', ...at, outcome: 'ran' },
      { kind: 'freshness', unit: 'b', ...at, outcome: 'stale' },
    ]);
    await platform.admin.recordSweep([{ kind: 'schedule', unit: 'c', ...elsewhere, outcome: 'failed' }]);
    const names = async (query: object) => (await runs(platform, query)).map(({ unit }) => unit);
    expect(await names({})).toEqual(['c', 'b', 'a']);
    expect(await names({ tenant: at.tenant })).toEqual(['b', 'a']);
    expect(await names({ scope: elsewhere.scope })).toEqual(['c']);
    expect(await names({ kind: 'schedule' })).toEqual(['c', 'a']);
    expect(await names({ unit: 'b' })).toEqual(['b']);
    expect(await names({ outcome: 'stale' })).toEqual(['b']);
    expect(await names({ run })).toEqual(['b', 'a']);
    const first = await platform.value<{ nextCursor: string }>('sweep-runs.list', { query: { limit: 2 } });
    expect(await names({ limit: 2, cursor: first.nextCursor })).toEqual(['a']);
  });
});

describe('spec C-25: staff read fleet-wide, a builder its own tenant', () => {
  test('and never a row of another one, nor of the platform itself', async () => {
    const { platform, at, elsewhere } = await openTwo();
    const { run } = await platform.admin.recordSweep([
      { kind: 'schedule', unit: 'ours', ...at, outcome: 'failed' },
      { kind: 'schedule', unit: 'theirs', ...elsewhere, outcome: 'failed' },
      { kind: 'schedule', unit: 'platform', outcome: 'failed' },
    ]);
    const as = { as: platform.builder(at.tenant) };
    for (const list of [runs, failures]) {
      expect(await list(platform)).toHaveLength(3);
      const seen = await list(platform, {}, as);
      expect(seen).toHaveLength(1);
      expect(seen).toMatchObject([{ tenant: at.tenant }]);
      // Another tenant's scope under the builder's own tenant shows nothing either.
      expect(await list(platform, { scope: elsewhere.scope }, as)).toEqual([]);
      expect(await refusal(list(platform, { tenant: elsewhere.tenant }, as))).toMatchObject({ status: 404 });
    }
    // A run goes over the units of many.
    for (const query of [{ run }, { outcome: 'failed' }, { kind: 'schedule' }])
      expect(await runs(platform, query, as)).toMatchObject([{ unit: 'ours' }]);
    expect(await runs(platform, { unit: 'theirs' }, as)).toEqual([]);
    const operation = 'sweep.schedule';
    expect(await failures(platform, { operation }, as)).toMatchObject([{ tenant: at.tenant }]);
  });
});

describe('spec C-22: operational failures', () => {
  test('are written down with a redacted detail, and filtered by what was being done', async () => {
    const { platform, at } = await openTwo();
    await platform.admin.recordOpsFailure({
      operation: 'backup.upload',
      ...at,
      subject: 'bkp_1',
      reason: 'bucket_unreachable',
      detail: 'The bucket answered "Bearer swordfish is not ours" to 10.0.0.1.',
    });
    await platform.admin.recordOpsFailure({ operation: 'mail.send', reason: 'refused', detail: 'No.' });
    expect(await failures(platform, { operation: 'backup.upload' })).toMatchObject([
      {
        at: '2026-11-21T08:00:00.000Z',
        ...at,
        subject: 'bkp_1',
        reason: 'bucket_unreachable',
        detail: 'The bucket answered <text> to <address>.',
      },
    ]);
    expect(await failures(platform)).toMatchObject([{ operation: 'mail.send', tenant: null }, {}]);
    const bad = platform.admin.recordOpsFailure({ operation: 'Mail!', reason: 'x', detail: '' });
    expect(await refusal(bad)).toMatchObject({ status: 400 });
  });

  test('of one tenant push out only its own older ones', async () => {
    const { platform, at, elsewhere } = await openTwo();
    const unit = { kind: 'schedule', outcome: 'failed' } as const;
    await platform.admin.recordSweep([{ ...unit, unit: 'first', ...elsewhere }]);
    await platform.admin.recordSweep(
      Array.from({ length: 2100 }, (_, i) => ({ ...unit, unit: `s${i}`, ...at })),
    );
    let left: unknown[] = [];
    await platform.tamper((database) => {
      left = ['ops_failures', 'sweep_runs'].flatMap((table) =>
        database
          .prepare(`SELECT count(*) AS n FROM ${table} GROUP BY tenant ORDER BY n`)
          .all()
          .map(({ n }) => n),
      );
    });
    expect(left).toEqual([1, 1000, 1, 2000]);
    expect((await runs(platform, { tenant: at.tenant }))[0]).toMatchObject({ unit: 's2099' });
  });

  test('of one kind push out only those of that kind, and those of the platform itself are kept for longer', async () => {
    const { platform, at } = await openTwo();
    await platform.admin.recordSweep([{ kind: 'backup', unit: 'b', ...at, outcome: 'swept' }]);
    const job = { kind: 'schedule', outcome: 'ran' } as const;
    const many = <T>(row: T) => Array.from({ length: 2100 }, () => row);
    await platform.admin.recordSweep(many({ ...job, unit: 'each-minute', ...at }));
    await platform.admin.recordSweep(many({ ...job, unit: 'platform/meters' }));
    const counts: unknown[] = [];
    await platform.tamper((database) => {
      const sql = 'SELECT unit, count(*) AS n FROM sweep_runs GROUP BY unit ORDER BY unit';
      counts.push(
        ...database
          .prepare(sql)
          .all()
          .map(({ unit, n }) => [unit, n]),
      );
    });
    expect(counts).toEqual([
      ['b', 1],
      ['each-minute', 2000],
      ['platform/meters', 2100],
    ]);
  });

  test('that go on are a row an hour, whatever the process; each time it was tried is a row of the sweep', async () => {
    const { platform, at } = await openTwo();
    const attempt = (reason: string) =>
      platform.admin.recordSweep([{ kind: 'connection', unit: 'con_1', ...at, outcome: 'failed', reason }]);
    await attempt('provider_unreachable');
    platform.clock.ms += 60 * 60 * 1000 - 1;
    await platform.tamper(() => undefined);
    await attempt('provider_unreachable');
    await attempt('provider_refused');
    expect((await failures(platform)).map(({ reason }) => reason)).toEqual([
      'provider_refused',
      'provider_unreachable',
    ]);
    platform.clock.ms += 1;
    await attempt('provider_unreachable');
    expect([(await failures(platform)).length, (await runs(platform)).length]).toEqual([3, 4]);
  });

  test('that a clock wrote down which was ahead keep none of now untold', async () => {
    const { platform, at } = await openTwo();
    const attempt = () =>
      platform.admin.recordSweep([
        { kind: 'connection', unit: 'con_1', ...at, outcome: 'failed', reason: 'provider_unreachable' },
      ]);
    const right = platform.clock.ms;
    platform.clock.ms = right + 24 * 60 * 60 * 1000;
    await attempt();
    platform.clock.ms = right;
    await attempt();
    await attempt();
    expect(await failures(platform)).toHaveLength(2);
  });

  test('are forgotten when they are old', async () => {
    const { platform, at } = await openTwo();
    const sweep = () =>
      platform.admin.recordSweep([{ kind: 'schedule', unit: 'a', ...at, outcome: 'failed' }]);
    await sweep();
    platform.clock.ms += 31 * 24 * 60 * 60 * 1000;
    await sweep();
    expect([await runs(platform), await failures(platform)].map(({ length }) => length)).toEqual([1, 2]);
    platform.clock.ms += 60 * 24 * 60 * 60 * 1000;
    await sweep();
    expect([await runs(platform), await failures(platform)].map(({ length }) => length)).toEqual([1, 2]);
  });
});
