/** The contract of migrations: each is applied once, a changed one is found, and a failing one does no harm. */
import { beforeEach, describe, expect, test } from 'vitest';
import { type Migration, migrationDigest } from '../../../store/src/migrations.ts';
import type { NewKey, UnitContractSetup } from './index.ts';
import { migratingUnit, observed } from './units.ts';

const FIRST: Migration = { version: 1, name: 'first', sql: 'CREATE TABLE first (id INTEGER PRIMARY KEY)' };
const SECOND: Migration = {
  version: 4,
  name: 'second',
  sql: 'CREATE TABLE second (id INTEGER PRIMARY KEY); INSERT INTO second VALUES (1)',
};
const FAILING: Migration = {
  version: 5,
  name: 'failing',
  sql: 'CREATE TABLE third (id INTEGER PRIMARY KEY); INSERT INTO second VALUES (1)',
};

const deploy = (...migrations: Migration[]) => {
  observed.migrations = [{ name: 'set', migrations }];
};

export function migrationContract({ open }: UnitContractSetup, newKey: NewKey): void {
  describe('a migration', () => {
    beforeEach(() => deploy(FIRST, SECOND));

    test('is applied once, in order, under a journal with the digest of its SQL', async () => {
      const { engine } = await open();
      const journal = await engine.unit(migratingUnit, newKey(), { create: true }).journal();
      expect(journal).toEqual(
        [FIRST, SECOND].map((each) => ({
          set: 'set',
          version: each.version,
          name: each.name,
          digest: migrationDigest(each),
          appliedAtMs: expect.any(Number),
        })),
      );
    });

    test('that is new is applied when the unit is opened next', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      deploy(FIRST);
      expect(await engine.unit(migratingUnit, key, { create: true }).tables()).not.toContain('second');
      deploy(FIRST, SECOND);
      const unit = (await reopen()).unit(migratingUnit, key);
      expect(await unit.tables()).toContain('second');
      expect((await unit.journal()).map((each) => each.version)).toEqual([1, 4]);
    });

    test('whose text changed after it was applied keeps the unit closed and is named', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      await engine.unit(migratingUnit, key, { create: true }).tables();
      deploy({ ...FIRST, sql: `${FIRST.sql} ` }, SECOND);
      await expect((await reopen()).unit(migratingUnit, key).tables()).rejects.toMatchObject({
        code: 'runtime_fault',
        reason: 'migration_changed',
        message: expect.stringContaining('set 1 (first)'),
      });
      expect(observed.openings.get(key)).toBe(1);
      expect(observed.incidents.length).toBeGreaterThan(0);
    });

    test('that this version does not know keeps the unit closed and is named', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      await engine.unit(migratingUnit, key, { create: true }).tables();
      deploy(FIRST);
      await expect((await reopen()).unit(migratingUnit, key).tables()).rejects.toMatchObject({
        code: 'runtime_fault',
        reason: 'migration_unknown',
        message: expect.stringContaining('set 4 (second)'),
      });
    });

    test('that fails undoes those before it, so that the version before opens the unit again', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      deploy(FIRST);
      await engine.unit(migratingUnit, key, { create: true }).tables();
      deploy(FIRST, SECOND, FAILING);
      const failed = { code: 'runtime_fault', reason: 'migration_failed' };
      const refusing = await reopen();
      await expect(refusing.unit(migratingUnit, key).tables()).rejects.toMatchObject(failed);
      await expect(refusing.unit(migratingUnit, key).tables()).rejects.toMatchObject(failed);
      deploy(FIRST);
      expect(await (await reopen()).unit(migratingUnit, key).tables()).toEqual([
        '_spine_migrations',
        'first',
      ]);
      deploy(FIRST, SECOND);
      const unit = (await reopen()).unit(migratingUnit, key);
      expect(await unit.tables()).toEqual(['_spine_migrations', 'first', 'second']);
    });

    test.each([
      'INSERT INTO _spine_migrations VALUES (1, 2, 3, 4, 5)',
      'CREATE TABLE mine (id); DROP TABLE _spine_migrations',
      'CREATE TABLE _spine_new (id)',
      'CREATE TABLE mine (id); ALTER TABLE mine RENAME TO _spine_new',
      'COMMIT',
      'PRAGMA user_version = 7',
    ])('of a guarded set cannot do %s', async (sql) => {
      const { engine, reopen } = await open();
      const key = newKey();
      const app = { name: 'app', guarded: true };
      observed.migrations = [{ name: 'set', migrations: [FIRST] }];
      await engine.unit(migratingUnit, key, { create: true }).tables();
      observed.migrations = [
        { name: 'set', migrations: [FIRST] },
        { ...app, migrations: [{ version: 1, name: 'bad', sql }] },
      ];
      await expect((await reopen()).unit(migratingUnit, key).tables()).rejects.toMatchObject({
        reason: 'migration_failed',
        message: expect.stringContaining('app 1 (bad)'),
      });
      observed.migrations = [
        { name: 'set', migrations: [FIRST] },
        { ...app, migrations: [{ version: 1, name: 'good', sql: 'CREATE TABLE mine (id)' }] },
      ];
      const unit = (await reopen()).unit(migratingUnit, key);
      expect(await unit.tables()).toEqual(['_spine_migrations', 'first', 'mine']);
      expect(await unit.journal()).toHaveLength(2);
    });

    test('out of order is our bug, and the unit stays closed', async () => {
      const { engine } = await open();
      deploy(SECOND, FIRST);
      await expect(engine.unit(migratingUnit, newKey(), { create: true }).tables()).rejects.toMatchObject({
        code: 'internal',
      });
      expect(String(observed.incidents[0]?.error)).toContain('increasing');
    });
  });
}
