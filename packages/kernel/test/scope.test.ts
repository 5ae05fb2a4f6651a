import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { EVENT_SQL } from '../src/events/store.ts';
import { defineOperations, defineVertical, operation } from '../src/index.ts';
import { openShop, otherTenant, owner, scopeId, shop as shopVertical, tenant } from './shop.ts';

test('provisioning twice is provisioning once, and another tenant cannot take the scope over', async () => {
  await using shop = await openShop();
  const ref = { scopeId: scopeId as never, name: 'Acme' };
  expect(await shop.host.provisionScopeLocal({ ...ref, tenantId: tenant })).toBe('unchanged');
  await expect(shop.host.provisionScopeLocal({ ...ref, tenantId: otherTenant })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('history comes in pages, oldest first, and a cursor survives what is added meanwhile', async () => {
  await using shop = await openShop();
  const { box } = (await shop.run(owner, 'box/pack', { label: 'x' })).output as { box: string };
  const entity = { type: 'box', id: box };
  for (let i = 0; i < 3; i++) await shop.run(owner, 'box/ship', { box });
  const first = await shop.scope.history({ entity, limit: 2 });
  await shop.run(owner, 'box/ship', { box });
  const second = await shop.scope.history({ entity, limit: 10, cursor: first.nextCursor as string });
  expect([...first.items, ...second.items].map((event) => event.type)).toEqual([
    'box.packed',
    ...Array(4).fill('box.shipped'),
  ]);
  expect(second.nextCursor).toBeNull();
  await expect(shop.scope.history({ entity, limit: 2, cursor: '!' })).rejects.toMatchObject({
    code: 'validation_failed',
  });
});

test('migrations are journaled with their digest, and a changed one closes the scope', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  {
    await using shop = await openShop({ dataDirectory });
    expect(await shop.scope.appliedMigrations({})).toMatchObject([
      { set: 'spine', version: 1 },
      { set: 'vertical', version: 1, name: 'boxes', digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
  }
  const changed = {
    ...shopVertical,
    migrations: [{ version: 1, name: 'boxes', sql: 'CREATE TABLE boxes (id TEXT) STRICT' }],
  };
  await expect(openShop({ dataDirectory, vertical: changed })).rejects.toMatchObject({
    code: 'runtime_fault',
    reason: 'migration_changed',
  });
  rmSync(dataDirectory, { recursive: true });
});

test('a failing migration leaves the scope at its last good version', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  {
    await using shop = await openShop({ dataDirectory });
    await shop.run(owner, 'box/pack', { label: 'kept' });
  }
  const bad = {
    ...shopVertical,
    migrations: [
      ...shopVertical.migrations,
      { version: 2, name: 'broken', sql: 'CREATE TABLE more (id TEXT); INSERT INTO nowhere VALUES (1)' },
    ],
  };
  await expect(openShop({ dataDirectory, vertical: bad })).rejects.toMatchObject({
    reason: 'migration_failed',
    message: expect.stringContaining('vertical 2 (broken)'),
  });
  await using shop = await openShop({ dataDirectory });
  expect(await shop.scope.appliedMigrations({})).toHaveLength(2);
  rmSync(dataDirectory, { recursive: true });
});

test('a vertical’s migration cannot touch the spine', async () => {
  const hostile = {
    ...shopVertical,
    migrations: [{ version: 1, name: 'hostile', sql: 'DROP TABLE _spine_denials' }],
  };
  await expect(openShop({ vertical: hostile })).rejects.toMatchObject({ reason: 'migration_failed' });
});

test('every event read is served by an index', async () => {
  await using shop = await openShop();
  const db = new DatabaseSync(join(shop.dataDirectory, 'scope-shop', `${scopeId}.sqlite`), {
    readOnly: true,
  });
  for (const [name, sql] of Object.entries(EVENT_SQL)) {
    const plan = db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...Array(sql.split('?').length - 1).fill('1')) as { detail: string }[];
    const text = plan.map((step) => step.detail).join('; ');
    expect(text, name).toMatch(/SEARCH _spine_events/);
    expect(text, name).not.toMatch(/SCAN|TEMP B-TREE/);
  }
  db.close();
});

test('a declaration that cannot work is refused when it is made', () => {
  const bare = { summary: 's', input: z.strictObject({}), output: z.null(), permission: 'box.list' };
  expect(() =>
    defineOperations({ 'box/wait': operation({ ...bare, run: (async () => null) as never }) }),
  ).toThrow(/box\/wait: run must be synchronous/);
  expect(() => defineOperations({ Box: operation({ ...bare, run: () => null }) })).toThrow(/noun\/verb/);
  expect(() =>
    defineVertical({
      ...shopVertical,
      operations: { 'box/x': operation({ ...bare, permission: 'box.nope', run: () => null }) },
    }),
  ).toThrow(/undeclared permission: box\.nope/);
});
