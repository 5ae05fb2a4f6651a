/** Long work in SQL. */
import { PlatformError } from '@freehold/contracts';
import {
  boolean,
  defineTable,
  hidden,
  integer,
  json,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { AuditedCall } from '../audit/admin-log.ts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { LoggedActor } from '../declarations/records.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';

const operations = defineTable('operations', ['id'], {
  id: text(),
  name: text(),
  state: text<OperationRecord['state']>(),
  subject: hidden(text()),
  tenant: nullable(text()),
  scope: nullable(text()),
  vertical: nullable(text()),
  other: hidden(nullable(text())),
  actorKind: hidden(text<LoggedActor['kind']>()),
  actor: hidden(text()),
  actorName: hidden(text()),
  token: hidden(nullable(text())),
  request: hidden(text()),
  intent: hidden(integer()),
  /** The description of the work, from its handler, as JSON. It is long: only runs and ends parse it. */
  work: hidden(text()),
  done: hidden(integer()),
  total: hidden(nullable(integer())),
  unit: hidden(text()),
  /** Whether it has passed the point of no return. */
  committed: hidden(boolean()),
  cancelRequested: boolean(),
  result: nullable(json<unknown>()),
  problem: nullable(json<OperationRecord['problem']>()),
  leasedUntilMs: hidden(time()),
  createdAtMs: time(),
  updatedAtMs: time(),
  finishedAtMs: nullable(time()),
});
export type OperationRow = RowOf<typeof operations>;

export const insertOperation = operations.insert;
export const loadOperation = operations.get;
const updateOperation = operations.updating(
  ...(['state', 'done', 'total', 'unit', 'committed', 'cancelRequested', 'result', 'problem'] as const),
  ...(['leasedUntilMs', 'updatedAtMs', 'finishedAtMs'] as const),
);
const shown = operations.recording<Omit<OperationRecord, 'startedBy' | 'progress' | 'cancellable'>>();

/** Updates the columns that can change. */
export function saveOperation(db: SqlDatabase, row: OperationRow): void {
  updateOperation(db, row);
  if (row.finishedAtMs !== null) db.run('DELETE FROM operation_steps WHERE operation = ?', row.id);
}

/** The unfinished work on a subject, or undefined. */
export function loadUnfinished(db: SqlDatabase, subject: string): OperationRow | undefined {
  return operations.first(db, `${operations.select} WHERE subject = ? AND finished_at IS NULL`, subject);
}

/** The ids of all unfinished work, oldest first. */
export function listUnfinished(db: SqlDatabase): string[] {
  return db
    .all<{ id: string }>("SELECT id FROM operations WHERE state IN ('queued', 'running') ORDER BY id")
    .map(({ id }) => id);
}

export const CANCEL_WORK_OF = `UPDATE operations SET cancel_requested = 1, updated_at = ?1
  WHERE state IN ('queued', 'running') AND committed = 0 AND (token = ?2 OR actor = ?2)`;

/**
 * Cancels the unfinished work of these tokens, programs and members: it stops before its next step, also in
 * another process. Work that has passed its point of no return goes on.
 */
export function cancelWorkOf(db: SqlDatabase, by: readonly string[], nowMs: number): void {
  for (const id of by) db.run(CANCEL_WORK_OF, nowMs, id);
}

/** Deletes some old records of ended work, so that no change pays for many. */
export function clearFinished(db: SqlDatabase, beforeMs: number, limit: number): void {
  db.run(
    'DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE finished_at < ? ORDER BY finished_at LIMIT ?)',
    beforeMs,
    limit,
  );
}

/** The results of the steps that are done, by name. */
export function loadSteps(db: SqlDatabase, id: string): Record<string, unknown> {
  const rows = db.all<{ name: string; value: string }>(
    'SELECT name, value FROM operation_steps WHERE operation = ?',
    id,
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, JSON.parse(value)]));
}

export function saveStep(db: SqlDatabase, id: string, name: string, value: unknown): void {
  db.run(
    `INSERT INTO operation_steps (operation, name, value) VALUES (?, ?, ?)
     ON CONFLICT (operation, name) DO UPDATE SET value = excluded.value`,
    id,
    name,
    JSON.stringify(value ?? null),
  );
}

interface OperationFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly scope?: string | undefined;
  readonly state?: string | undefined;
}

/** Newest first: an id begins with the time at which it was made. */
export const { statement: operationsPage, list: listOperations } = definePages({
  from: operations,
  where: ({ tenant, scope, state }: OperationFilter) => ({ tenant, scope, state }),
  key: 'id',
  order: 'DESC',
  item: operationOfRow,
});

/** @throws PlatformError `not_found`. */
export function requireOperation(db: SqlDatabase, id: string): OperationRow {
  const row = loadOperation(db, id);
  if (!row)
    throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
  return row;
}

export function operationOfRow(row: OperationRow): OperationRecord {
  return {
    ...shown(row),
    startedBy: { kind: row.actorKind, id: row.actor },
    progress: { done: row.done, total: row.total, unit: row.unit },
    cancellable: row.finishedAtMs === null && !row.committed,
  };
}

/** The actor that began it, also for rows that are written after a restart. */
export function auditedOperation(row: OperationRow): AuditedCall {
  return {
    actor: { kind: row.actorKind, id: row.actor, name: row.actorName },
    token: row.token,
    requestId: row.request,
    action: row.name,
  };
}
