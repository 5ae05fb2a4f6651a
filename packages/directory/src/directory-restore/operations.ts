/**
 * Restores the directory from a backup of itself: rows are staged beside the present ones, and replace them in one
 * transaction with the row of the log that says so (design: control-plane, "Audit").
 *
 * Invariants:
 * 1. History stays: the logs, usage and bills, and the list of backups. No row of the log is touched.
 * 2. Revoked rights stay revoked: tokens stay as they are now, sessions end for good, a reaped tenant or scope stays
 *    reaped; everything else has a floor in the table of revocations, which stays and is applied (`after-restore.ts`).
 * 3. The row that opens the new epoch names the old head, and verification checks that it is the row before it.
 */

import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase, SqlValue, UnitContext } from '@freehold/store';
import { z } from 'zod';
import { logHead } from '../audit/admin-log.ts';
import { loadBackup } from '../backups/store.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  type BackupRecord,
  backupId,
  backupRecord,
  type DirectoryRestored,
  revocationRecord,
  tag,
} from '../declarations/backups.ts';
import { operationRecord } from '../declarations/long-work.ts';
import type { LogTarget } from '../declarations/records.ts';
import { longWork } from '../lib/handlers.ts';
import { listRevocations } from '../revocations/store.ts';

const directoryRestorePlan = z
  .object({
    dryRun: z.literal(true),
    backup: backupRecord
      .nullable()
      .describe(
        'Null for a backup that this directory does not remember, and that is looked for in the store',
      ),
    keeps: z.array(z.string()).describe('Tables whose rows stay'),
    keptAway: z
      .object({
        count: z.int(),
        items: z.array(revocationRecord).describe('The first 200 of them'),
      })
      .describe('What was taken away since, by the log, and stays so where the backup still has it'),
  })
  .meta({ id: 'DirectoryRestorePlan' });

/** Tables that stay as they are. */
const UNTOUCHED: readonly string[] = [
  ...[
    'admin_log',
    'access_log',
    'open_intents',
    'revocations',
    'operations',
    'operation_steps',
    'staged_rows',
  ],
  ...['ops_failures', 'sweep_runs', 'issues', 'model_usage_lines', 'model_usage_days', 'meter_days'],
  // A secret that was replaced or removed is not to come back, and a preview that ended does not run.
  ...['vertical_secrets', 'previews'],
  // The round of a consent ticket records that it was used.
  ...['hostname_attempts', 'incoming_copies', 'connect_rounds'],
  ...[
    'meta',
    'staff',
    'staff_sessions',
    'staff_tokens',
    'staff_codes',
    'staff_devices',
    'staff_misses',
    'staff_policy',
  ],
  // None that was ended comes back, and a new installation lets none in that it does not know.
  ...['program_clients', 'program_grants', 'program_tokens', 'program_assertions', 'program_questions'],
  'staff_program_policy',
];
/** Tables whose rows stay, and to which missing rows are added. */
const MERGED: readonly string[] = ['tokens', 'backups', 'erasures', 'hostname_holders'];
/** Tables that are emptied: their rows mean nothing to the restored state. */
const EMPTIED: readonly string[] = ['idempotency_keys'];

/** A table of the copy, as its header names it. */
export interface StagedTable {
  readonly name: string;
  readonly columns: readonly string[];
}

export interface StagedRow {
  readonly table: StagedTable;
  /** A JSON list. */
  readonly values: string;
}

export interface RestoreDirectoryWork {
  readonly id: string;
  readonly address: string;
  /** Null for a backup that this directory does not remember. */
  readonly record: BackupRecord | null;
}

/** The result before the revocations are applied. */
type Replaced = Omit<DirectoryRestored, 'keptAway'>;

export const directoryRestore = adminOperation({
  name: 'directory.restore',
  summary: 'Replace what the directory knows by a backup',
  description:
    'Whole or not at all. The logs stay, and what happened stays: usage, issues, sweep runs, long work and the list of backups. Tokens stay as they are, so that none that was revoked works again; tenants and scopes that were reaped stay reaped. Whatever was taken away since the backup stays taken away (host names that were unbound, tenants and scopes that were suspended, grants, identities and entitlements that were deleted, versions that were rejected): keptAway counts it. A row of the admin log begins a new epoch and names the head before it. With dryRun, answers which tables would be kept, and what stays taken away. Its result is a DirectoryRestored. A backup that this directory does not remember is looked for where it would lie, so that a new installation can be given an old directory.',
  tag,
  method: 'POST',
  path: '/directory/restore',
  input: {
    query: z.strictObject({
      dryRun: z.boolean().optional().describe('True answers the plan, and changes nothing'),
    }),
    body: z.strictObject({ backup: backupId.describe('A backup of the directory') }),
  },
  output: operationRecord,
  plan: directoryRestorePlan,
  success: 202,
  staff: 'administer',
  destructive: true,
  problems: ['not_found', 'conflict', 'unsupported'],
});

