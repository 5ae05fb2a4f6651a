/** Spec C-04, C-09: the fleet is migrated in waves, and the results are counted per version. */

import { DatabaseSync } from 'node:sqlite';
import { PlatformError, problemDocument } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import { admitted, promote } from '../../test/registry.ts';
import type { ScopeRecord } from '../admin-operations.ts';
import { directoryUnit } from '../unit.ts';
import { VERTICALS_IN_USE } from './operations.ts';

let version = '1.0.0';

/** Opens a platform whose scopes were provisioned under an earlier version than the one that serves. */
async function open(scopes: number) {
  version = '0.9.0';
  const platform = await openPlatform({ versionOf: () => version });
  const tenant = await platform.tenant('acme');
  const made: ScopeRecord[] = [];
  for (let i = 0; i < scopes; i++) made.push(await platform.scope(tenant.id, `s${i}`));
  version = '1.0.0';
  platform.fieldwork.requests.length = 0;
  return { platform, tenant, scopes: made };
}

const counts = async (platform: Platform, parts = {}) =>
  (await platform.value<{ items: Record<string, unknown>[] }>('fleet-migrations.get', parts)).items;
const run = (platform: Platform, body: Record<string, unknown> = {}) =>
  platform.finish(platform.call('fleet-migrations.run', { body }));
/** Breaks the migrations of these scopes. */
function breakDown(platform: Platform, broken: readonly ScopeRecord[]): void {
  const { fetch } = platform.fieldwork.bound;
  const fault = async (request: Request): Promise<Response> => {
    const scope = new URL(request.url).searchParams.get('scopeId');
    if (broken.some(({ id }) => id === scope))
      return problemDocument(
        new PlatformError('runtime_fault', 'Migration 7 failed.', { reason: 'migration' }),
      );
    platform.fieldwork.fault = null;
    const answer = fetch(request);
    platform.fieldwork.fault = fault;
    return answer;
  };
  platform.fieldwork.fault = fault;
}

test('spec C-04: every scope is opened once, and counted as applied at the version that serves', async () => {
  const { platform } = await open(5);
  expect(await counts(platform)).toEqual([
    { vertical: 'fieldwork', version: '1.0.0', applied: 0, pending: 5, failed: 0, failures: [] },
  ]);
  const done = await run(platform, { waveSize: 2 });
  expect(done).toMatchObject({
    state: 'done',
    progress: { done: 5, total: 5, unit: 'scopes' },
    result: { applied: 5, failed: 0 },
  });
  expect(platform.fieldwork.requests.map(({ url }) => new URL(url).pathname)).toEqual(
    Array(5).fill('/internal/migrations'),
  );
  expect(await counts(platform)).toMatchObject([{ applied: 5, pending: 0, failed: 0 }]);
});

test('a new scope is applied at the version that served when its provisioning began, and no wave opens it', async () => {
  const { platform, tenant } = await open(0);
  await platform.scope(tenant.id);
  expect(await counts(platform)).toEqual([
    { vertical: 'fieldwork', version: '1.0.0', applied: 1, pending: 0, failed: 0, failures: [] },
  ]);
  expect(await run(platform)).toMatchObject({ result: { applied: 0, failed: 0 } });
  const { fetch } = platform.fieldwork.bound;
  platform.fieldwork.fault = async (request) => {
    platform.fieldwork.fault = null;
    const answer = await fetch(request);
    version = '2.0.0';
    return answer;
  };
  await platform.scope(tenant.id, 'meanwhile');
  expect(await counts(platform)).toMatchObject([{ version: '2.0.0', applied: 0, pending: 2 }]);
});

test('a new version makes every scope pending again', async () => {
  const { platform } = await open(2);
  await run(platform);
  version = '2.0.0';
  expect(await counts(platform)).toMatchObject([{ version: '2.0.0', applied: 0, pending: 2 }]);
});

test('it stops after the wave in which too many have failed, and the same call goes on with what is left', async () => {
  const { platform, scopes } = await open(6);
  breakDown(platform, scopes.slice(1, 2));
  const failed = await run(platform, { waveSize: 2 });
  expect(failed).toMatchObject({
    state: 'failed',
    problem: { code: 'runtime_fault', reason: 'wave_failed' },
  });
  expect(failed.problem?.detail).toContain(scopes[1]?.id);
  expect(await counts(platform)).toMatchObject([
    {
      applied: 1,
      pending: 4,
      failed: 1,
      failures: [{ scope: scopes[1]?.id, detail: 'Migration 7 failed.' }],
    },
  ]);
  platform.fieldwork.fault = null;
  expect(await run(platform, { waveSize: 2 })).toMatchObject({
    state: 'done',
    result: { applied: 5, failed: 0 },
  });
  expect(await counts(platform)).toMatchObject([{ applied: 6, pending: 0, failed: 0 }]);
});

test('failures that are allowed do not stop it', async () => {
  const { platform, scopes } = await open(4);
  breakDown(platform, scopes.slice(0, 1));
  expect(await run(platform, { waveSize: 1, failuresMax: 1 })).toMatchObject({
    state: 'done',
    result: { applied: 3, failed: 1 },
  });
});

