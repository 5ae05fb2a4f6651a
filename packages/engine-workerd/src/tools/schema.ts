/** The schema of a unit: removed, made from a copy, and compared with the one that the unit's migrations make. */
import { checkScript, checkStatement, migrate, StatementRefused, type UnitDefinition } from '@freehold/store';
import { durableDatabase } from '../lib/durable-database.ts';
import { copyDamaged, copyForeign } from './refusals.ts';
import { COUNTER_TABLE, quoted, type SchemaRow, schemaOf } from './tables.ts';

/** The tables that a vertical's SQL may read and never write (store: group commit). */
const GUARD = { protectedPrefix: '_spine_', readOnly: false };

/** Removes every table, view and trigger. Call it in a transaction whose foreign keys are deferred. */
export function takeDown(sql: SqlStorage): void {
  const schema = schemaOf(sql);
  const named = (...types: string[]) => schema.filter(({ type }) => types.includes(type));
  for (const { type, name } of named('view', 'trigger')) sql.exec(`DROP ${type} ${quoted(name)}`);
  // Emptied first, so that no row refers to a table that is gone.
  for (const { name } of named('table')) sql.exec(`DELETE FROM ${quoted(name)}`);
  for (const { name } of named('table')) sql.exec(`DROP TABLE ${quoted(name)}`);
}

/** Migrates an empty or older database to the unit's present version. */
export function migrateAll(
  storage: DurableObjectStorage,
  { migrations }: Pick<UnitDefinition, 'migrations'>,
  nowMs: number,
): void {
  const [db, guarded] = [durableDatabase(storage, null), durableDatabase(storage, GUARD)];
  for (const set of migrations) migrate(db, set, { nowMs, ...(set.guarded ? { through: guarded } : {}) });
}

/**
 * Returns the schema that the unit's migrations make from an empty database. Call it on an empty database, in a
 * transaction; it leaves nothing.
 */
export function expectedSchema(
  storage: DurableObjectStorage,
  definition: Pick<UnitDefinition, 'migrations'>,
  nowMs: number,
): readonly SchemaRow[] {
  migrateAll(storage, definition, nowMs);
  const made = schemaOf(storage.sql);
  takeDown(storage.sql);
  return made;
}

/** Makes the tables of a copy's schema. Returns the statements to run after the rows are loaded. */
export function putUpTables(sql: SqlStorage, schema: readonly string[]): readonly string[] {
  for (const statement of schema) {
    if (!/^CREATE (?:TABLE|INDEX|UNIQUE INDEX|VIEW|TRIGGER) /i.test(statement))
      throw copyDamaged('its schema is none');
  }
  const isTable = (statement: string): boolean => /^CREATE TABLE /i.test(statement);
  make(sql, schema.filter(isTable));
  return schema.filter((statement) => !isTable(statement));
}

/** Runs these statements: no trigger has fired by now, and indexes are built once. */
export function make(sql: SqlStorage, statements: readonly string[]): void {
  for (const statement of statements) {
    try {
      // workerd runs every statement of a text, and a schema holds one statement in each.
      checkStatement(statement, null);
      sql.exec(statement);
    } catch (cause) {
      throw copyDamaged('its schema is none that can be made', cause);
    }
  }
}

/**
 * Requires that the platform's tables are as its migrations make them, and that no other object reaches into them: a
 * foreign trigger would write whenever the platform writes.
 * @throws PlatformError `validation_failed`, reason `copy_foreign`.
 */
export function requireSchema(
  sql: SqlStorage,
  expected: readonly SchemaRow[],
  definition: Pick<UnitDefinition, 'migrations'>,
): void {
  const hasOthers = definition.migrations.some(({ guarded }) => guarded);
  const isPlatforms = ({ name, tableName }: SchemaRow): boolean =>
    !hasOthers || [name, tableName].some((each) => each.toLowerCase().startsWith(GUARD.protectedPrefix));
  const found = schemaOf(sql).filter(({ name }) => name !== COUNTER_TABLE);
  const texts = (rows: readonly SchemaRow[]): string =>
    JSON.stringify(rows.filter(isPlatforms).map(textOf).sort());
  if (texts(found) !== texts(expected)) throw copyForeign('its tables are other ones');
  for (const row of found) if (!isPlatforms(row)) requireOwnReach(row);
}

function textOf({ type, name, sql }: SchemaRow): string {
  return `${type} ${name} ${sql}`;
}

function requireOwnReach({ name, sql }: SchemaRow): void {
  try {
    checkScript(sql, GUARD);
  } catch (error) {
    if (!(error instanceof StatementRefused)) throw error;
    throw copyForeign(`its ${JSON.stringify(name)} reaches into the platform's tables`, error);
  }
}