export const restoreDirectory = /* @__PURE__ */ longWork<typeof directoryRestore, RestoreDirectoryWork, null>(
  directoryRestore,
  {
    plan: (context, { body }) => {
      requireNothingElse(context.db, null);
      return {
        dryRun: true,
        backup: loadBackup(context.db, body.backup),
        keeps: [...UNTOUCHED, ...MERGED].sort(),
        keptAway: listRevocations(context.db, intentOfBackup(context.db, body.backup)),
      };
    },
    begin: (context, { body }) => {
      requireNothingElse(context.db, null);
      const record = loadBackup(context.db, body.backup);
      if (record && record.kind !== 'directory') throw unknownBackup();
      const address = record?.address ?? addressOfBackup(body.backup);
      context.db.run('DELETE FROM staged_rows');
      return {
        intent: {
          target: EVERYTHING,
          before: null,
          after: { backup: body.backup, sha256: record?.sha256 ?? null },
        },
        work: { id: body.backup, address, record },
        subject: 'directory',
        unit: 'rows',
      };
    },
    settle: (context, { id }) => {
      const { db } = context;
      requireNothingElse(db, 'directory');
      const previousHead = logHead(db);
      if (!previousHead) throw new TypeError('a restore has an intent before it');
      const before = countOf(db);
      const replaced = takePlace(db);
      const lost = before();
      const epoch = 1 + epochsSoFar(db);
      const result: Replaced = { backup: id, ...replaced, lost, epoch, previousHead };
      return {
        result,
        audit: { target: EVERYTHING, before: null, after: { ...result } },
        rerouted: true,
      };
    },
  },
);

/**
 * The newest row of the log that a backup certainly contains: the intent that it was made with. 0 for a backup of another
 * installation.
 */
function intentOfBackup(db: SqlDatabase, backup: string): number {
  return db.get<{ sequence: number }>(INTENT_OF_BACKUP, backup)?.sequence ?? 0;
}

/** The plus keeps SQLite from using the index of outcomes: half of the log has the same one, and few rows this action. */
export const INTENT_OF_BACKUP = `SELECT sequence FROM admin_log
   WHERE action = 'directory-backups.create' AND +outcome = 'intent' AND json_extract(after, '$.backup') = ?`;

/** The address of a backup that this directory does not remember. */
export function addressOfBackup(id: string): string {
  return `directory/${id}.ndjson`;
}

export function unknownBackup(): PlatformError {
  return new PlatformError('not_found', 'There is no such backup of the directory.', {
    reason: 'unknown_backup',
  });
}

export function restoreMethods({ db }: UnitContext) {
  return {
    /** Stages some rows. Numbers continue from batch to batch, so that a repeated batch replaces itself. */
    stageRows: ({ from, rows }: { readonly from: number; readonly rows: readonly StagedRow[] }): null => {
      noteCommonRow(
        db,
        rows.filter(({ table }) => table.name === 'admin_log'),
      );
      rows.forEach(({ table, values }, index) => {
        if (UNTOUCHED.includes(table.name) && !isEmptyRoster(db, table.name)) return;
        // SQLite's own counters never go back, so that no number is used twice.
        if (/^(?:_spine|sqlite)_/.test(table.name) || EMPTIED.includes(table.name)) return;
        db.run(
          `INSERT INTO staged_rows (operation, number, name, value) VALUES ('', ?, ?, ?)
           ON CONFLICT (operation, number) DO UPDATE SET name = excluded.name, value = excluded.value`,
          from + index,
          JSON.stringify(table),
          values,
        );
      });
      return null;
    },
    clearStaged: (): null => {
      db.run('DELETE FROM staged_rows');
      return null;
    },
  };
}