test('after a crash it goes on with the scopes that were not migrated', async () => {
  const { platform, scopes } = await open(3);
  const { fetch } = platform.fieldwork.bound;
  const reached = Promise.withResolvers<void>();
  const hold = async (request: Request): Promise<Response> => {
    if (new URL(request.url).searchParams.get('scopeId') === scopes[1]?.id) {
      reached.resolve();
      return new Promise(() => undefined);
    }
    platform.fieldwork.fault = null;
    const answer = fetch(request);
    platform.fieldwork.fault = hold;
    return answer;
  };
  platform.fieldwork.fault = hold;
  const begun = await platform.call('fleet-migrations.run', { body: { waveSize: 1 } });
  await reached.promise;
  await platform.tamper(() => undefined);
  platform.fieldwork.fault = null;
  platform.fieldwork.requests.length = 0;
  await platform.admin.resumeLongWork();
  expect(await platform.finish(begun)).toMatchObject({ state: 'done' });
  const asked = platform.fieldwork.requests.map(({ url }) => new URL(url).searchParams.get('scopeId'));
  expect(asked).toEqual([scopes[1]?.id, scopes[2]?.id]);
});

test('the plan counts scopes and waves, and opens nothing', async () => {
  const { platform } = await open(5);
  const { status, value } = await platform.call('fleet-migrations.run', {
    query: { dryRun: true },
    body: { waveSize: 2 },
  });
  expect(status).toBe(200);
  expect(value).toMatchObject({ dryRun: true, scopes: 5, waves: 3 });
  expect(platform.fieldwork.requests).toEqual([]);
});

test('a scope that is bound to a version is counted and migrated under that one, whatever prod serves', async () => {
  const platform = await openPlatform();
  const tenant = await platform.tenant('acme');
  await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
  for (const number of ['1.0.0', '2.0.0']) await admitted(platform, 'fieldwork', number);
  await promote(platform, 'fieldwork', { version: '1.0.0' });
  const bound = await platform.scope(tenant.id, 'bound');
  await platform.scope(tenant.id, 'follows');
  const params = { tenant: tenant.id, scope: bound.id };
  const bind = (body: Record<string, unknown>) => platform.call('scope-version.set', { params, body });
  await bind({ version: '2.0.0' });
  expect(await counts(platform)).toMatchObject([
    { version: '1.0.0', pending: 0, applied: 1 },
    { version: '2.0.0', pending: 1, applied: 0 },
  ]);
  breakDown(platform, [bound]);
  await run(platform, { failuresMax: 1 });
  expect(await counts(platform)).toMatchObject([
    { version: '1.0.0', pending: 0, applied: 1, failed: 0, failures: [] },
    { version: '2.0.0', pending: 0, applied: 0, failed: 1, failures: [{ scope: bound.id }] },
  ]);
  platform.fieldwork.fault = null;
  expect(await run(platform)).toMatchObject({ result: { applied: 1, failed: 0 } });
  expect(await counts(platform)).toMatchObject([
    { version: '1.0.0', applied: 1 },
    { version: '2.0.0', applied: 1, pending: 0, failed: 0 },
  ]);
  // The record of its own version says nothing about that of prod.
  await bind({ channel: 'prod' });
  expect(await counts(platform)).toMatchObject([{ version: '1.0.0', applied: 1, pending: 1 }]);
});

test('archived scopes are left alone', async () => {
  const { platform, scopes } = await open(2);
  const params = { tenant: scopes[0]?.tenant, scope: scopes[0]?.id };
  await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
  expect(await run(platform)).toMatchObject({ result: { applied: 1 } });
});

test('spec C-09: counting writes no row of the access log, and a builder counts its own tenant', async () => {
  const { platform, tenant } = await open(2);
  const other = await platform.tenant('other');
  await platform.scope(other.id);
  expect(await counts(platform)).toMatchObject([{ applied: 1, pending: 2 }]);
  expect(await counts(platform, { as: platform.builder(other.id) })).toMatchObject([
    { applied: 1, pending: 0 },
  ]);
  const foreign = counts(platform, { as: platform.builder(other.id), query: { tenant: tenant.id } });
  expect(await refusal(foreign)).toMatchObject({ status: 404 });
  expect(await platform.accessLog()).toEqual([]);
  const wave = platform.call('fleet-migrations.run', { body: {}, as: platform.builder(tenant.id) });
  expect(await refusal(wave)).toMatchObject({ status: 403, reason: 'staff_only' });
});

test('the verticals in use are read by jumps in the index, and not scope by scope', () => {
  const database = new DatabaseSync(':memory:');
  for (const { migrations } of directoryUnit.migrations) for (const { sql } of migrations) database.exec(sql);
  const plan = database
    .prepare(`EXPLAIN QUERY PLAN ${VERTICALS_IN_USE}`)
    .all()
    .map(({ detail }) => String(detail))
    .filter((detail) => detail.includes('scopes'));
  expect(plan).toHaveLength(2);
  // The least of an index is its first entry.
  for (const step of plan) expect(step).toMatch(/^SEARCH scopes USING COVERING INDEX scopes_vertical/);
});
