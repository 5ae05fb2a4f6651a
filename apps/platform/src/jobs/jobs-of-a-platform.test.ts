/** On a running platform: operations are counted, storage is measured, and backups are made by themselves. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPlatform, openEmbeddedPlatform } from '../../../../tests/http/embedded-platform.ts';
import { Caller } from '../../../../tests/support/http.ts';
import { signIn } from '../../../../tests/support/sign-in.ts';

let backups: string;
let opened: EmbeddedPlatform;
const ada = new Caller();

beforeAll(async () => {
  backups = mkdtempSync(join(tmpdir(), 'freehold-made-by-itself-'));
  opened = await openEmbeddedPlatform({ FREEHOLD_BACKUPS: backups });
  await signIn(ada, opened.app, 'ada');
}, 60_000);

afterAll(async () => {
  ada[Symbol.dispose]();
  await opened?.[Symbol.asyncDispose]();
  rmSync(backups, { recursive: true, force: true });
});

async function itemsOf(path: string): Promise<readonly Record<string, unknown>[]> {
  const headers = { authorization: `Bearer ${opened.token}` };
  const answer = await ada.ask(`${opened.platform.apiOrigin}${path}`, { headers });
  expect(answer.status, answer.text).toBe(200);
  return answer.json<{ items: readonly Record<string, unknown>[] }>().items;
}
const figure = async (meter: string) =>
  (await itemsOf('/meters')).find((record) => record.meter === meter) ?? { quantity: 0 };

test('spec C-22: an operation that an application performs is on the meter of its tenant, and a refused one is not', async () => {
  await opened.platform.runJob('meters');
  const before = Number((await figure('operations.invoked')).quantity);
  const create = (json: object) => ada.ask(`${opened.app}/api/customers`, { json });
  expect((await create({ name: 'Mrs Harper' })).status).toBeLessThan(300);
  expect((await create({ name: 7 })).status).toBe(400);
  await opened.platform.runJob('meters');
  expect(await figure('operations.invoked')).toMatchObject({
    tenant: opened.scope.tenantId,
    unit: 'invocations',
    kind: 'counter',
    quantity: before + 1,
  });
});

test('spec C-22: the storage of a tenant is measured once a day', async () => {
  await opened.platform.runJob('storage');
  const measured = await figure('storage.bytes');
  expect(measured).toMatchObject({ tenant: opened.scope.tenantId, unit: 'bytes', kind: 'gauge', days: 1 });
  expect(measured.quantity).toBeGreaterThan(1000);
  await opened.platform.runJob('storage');
  expect(await figure('storage.bytes')).toEqual(measured);
});

test('spec C-19, C-31: the directory and the scope are backed up, and that is a row each', async () => {
  await opened.platform.runJob('backups');
  await opened.platform.runJob('backups');
  const made = { kind: 'backup', outcome: 'swept', reason: 'backed_up' };
  expect(await itemsOf('/sweep-runs?kind=backup')).toMatchObject([
    { ...made, unit: opened.scope.scopeId, tenant: opened.scope.tenantId },
    { ...made, unit: 'directory', tenant: null },
  ]);
  const [backup] = await itemsOf(`/scopes/${opened.scope.scopeId}/backups`);
  expect(backup).toMatchObject({ origin: 'scheduled' });
  expect(readdirSync(join(backups, 'scopes', opened.scope.scopeId))).toEqual([`${backup?.id}.ndjson`]);
  expect(await itemsOf('/ops-failures')).toEqual([]);
  expect(opened.incidents).toEqual([]);
});
