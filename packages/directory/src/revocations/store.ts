/**
 * The revocations in SQL: one row for each thing with a floor, written in the transaction of the change and kept by every
 * restore of the directory. Only a restore reads them.
 */
import { toTimestamp } from '@freehold/contracts';
import type { MigrationSet, SqlDatabase, SqlValue } from '@freehold/store';
import type { DirectoryRestored, RevocationRecord } from '../declarations/backups.ts';
import { defineFeature } from '../lib/feature.ts';
import { KINDS, type Reapplying, type RevocationKind, type Target } from './floors.ts';
import { type DoneRow, REVOCATION_RULES } from './rules.ts';

/** The size of a page. */
const PAGE = 500;
/** The most revocations that a plan names. */
const NAMED_MAX = 200;

/** The set that the directory applies after its own. Filled from the admin log, once. */
export const revocationMigrations: MigrationSet = {
  name: 'revocations',
  migrations: [
    {
      version: 1,
      name: 'revocations',
      sql: `
        CREATE TABLE revocations (
          kind TEXT NOT NULL,
          -- A JSON list: the key of the thing, part by part.
          target TEXT NOT NULL,
          -- JSON: the least that stays taken away.
          floor TEXT NOT NULL,
          taken INTEGER NOT NULL,
          -- The row of the admin log that set the floor.
          sequence INTEGER NOT NULL,
          PRIMARY KEY (kind, target)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX revocations_sequence ON revocations (sequence);
      `,
      fill: fillRevocations,
    },
  ],
};

/** Sets and lifts the floors of a row of the admin log. */
export function recordRevocations(db: SqlDatabase, row: DoneRow): void {
  forgetFloors(db, row);
  for (const { kind, target, floor, taken } of REVOCATION_RULES[row.action]?.(row) ?? []) {
    const key = JSON.stringify(target);
    if (floor === null) db.run('DELETE FROM revocations WHERE kind = ? AND target = ?', kind, key);
    else
      db.run(
        `INSERT INTO revocations (kind, target, floor, taken, sequence) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (kind, target) DO UPDATE SET floor = excluded.floor, taken = excluded.taken,
           sequence = excluded.sequence`,
        ...[kind, key, JSON.stringify(floor), taken ? 1 : 0, row.sequence],
      );
  }
}

/**
 * Forgets the floors of a reaped tenant or scope, whose tombstone erases all of it from a restored state. A host name stays
 * removed, because an earlier state may have it at another scope.
 */
function forgetFloors(db: SqlDatabase, { action, tenant, scope }: DoneRow): void {
  if (action === 'scopes.reap') {
    db.run(UNBIND_OF_REAPED, scope, scope);
    db.run(`${FORGET} ('snapshot', 'connection-grant') AND ${LOGGED_OF} scope = ?)`, scope);
  } else if (action === 'tenants.reap') {
    db.run(
      `${FORGET} ('identity', 'entitlement', 'snapshot', 'connection-grant', 'credential')
      AND ${LOGGED_OF} tenant = ?)`,
      tenant,
    );
    // Its row may be of another tenant, which proved the name.
    db.run(`${FORGET} ('hostname') AND ${LOGGED_OF} tenant = ?) AND target ->> 1 = ?`, tenant, tenant);
  }
}

const FORGET = 'DELETE FROM revocations WHERE kind IN';
const LOGGED_OF = 'sequence IN (SELECT sequence FROM admin_log WHERE';
const UNBIND_OF_REAPED = `UPDATE revocations SET floor = '{"status":"removed"}'
  WHERE kind = 'hostname' AND ${LOGGED_OF} scope = ?) AND floor ->> 'scope' = ?`;

/** Fills the table of an older directory from its admin log. */
function fillRevocations(db: SqlDatabase): void {
  const actions = JSON.stringify(Object.keys(REVOCATION_RULES));
  const next = (last: number) => db.all<LogRow>(DONE_ROWS, last, actions, PAGE);
  for (let page = next(0); page.length > 0; page = next(page.at(-1)?.sequence ?? 0))
    for (const row of page)
      recordRevocations(db, {
        ...row,
        before: JSON.parse(row.before ?? '{}'),
        after: JSON.parse(row.after ?? '{}'),
      });
}

