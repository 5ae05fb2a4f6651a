/**
 * Ordered changes of a unit's schema, applied when it is opened: one transaction each, under a journal that keeps
 * the SHA-256 of the SQL, so that an applied migration whose text was changed later is found (design: kernel,
 * "Migrations").
 */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from './sql-database.ts';

/** One step. Versions are whole numbers that increase; gaps are allowed, reuse is not. */
export interface Migration {
  readonly version: number;
  /** A few words for the fleet view and for error messages. */
  readonly name: string;
  readonly sql: string;
  /** Fills what the SQL made from what the unit holds already, in the same transaction. */
  readonly fill?: (db: SqlDatabase) => void;
}

/** Migrations that are numbered together: a unit's own, or those of the vertical inside a scope. */
export interface MigrationSet {
  readonly name: string;
  readonly migrations: readonly Migration[];
  /** True for SQL that is not the platform's own: it runs through the guarded database. */
  readonly guarded?: boolean;
}

export interface AppliedMigration {
  readonly set: string;
  readonly version: number;
  readonly name: string;
  readonly digest: string;
  readonly appliedAtMs: number;
}

const JOURNAL = `CREATE TABLE IF NOT EXISTS _spine_migrations (
  "set" TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, applied_at INTEGER NOT NULL,
  PRIMARY KEY ("set", version)
) STRICT, WITHOUT ROWID`;

export interface MigrateOptions {
  readonly nowMs: number;
  /** Runs a migration's SQL; the guarded database for a vertical's own set. Default: the database itself. */
  readonly through?: SqlDatabase;
}

/**
 * Applies what is missing of a set, in order, within the caller's transaction: one that fails ends it.
 * @throws PlatformError `runtime_fault`, reason `migration_changed` (an applied one has another text now),
 * `migration_unknown` (the database is newer than the code) or `migration_failed`; the message names it.
 */
export function migrate(db: SqlDatabase, set: MigrationSet, options: MigrateOptions): void {
  assertOrdered(set);
  db.run(JOURNAL);
  const applied = new Map(appliedMigrations(db, set.name).map((each) => [each.version, each]));
  requireUnchanged(set, applied);
  for (const migration of set.migrations) {
    if (!applied.has(migration.version)) apply(db, set, migration, options);
  }
}

/** The journal, oldest first: of one set, or of all. */
export function appliedMigrations(db: SqlDatabase, set?: string): AppliedMigration[] {
  const columns = `"set", version, name, digest, applied_at AS appliedAtMs`;
  return set === undefined
    ? db.all<AppliedMigration>(`SELECT ${columns} FROM _spine_migrations ORDER BY "set", version`)
    : db.all<AppliedMigration>(
        `SELECT ${columns} FROM _spine_migrations WHERE "set" = ? ORDER BY version`,
        set,
      );
}

/** SHA-256 of a migration's SQL, in hexadecimal. */
export function migrationDigest(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex');
}

function apply(db: SqlDatabase, set: MigrationSet, migration: Migration, options: MigrateOptions): void {
  try {
    db.savepoint(() => {
      (options.through ?? db).exec(migration.sql);
      migration.fill?.(db);
      db.run(
        'INSERT INTO _spine_migrations ("set", version, name, digest, applied_at) VALUES (?, ?, ?, ?, ?)',
        set.name,
        migration.version,
        migration.name,
        migrationDigest(migration),
        options.nowMs,
      );
    });
  } catch (cause) {
    throw new PlatformError(
      'runtime_fault',
      `Migration ${label(set, migration)} failed; nothing of it was kept.`,
      {
        reason: 'migration_failed',
        cause,
      },
    );
  }
}

function requireUnchanged(set: MigrationSet, applied: ReadonlyMap<number, AppliedMigration>): void {
  const known = new Map(set.migrations.map((migration) => [migration.version, migration]));
  for (const row of applied.values()) {
    const migration = known.get(row.version);
    if (!migration) {
      throw new PlatformError(
        'runtime_fault',
        `This database was written by a newer version: it has migration ${label(set, row)}, which this one does not know.`,
        {
          reason: 'migration_unknown',
        },
      );
    }
    if (migrationDigest(migration) !== row.digest) {
      throw new PlatformError(
        'runtime_fault',
        `Migration ${label(set, row)} was applied with another text than it has now. Restore its text and add a new migration instead.`,
        {
          reason: 'migration_changed',
        },
      );
    }
  }
}

function assertOrdered(set: MigrationSet): void {
  let last = 0;
  for (const { version } of set.migrations) {
    if (!Number.isSafeInteger(version) || version <= last) {
      throw new TypeError(
        `migrations of ${set.name} must have increasing whole versions from 1; found ${version} after ${last}`,
      );
    }
    last = version;
  }
}

function label(set: MigrationSet, migration: { readonly version: number; readonly name: string }): string {
  return `${set.name} ${migration.version} (${migration.name})`;
}
