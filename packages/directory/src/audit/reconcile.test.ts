/** The reconciler runs every minute: its cost grows with the open intents, and not with the log. */

import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type {
  AdminLogVerification,
  OperationRecord,
  OpsFailureRecord,
  ScopeRecord,
  SweepRunRecord,
} from '../admin-operations.ts';
import { clearingOf, LAPSING } from '../expiries/clear.ts';
import { directoryUnit } from '../unit.ts';
import { COUNT_UNSETTLED, UNREPORTED } from './open-intents.ts';

/** The report of intents without an outcome, on the real engine. */

/** The lease of an intent. */
const LEASE_MS = 2 * 60 * 1000;

async function open() {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups });
  const scope = await platform.scope((await platform.tenant('acme')).id);
  return { platform, scope, backups };
}

const configure = (platform: Platform, scope: ScopeRecord, key?: string) =>
  platform.call('scopes.configure', {
    params: { tenant: scope.tenant, scope: scope.id },
    body: { config: { A: '1' } },
    ...(key === undefined ? {} : { key }),
  });

/** The process dies while the vertical is asked. */
async function crash(platform: Platform, scope: ScopeRecord, key?: string): Promise<number> {
  platform.fieldwork.fault = async () => {
    await platform.tamper(() => undefined);
    throw new TypeError('connection reset');
  };
  await refusal(configure(platform, scope, key));
  platform.fieldwork.fault = null;
  return (await platform.adminLog({ outcome: 'unsettled' })).at(-1)?.sequence ?? 0;
}

const rows = async (platform: Platform) => ({
  failures: (await platform.value<{ items: OpsFailureRecord[] }>('ops-failures.list')).items,
  units: (await platform.value<{ items: SweepRunRecord[] }>('sweep-runs.list', { query: { kind: 'intent' } }))
    .items,
});
const unsettled = async (platform: Platform) =>
  (await platform.value<AdminLogVerification>('admin-log.verify')).unsettled;

test('spec C-30: an intent that a crash left without an outcome is reported past its lease, with what to do', async () => {
  const { platform, scope } = await open();
  const sequence = await crash(platform, scope);
  expect(await platform.admin.intents.reconcile()).toBe(0);
  expect(await unsettled(platform)).toBe(0);

  platform.clock.ms += LEASE_MS;
  expect(await unsettled(platform)).toBe(1);
  expect(await platform.admin.intents.reconcile()).toBe(1);
  const [intent] = await platform.adminLog({ outcome: 'unsettled' });
  const about = { tenant: scope.tenant, scope: scope.id, vertical: 'fieldwork', reason: 'outcome_unknown' };
  const { failures, units } = await rows(platform);
  expect(failures).toMatchObject([{ operation: 'scopes.configure', subject: intent?.requestId, ...about }]);
  expect(failures[0]?.detail).toContain(`Row ${sequence} `);
  expect(failures[0]?.detail).toMatch(/Make the same call again.*or look at the scope/);
  expect(units).toMatchObject([{ unit: String(sequence), outcome: 'failed', ...about }]);
});

test('it is reported once, also across restarts, and stays counted until it is settled', async () => {
  const { platform, scope } = await open();
  await crash(platform, scope);
  platform.clock.ms += LEASE_MS;
  expect(await platform.admin.intents.reconcile()).toBe(1);
  for (let minute = 0; minute < 3; minute++) {
    platform.clock.ms += 60_000;
    if (minute === 1) await platform.tamper(() => undefined);
    expect(await platform.admin.intents.reconcile()).toBe(0);
  }
  const { failures, units } = await rows(platform);
  expect([failures.length, units.length, await unsettled(platform)]).toEqual([1, 1, 1]);

  // Another intent is another report.
  await crash(platform, scope);
  platform.clock.ms += LEASE_MS;
  expect(await platform.admin.intents.reconcile()).toBe(1);
  expect(await unsettled(platform)).toBe(2);
});