/**
 * The newest row that the staged copy's log and this log have in common; the copy knows nothing later. 0 without one, as on
 * a new installation.
 */
export function commonSequence(db: SqlDatabase): number {
  const row = db.get<{ value: string }>("SELECT value FROM staged_rows WHERE operation = 'common'");
  return Number(row?.value ?? 0);
}

/** Until when this directory knew every backup: an older one that it lacks was deleted. 0 for never. */
function commonAtMs(db: SqlDatabase): number {
  const row = db.get<{ at: number }>('SELECT at FROM admin_log WHERE sequence = ?', commonSequence(db));
  return row?.at ?? 0;
}

/** Each row's hash covers all rows before it, so that the newest common row shows where the two logs part. */
function noteCommonRow(db: SqlDatabase, rows: readonly StagedRow[]): void {
  const common = rows.findLast(({ table: { columns }, values }) => {
    const row = JSON.parse(values) as unknown[];
    const [sequence, hash] = ['sequence', 'hash'].map((column) => row[columns.indexOf(column)]);
    if (typeof sequence !== 'number' || typeof hash !== 'string') return false;
    return db.get('SELECT 1 FROM admin_log WHERE sequence = ? AND hash = ?', sequence, hash) !== undefined;
  });
  if (!common) return;
  const sequence = (JSON.parse(common.values) as unknown[])[common.table.columns.indexOf('sequence')];
  db.run(
    `INSERT INTO staged_rows (operation, number, name, value) VALUES ('common', 0, 'admin_log', ?)
     ON CONFLICT (operation, number) DO UPDATE SET value = excluded.value`,
    String(sequence),
  );
}

const EVERYTHING: LogTarget = { tenant: null, scope: null, vertical: null, other: 'directory' };

/** The backup's roster is taken only where the present one is empty, as after a new installation. */
function isEmptyRoster(db: SqlDatabase, table: string): boolean {
  return table === 'staff' && db.get('SELECT 1 FROM staff LIMIT 1') === undefined;
}

/** Running work would continue with rows that are gone. @throws PlatformError `conflict`. */
function requireNothingElse(db: SqlDatabase, subject: string | null): void {
  const other = db.get<{ id: string }>(
    "SELECT id FROM operations WHERE state IN ('queued', 'running') AND subject IS NOT ? LIMIT 1",
    subject,
  );
  if (other)
    throw new PlatformError('conflict', `Other work is not finished yet: ${other.id}.`, {
      reason: 'operation_running',
    });
}

/** By the action, of which there are few rows: see `INTENT_OF_BACKUP` for the plus. */
export const EPOCHS_SO_FAR =
  "SELECT count(*) AS n FROM admin_log WHERE action = 'directory.restore' AND +outcome = 'done'";

function epochsSoFar(db: SqlDatabase): number {
  return db.get<{ n: number }>(EPOCHS_SO_FAR)?.n ?? 0;
}

/** Remembers the tenants and scopes, and returns a function that counts those that are gone. */
function countOf(db: SqlDatabase): () => DirectoryRestored['lost'] {
  const idsOf = (table: 'tenants' | 'scopes') =>
    new Set(db.all<{ id: string }>(`SELECT id FROM ${table}`).map(({ id }) => id));
  const [tenants, scopes] = [idsOf('tenants'), idsOf('scopes')];
  return () => ({
    tenants: lacking(tenants, idsOf('tenants')),
    scopes: lacking(scopes, idsOf('scopes')),
  });
}

function lacking(before: ReadonlySet<string>, after: ReadonlySet<string>): number {
  return [...before].filter((id) => !after.has(id)).length;
}

