import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineOperations, defineVertical, operation } from '../src/index.ts';
import { spineMigrations } from '../src/spine.ts';
import { onScenario, openShop, otherTenant, owner, scopeId, shop as shopVertical, tenant } from './shop.ts';

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
  for (const query of [{ limit: 2, cursor: '!' }, { limit: -2 }, { limit: Number.NaN }, { limit: 201 }]) {
    await expect(shop.scope.history({ entity, ...query })).rejects.toMatchObject({
      code: 'validation_failed',
    });
    await expect(shop.scope.listDenials(query)).rejects.toMatchObject({ code: 'validation_failed' });
  }
});

test('migrations are journaled with their digest, and a changed one closes the scope', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  {
    await using shop = await openShop({ dataDirectory });
    const applied = await shop.scope.appliedMigrations({});
    const spine = applied.filter(({ set }) => set === 'spine');
    expect(spine.map(({ version }) => version)).toEqual(
      spineMigrations.migrations.map(({ version }) => version),
    );
    expect(applied.slice(spine.length)).toMatchObject([
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

test('a failing migration leaves the scope as it was, also where others came before it', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  {
    await using shop = await openShop({ dataDirectory });
    await shop.run(owner, 'box/pack', { label: 'kept' });
  }
  const bad = {
    ...shopVertical,
    migrations: [
      ...shopVertical.migrations,
      { version: 2, name: 'sound', sql: 'CREATE TABLE sound (id TEXT)' },
      { version: 3, name: 'broken', sql: 'CREATE TABLE more (id TEXT); INSERT INTO nowhere VALUES (1)' },
    ],
  };
  await expect(openShop({ dataDirectory, vertical: bad })).rejects.toMatchObject({
    reason: 'migration_failed',
    message: expect.stringContaining('vertical 3 (broken)'),
  });
  await using shop = await openShop({ dataDirectory });
  expect((await shop.scope.appliedMigrations({})).filter((each) => each.set === 'vertical')).toHaveLength(1);
  expect((await shop.run(owner, 'box/pack', { label: 'after' })).invocation).toMatch(/^inv_/);
  rmSync(dataDirectory, { recursive: true });
});

test('a vertical’s migration cannot touch the spine', async () => {
  for (const sql of [
    'DROP TABLE _spine_denials',
    `UPDATE _spine_scope SET tenant_id = 'x'`,
    'CREATE TRIGGER forge AFTER INSERT ON boxes BEGIN DELETE FROM _spine_events; END',
    'CREATE TABLE _spine_mine (id TEXT)',
    'DELETE FROM _spine_migrations',
  ]) {
    const hostile = {
      ...shopVertical,
      migrations: [...shopVertical.migrations, { version: 2, name: 'hostile', sql }],
    };
    await expect(openShop({ vertical: hostile }), sql).rejects.toMatchObject({ reason: 'migration_failed' });
  }
});

test('a migration that is added later runs once, on the data that is there', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-kernel-'));
  {
    await using shop = await openShop({ dataDirectory });
    await shop.run(owner, 'box/pack', { label: 'old' });
  }
  const grown = {
    ...shopVertical,
    migrations: [
      ...shopVertical.migrations,
      {
        version: 2,
        name: 'weights',
        sql: 'CREATE TABLE weights (box TEXT NOT NULL, grams INTEGER NOT NULL) STRICT; INSERT INTO weights SELECT id, 1 FROM boxes',
      },
    ],
  };
  const what = onScenario('weights', (ctx) =>
    ctx.sql.all('SELECT grams FROM weights').map((row) => ({ ...row })),
  );
  for (let opening = 1; opening <= 3; opening++) {
    await using shop = await openShop({ dataDirectory, vertical: grown });
    expect((await shop.run(owner, 'test/run', { what })).output).toEqual([{ grams: 1 }]);
  }
  // The older code does not know what the newer one did to the data.
  await expect(openShop({ dataDirectory })).rejects.toMatchObject({ reason: 'migration_unknown' });
  rmSync(dataDirectory, { recursive: true });
});

test('a declaration that cannot work is refused when it is made', () => {
  const bare = { summary: 's', input: z.strictObject({}), output: z.null(), permission: 'box.list' };
  expect(() =>
    defineOperations({ 'box/wait': operation({ ...bare, run: (async () => null) as never }) }),
  ).toThrow(/box\/wait'\]\.run: must be synchronous/);
  expect(() => defineOperations({ Box: operation({ ...bare, run: () => null }) })).toThrow(/noun\/verb/);
  expect(() =>
    defineVertical({
      ...shopVertical,
      operations: { 'box/x': operation({ ...bare, permission: 'box.nope', run: () => null }) },
    }),
  ).toThrow(/undeclared permission: box\.nope/);
  // Also of a table that never went through defineOperations.
  const waiting = operation({ ...bare, run: (async () => null) as never });
  expect(() => defineVertical({ ...shopVertical, operations: { 'box/wait': waiting } })).toThrow(
    /synchronous/,
  );
});
