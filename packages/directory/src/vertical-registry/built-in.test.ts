import { DatabaseSync } from 'node:sqlite';
import { appliedMigrations, migrate, type SqlDatabase } from '@freehold/store';
import { expect, test } from 'vitest';
import { openPlatform } from '../../test/platform.ts';
import { manifestOf } from '../../test/registry.ts';
import { declaredMigrations } from './built-in.ts';
import { registryMigrations } from './schema.ts';

test('a version declares the same digests that a scope writes into its journal', async () => {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE tenants (id TEXT PRIMARY KEY); CREATE TABLE scopes (id TEXT PRIMARY KEY)');
  const db = {
    exec: (sql: string) => database.exec(sql),
    run: (sql: string, ...params: never[]) => database.prepare(sql).run(...params),
    all: (sql: string, ...params: never[]) => database.prepare(sql).all(...params),
    savepoint: (work: () => unknown) => work(),
  } as unknown as SqlDatabase;
  migrate(db, registryMigrations, { nowMs: 0 });
  const applied = appliedMigrations(db).map(({ set, version, name, digest }) => ({
    set,
    version,
    name,
    digest,
  }));
  const declared = declaredMigrations([registryMigrations]);
  expect(declared).toEqual(applied);
  expect(declared).toHaveLength(registryMigrations.migrations.length);
  // A registration accepts them.
  const platform = await openPlatform();
  const builtIn = { manifest: manifestOf('fieldwork', '1.0.0'), migrations: declared };
  expect(await platform.admin.registerBuiltIn(builtIn)).toMatchObject({ changed: true });
});