function takePlace(db: SqlDatabase): { readonly tables: number; readonly rows: number } {
  // Rows reference one another across tables: they have to be consistent at the end, not on the way.
  db.run('PRAGMA defer_foreign_keys = ON');
  const tombstones = ['tenants', 'scopes'].map((table) => ({
    table,
    rows: db.all<Record<string, SqlValue>>(`SELECT * FROM ${table} WHERE status = 'reaped'`),
  }));
  const isReplaced = (name: string): boolean => !UNTOUCHED.includes(name) && !MERGED.includes(name);
  const present = tablesOf(db);
  // Asked again: a member of the staff may have been added while rows were staged.
  const takesRoster = isEmptyRoster(db, 'staff');
  // A caller that missed the answer repeats the call under the same key, and must not restore twice.
  for (const name of present.keys())
    if (name === 'idempotency_keys')
      db.run(`DELETE FROM ${name} WHERE operation <> ?`, directoryRestore.name);
    else if (isReplaced(name)) db.run(`DELETE FROM "${name}"`);
  const knownSinceMs = commonAtMs(db);
  const tables = new Set<string>();
  let rows = 0;
  for (let number = -1; ; ) {
    const page = db.all<{ number: number; name: string; value: string }>(
      "SELECT number, name, value FROM staged_rows WHERE operation = '' AND number > ? ORDER BY number LIMIT 500",
      number,
    );
    const last = page.at(-1);
    if (!last) break;
    number = last.number;
    for (const row of page) {
      const table = JSON.parse(row.name) as StagedTable;
      if (table.name === 'staff' && !takesRoster) continue;
      const values = JSON.parse(row.value) as unknown[];
      if (table.name === 'backups' && Number(values[table.columns.indexOf('at')]) <= knownSinceMs) continue;
      insertRow(db, present, table, values);
      tables.add(table.name);
      rows += 1;
    }
  }
  for (const { table, rows: reaped } of tombstones) for (const row of reaped) putTombstone(db, table, row);
  db.run('DELETE FROM tokens WHERE tenant IS NOT NULL AND tenant NOT IN (SELECT id FROM tenants)');
  for (const table of ['vertical_secrets', 'previews'])
    db.run(`DELETE FROM ${table} WHERE vertical NOT IN (SELECT slug FROM verticals)`);
  db.run('DELETE FROM staged_rows');
  return { tables: tables.size, rows };
}

/** @throws PlatformError `validation_failed`, reason `copy_foreign`, for a table or column that this version lacks. */
function insertRow(
  db: SqlDatabase,
  present: ReadonlyMap<string, ReadonlySet<string>>,
  { name, columns }: StagedTable,
  values: readonly unknown[],
): void {
  const known = present.get(name);
  if (!known || columns.some((column) => !known.has(column)))
    throw new PlatformError(
      'validation_failed',
      `The backup holds ${name}, which this version of the platform does not have in this form.`,
      { reason: 'copy_foreign' },
    );
  const how = MERGED.includes(name) ? 'INSERT OR IGNORE' : 'INSERT';
  db.run(
    `${how} INTO "${name}" (${columns.map((column) => `"${column}"`).join(', ')})
     VALUES (${columns.map(() => '?').join(', ')})`,
    ...values.map(bindable),
  );
}

/** A tenant or scope that was reaped since the backup stays reaped, and its slug stays used. */
function putTombstone(db: SqlDatabase, table: string, row: Readonly<Record<string, SqlValue>>): void {
  const columns = Object.keys(row);
  // The backup may be older than the tenant. The log still knows the scope, should a later restore bring it back.
  if (table === 'scopes' && !db.get('SELECT 1 FROM tenants WHERE id = ?', row.tenant as string)) return;
  db.run(`DELETE FROM "${table}" WHERE id = ?`, row.id as string);
  db.run(
    `INSERT OR IGNORE INTO "${table}" (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    ...columns.map((column) => row[column] as SqlValue),
  );
  if (table === 'scopes') db.run('DELETE FROM hostnames WHERE scope = ?', row.id as string);
}

/** Tables and their columns, including `rowid`. */
function tablesOf(db: SqlDatabase): Map<string, Set<string>> {
  const rows = db.all<{ name: string; column: string }>(
    `SELECT m.name AS name, c.name AS "column" FROM sqlite_schema m JOIN pragma_table_info(m.name) c
     WHERE m.type = 'table' AND m.name NOT LIKE '\\_%' ESCAPE '\\' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
  );
  const tables = new Map<string, Set<string>>();
  for (const { name, column } of rows) tables.set(name, (tables.get(name) ?? new Set(['rowid'])).add(column));
  return tables;
}

/** A value as a copy writes it: see `UnitTools.export`. */
function bindable(value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  const [[kind, text] = []] = Object.entries(value as object);
  if (typeof text === 'string' && kind === '$bytes')
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  if (typeof text === 'string' && kind === '$real') return Number(text);
  throw new PlatformError('validation_failed', 'The backup holds a value that cannot be read.', {
    reason: 'copy_damaged',
  });
}