test.each(['k', undefined])(
  'an intent that a repeat of the call (key: %s) has settled is not reported',
  async (key) => {
    const { platform, scope } = await open();
    await crash(platform, scope, 'k');
    platform.clock.ms += LEASE_MS;
    await configure(platform, scope, key);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
    expect(await platform.admin.intents.reconcile()).toBe(0);
    expect([await rows(platform), await unsettled(platform)]).toEqual([{ failures: [], units: [] }, 0]);
  },
);

test('long work is not reported while it runs or waits for a process, and is when its outcome is unknown', async () => {
  const { platform, scope } = await open();
  const params = { tenant: scope.tenant, scope: scope.id };
  const taken = platform.call('scope-backups.create', { params, body: {} });
  const { id: backup } = (await platform.finish(taken)).result as { readonly id: string };
  const reached = Promise.withResolvers<void>();
  const { served } = platform.fieldwork;
  platform.fieldwork.fault = async (request) => {
    if (!request.url.includes('/internal/restore')) return served(request);
    reached.resolve();
    return new Promise(() => undefined);
  };
  const call = await platform.call('scopes.restore', { params, body: { from: { backup } } });
  await reached.promise;
  platform.clock.ms += 24 * 60 * LEASE_MS;
  expect([await platform.admin.intents.reconcile(), await unsettled(platform)]).toEqual([0, 0]);

  await platform.tamper(() => undefined);
  platform.fieldwork.fault = null;
  expect([await platform.admin.intents.reconcile(), await unsettled(platform)]).toEqual([0, 0]);

  // A restore must not be repeated: the next process gives it up, and its outcome is unknown.
  await platform.admin.resumeLongWork();
  const { id } = call.value as OperationRecord;
  await platform.value('operations.get', { params: { operation: id }, query: { wait: '30s' } });
  expect([await platform.admin.intents.reconcile(), await unsettled(platform)]).toEqual([1, 1]);
  expect((await rows(platform)).failures).toMatchObject([{ operation: 'scopes.restore', scope: scope.id }]);
});

test('more than fit into one transaction are all reported, each once', async () => {
  const { platform, scope } = await open();
  platform.fieldwork.fault = async () => {
    throw new TypeError('connection reset');
  };
  for (let i = 0; i < 120; i++) await refusal(configure(platform, scope));
  expect(await platform.admin.intents.reconcile()).toBe(120);
  expect(await platform.admin.intents.reconcile()).toBe(0);
  expect(await unsettled(platform)).toBe(120);
});

function planOf(sql: string, ...params: readonly number[]): string {
  const database = new DatabaseSync(':memory:');
  for (const { migrations } of directoryUnit.migrations)
    for (const each of migrations) database.exec(each.sql);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params);
  return plan.map(({ detail }) => String(detail)).join('\n');
}

test('unreported intents are found by their index, and the row of the log by its number', () => {
  const plan = planOf(UNREPORTED, 9, 100);
  expect(plan).toMatch(/SCAN o USING INDEX open_intents_unreported|SEARCH o/);
  expect(plan).toMatch(/SEARCH l USING INTEGER PRIMARY KEY/);
  expect(plan).toMatch(/SEARCH w USING (COVERING )?INDEX operations_intent/);
  expect(plan).not.toMatch(/SCAN [lw]\b|TEMP B-TREE/);
});

test('the count asks for unfinished work only', () => {
  const plan = planOf(COUNT_UNSETTLED, 9);
  expect(plan).toMatch(/SEARCH w USING (COVERING )?INDEX operations_intent/);
  expect(plan).not.toMatch(/SCAN [lw]\b/);
});

test.each(LAPSING)('lapsed rows of $table are found by their time', (lapsing) => {
  const plan = planOf(clearingOf(lapsing), 9, 100);
  expect(plan).toMatch(/SEARCH .* \((expires_at|at|since|finished_at)(<|>)/);
  expect(plan).not.toMatch(/TEMP B-TREE|SCAN/);
});
