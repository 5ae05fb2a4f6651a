/** Turns a staged database into a unit of its kind: checks its schema, migrates it, and asks `admit`. */
import {
  type Admission,
  type Admit,
  type AppliedMigration,
  admissionOf,
  appliedMigrations,
  checkScript,
  migrate,
  migrationDigest,
  type SqlDatabase,
  StatementRefused,
  type UnitDefinition,
  type UnitMethods,
} from '@freehold/store';
import { copyForeign } from '../lib/fault.ts';
import { type NodeDatabase, openNodeDatabase } from '../lib/node-database.ts';
import { syncClosed } from '../processes/copied-file.ts';

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  readonly sql: string | null;
}

export interface StagedUnit<M extends UnitMethods> {
  readonly definition: UnitDefinition<M>;
  readonly key: string;
  readonly path: string;
  readonly admit: Admit | Admission | undefined;
  readonly nowMs: number;
  /** True for a copy from outside: its schema must be exactly the one that the migrations make. */
  readonly isForeign: boolean;
}

/**
 * Checks, migrates, admits and synchronises it.
 * @throws Fault `copy_foreign`, and errors of the migrations and of `admit`.
 */
export async function prepareStaged<M extends UnitMethods>(staged: StagedUnit<M>): Promise<void> {
  const database = openNodeDatabase(staged.path, { ownLog: true });
  try {
    if (staged.isForeign) requireKind(staged.definition, database.db);
    const admission = admissionOf(staged.admit);
    let seen: unknown;
    database.transact(() => {
      migrateAll(staged, database);
      staged.definition.admit?.(database.db, staged.key);
      seen = admission.look(database.db);
    });
    await admission.prepare(seen);
    database.transact(() => admission.admit(database.db));
    if (!database.emptyLog('truncate')) throw new Error('another process reads the staged database');
  } finally {
    database.close();
  }
  await syncClosed(staged.path);
}

function migrateAll<M extends UnitMethods>(
  { definition, nowMs }: StagedUnit<M>,
  database: NodeDatabase,
): void {
  for (const set of definition.migrations) {
    const through = set.guarded
      ? { through: database.guarded({ protectedPrefix: '_spine_', readOnly: false }) }
      : {};
    migrate(database.db, set, { nowMs, ...through });
  }
}

/**
 * Checks, before anything is written into a copy, that its migrations are ours and its schema is the one that they
 * make. A foreign trigger or view would run with the platform's own statements.
 */
function requireKind<M extends UnitMethods>(definition: UnitDefinition<M>, db: SqlDatabase): void {
  const applied = requireJournal(definition, db);
  const own = ownSchema(definition, applied);
  const isGuarded = definition.migrations.some(({ guarded }) => guarded);
  const found = schemaOf(db);
  for (const object of found) {
    const ours = own.get(object.name.toLowerCase());
    if (ours) {
      if (normal(ours) !== normal(object))
        throw copyForeign(`${object.type} ${object.name} is not the one that the migrations make`);
      own.delete(object.name.toLowerCase());
    } else if (!isGuarded || !isHarmless(object))
      throw copyForeign(`${object.type} ${object.name} does not belong to it`);
  }
  const [missing] = own.values();
  if (missing) throw copyForeign(`${missing.type} ${missing.name} is missing`);
}

function requireJournal<M extends UnitMethods>(
  definition: UnitDefinition<M>,
  db: SqlDatabase,
): readonly AppliedMigration[] {
  const journal = db.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '_spine_migrations'");
  if (!journal) throw copyForeign('it is no unit');
  const applied = readJournal(db);
  for (const { set, version, digest } of applied) {
    const known = definition.migrations
      .find(({ name }) => name === set)
      ?.migrations.find((migration) => migration.version === version);
    if (!known) throw copyForeign(`migration ${set} ${version} is not known here`);
    if (migrationDigest(known) !== digest)
      throw copyForeign(`migration ${set} ${version} has another text here`);
  }
  if (applied.length === 0) throw copyForeign('no migration was ever applied to it');
  return applied;
}

function readJournal(db: SqlDatabase): readonly AppliedMigration[] {
  try {
    return appliedMigrations(db);
  } catch (cause) {
    throw copyForeign('its journal of migrations cannot be read', cause);
  }
}

/** Applies the platform's migrations, as far as the copy has them, in a separate database, and returns its schema. */
function ownSchema<M extends UnitMethods>(
  definition: UnitDefinition<M>,
  applied: readonly AppliedMigration[],
): Map<string, SchemaObject> {
  const reference = openNodeDatabase(':memory:');
  try {
    for (const { name, guarded, migrations } of definition.migrations) {
      if (guarded) continue;
      const done = migrations.filter(({ version }) =>
        applied.some((each) => each.set === name && each.version === version),
      );
      reference.transact(() => migrate(reference.db, { name, migrations: done }, { nowMs: 0 }));
    }
    return new Map(schemaOf(reference.db).map((object) => [object.name.toLowerCase(), object]));
  } finally {
    reference.close();
  }
}

/** SQLite's own tables follow from the others. */
const SCHEMA = `SELECT type, name, tbl_name AS "table", sql FROM sqlite_master
  WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid`;

function schemaOf(db: SqlDatabase): SchemaObject[] {
  return db.all<SchemaObject>(SCHEMA);
}

/** Whether a vertical could have made the object itself, by the guard's rules. */
function isHarmless({ sql, table }: SchemaObject): boolean {
  if (sql === null || /^(_spine_|sqlite_)/i.test(table)) return false;
  try {
    checkScript(sql, { protectedPrefix: '_spine_', readOnly: false });
    return true;
  } catch (error) {
    if (error instanceof StatementRefused) return false;
    throw error;
  }
}

/** SQLite stores the text of a statement as it was written, and quotes differently when it renames. */
function normal({ type, table, sql }: SchemaObject): string {
  return `${type} ${table} ${sql ?? ''}`
    .replace(/["'`[\]]/g, '')
    .replace(/\s+/g, ' ')
    .toLowerCase();
}