interface LogRow extends Record<string, SqlValue> {
  readonly sequence: number;
  readonly at: number;
  readonly action: string;
  readonly tenant: string | null;
  readonly scope: string | null;
  readonly vertical: string | null;
  readonly other: string | null;
  readonly before: string | null;
  readonly after: string | null;
}

/** In the order of the log. The plus keeps SQLite from an index that would make it sort. */
const DONE_ROWS = `SELECT sequence, at, action, tenant, scope, vertical, other, before, after FROM admin_log
  WHERE sequence > ? AND +outcome = 'done' AND +action IN (SELECT value FROM json_each(?)) ORDER BY sequence LIMIT ?`;

/**
 * Applies the floors to the restored state. Returns how many rows that changed, by the operation of the log.
 * @param since the newest row of this log that the restored state knows; 0 where it knows none.
 */
export function reapplyRevocations(
  db: SqlDatabase,
  { since, ...at }: Reapplying & { readonly since: number },
): DirectoryRestored['keptAway'] {
  const counts = new Map<string, number>();
  for (const { kind, target, floor, action } of revocationsSince(db, since)) {
    // The floor is of this kind: `recordRevocations` wrote them together.
    const count = KINDS[kind].apply(db, { target, floor: floor as never }, at);
    if (count > 0) counts.set(action, (counts.get(action) ?? 0) + count);
  }
  return [...counts].map(([action, count]) => ({ action, count })).sort(byAction);
}

interface StoredRevocation {
  readonly kind: RevocationKind;
  readonly target: Target;
  readonly floor: unknown;
  readonly action: string;
}

const PERMANENT = Object.entries(KINDS)
  .filter(([, { permanent }]) => permanent)
  .map(([kind]) => `'${kind}'`)
  .join(', ');

export const REVOCATIONS_SINCE = `SELECT r.kind, r.target, r.floor, r.sequence, l.action
  FROM revocations r JOIN admin_log l ON l.sequence = r.sequence
  WHERE (r.sequence > ? OR r.kind IN (${PERMANENT})) AND (r.sequence, r.kind, r.target) > (?, ?, ?)
  ORDER BY r.sequence, r.kind, r.target LIMIT ?`;

function* revocationsSince(db: SqlDatabase, since: number): Generator<StoredRevocation> {
  type Row = { kind: RevocationKind; target: string; floor: string; sequence: number; action: string };
  let last: Pick<Row, 'sequence' | 'kind' | 'target'> | undefined;
  do {
    const after = [last?.sequence ?? 0, last?.kind ?? '', last?.target ?? ''];
    const page = db.all<Row>(REVOCATIONS_SINCE, since, ...after, PAGE);
    for (const { kind, target, floor, action } of page)
      yield { kind, target: JSON.parse(target), floor: JSON.parse(floor), action };
    last = page.at(-1);
  } while (last);
}

/** Lists the revocations since, without those that were given back: a restore applies them to the backup. */
export function listRevocations(
  db: SqlDatabase,
  since: number,
): { readonly count: number; readonly items: RevocationRecord[] } {
  const items = db.all<Omit<RevocationRecord, 'at'> & { at: number }>(TAKEN_SINCE, since, NAMED_MAX);
  return {
    count: db.get<{ n: number }>(COUNT_TAKEN_SINCE, since)?.n ?? 0,
    items: items.map((row) => ({ ...row, at: toTimestamp(row.at) })),
  };
}

export const COUNT_TAKEN_SINCE = 'SELECT count(*) AS n FROM revocations WHERE sequence > ? AND taken = 1';
export const TAKEN_SINCE = `SELECT l.action, l.at, l.tenant, l.scope, l.vertical, l.other
  FROM revocations r JOIN admin_log l ON l.sequence = r.sequence
  WHERE r.sequence > ? AND r.taken = 1 ORDER BY r.sequence, r.kind, r.target LIMIT ?`;

function byAction(a: { readonly action: string }, b: { readonly action: string }): number {
  return a.action < b.action ? -1 : 1;
}

export const revocationsFeature = /* @__PURE__ */ defineFeature({ migrations: [revocationMigrations] });
