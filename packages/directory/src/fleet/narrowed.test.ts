/** The scopes of a migration of the fleet, and the failures that are shown (requirement C-04). */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { openPlatform, type Platform } from '../../test/platform.ts';
import type { ScopeRecord } from '../admin-operations.ts';

interface Count {
  readonly vertical: string;
  readonly failures: readonly { readonly scope: string }[];
}

/** Opens a platform whose scopes were provisioned under an earlier version than the one that serves. */
async function open(scopes: number) {
  let version = '0.9.0';
  const platform = await openPlatform({ versionOf: () => version });
  const { id: tenant } = await platform.tenant('acme');
  const made: ScopeRecord[] = [];
  for (let i = 0; i < scopes; i++) made.push(await platform.scope(tenant, `s${i}`));
  version = '1.0.0';
  return { platform, tenant, made };
}

const counts = async (platform: Platform, query = {}) =>
  (await platform.value<{ items: Count[] }>('fleet-migrations.get', { query })).items;
const run = (platform: Platform, body: Record<string, unknown> = {}) =>
  platform.finish(platform.call('fleet-migrations.run', { body }));

/** Moves these scopes to a vertical without a worker or a host. */
const giveAway = (platform: Platform, scopes: readonly ScopeRecord[]) =>
  platform.tamper((database) => {
    for (const { id } of scopes)
      database.prepare("UPDATE scopes SET vertical = 'other' WHERE id = ?").run(id);
  });

test('C-04: one vertical alone is counted, planned and migrated, where one is named', async () => {
  const { platform, made } = await open(3);
  const [first] = made as [ScopeRecord];
  await giveAway(platform, [first]);
  const ofOne = { vertical: 'fieldwork' };
  expect(await counts(platform, ofOne)).toMatchObject([{ ...ofOne, applied: 0, pending: 2 }]);
  const plan = await platform.value('fleet-migrations.run', { body: ofOne, query: { dryRun: true } });
  expect(plan).toMatchObject({ scopes: 2, items: [{ ...ofOne, pending: 2 }] });
  expect(await run(platform, ofOne)).toMatchObject({
    state: 'done',
    progress: { done: 2, total: 2 },
    result: { applied: 2, failed: 0 },
  });
  expect(await counts(platform)).toMatchObject([
    { ...ofOne, applied: 2, pending: 0 },
    { vertical: 'other', applied: 0, pending: 1 },
  ]);
});

test('C-04: the failures of each vertical stand with it, and a scope that is suspended is migrated too', async () => {
  const { platform, tenant, made } = await open(3);
  const [first, second] = made as [ScopeRecord, ScopeRecord];
  await giveAway(platform, [first]);
  await platform.call('scopes.set-status', {
    params: { tenant, scope: second.id },
    body: { status: 'suspended' },
  });
  expect(await run(platform, { failuresMax: 1 })).toMatchObject({ result: { applied: 2, failed: 1 } });
  expect(await counts(platform)).toMatchObject([
    { vertical: 'fieldwork', applied: 2, failed: 0, failures: [] },
    { vertical: 'other', applied: 0, failed: 1, failures: [{ scope: first.id, code: 'unsupported' }] },
  ]);

  platform.fieldwork.fault = async () => problemDocument(new PlatformError('runtime_fault', 'Migration 7.'));
  await platform.tamper((database) => database.exec("DELETE FROM scope_migrations WHERE state = 'applied'"));
  await run(platform, { failuresMax: 10 });
  const shown = await counts(platform);
  expect(shown.map(({ vertical, failures }) => [vertical, failures.map(({ scope }) => scope)])).toEqual([
    ['fieldwork', made.slice(1).map(({ id }) => id)],
    ['other', [first.id]],
  ]);
});

test('C-04: of many failures ten are shown, and all are counted', async () => {
  const { platform, made } = await open(12);
  platform.fieldwork.fault = async () => problemDocument(new PlatformError('runtime_fault', 'Migration 7.'));
  await run(platform, { failuresMax: 100 });
  const [shown] = await counts(platform);
  expect(shown).toMatchObject({ failed: 12, pending: 0 });
  expect(shown?.failures.map(({ scope }) => scope)).toEqual(made.slice(0, 10).map(({ id }) => id));
});
