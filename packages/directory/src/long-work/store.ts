/** Long work in SQL. */
import { cutPage, type Page, PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { AuditedCall } from '../audit/admin-log.ts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { LoggedActor, LogTarget } from '../declarations/records.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

export interface OperationRow extends LogTarget {
  readonly id: string;
  readonly name: string;
  readonly state: OperationRecord['state'];
  readonly subject: string;
  readonly actorKind: LoggedActor['kind'];
  readonly actor: string;
  readonly actorName: string;
  readonly token: string | null;
  readonly request: string;
  readonly intent: number;
  /** JSON. */
  readonly work: string;
  readonly done: number;
  readonly total: number | null;
  readonly unit: string;
  /** 1 once it has passed the point of no return. */
  readonly committed: number;
  readonly cancelRequested: number;
  readonly result: string | null;
  readonly problem: string | null;
  readonly leasedUntilMs: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly finishedAtMs: number | null;
}

const COLUMNS = `id, name, state, subject, tenant, scope, vertical, other, actor_kind AS actorKind, actor,
  actor_name AS actorName, token, request, intent, work, done, total, unit, committed,
  cancel_requested AS cancelRequested, result, problem, leased_until AS leasedUntilMs, created_at AS createdAtMs,
  updated_at AS updatedAtMs, finished_at AS finishedAtMs`;

export function insertOperation(db: SqlDatabase, row: OperationRow): void {
  db.run(
    `INSERT INTO operations (id, name, state, subject, tenant, scope, vertical, other, actor_kind, actor, actor_name,
       token, request, intent, work, done, total, unit, committed, cancel_requested, leased_until, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[row.id, row.name, row.state, row.subject, row.tenant, row.scope, row.vertical, row.other],
    ...[row.actorKind, row.actor, row.actorName, row.token, row.request, row.intent, row.work],
    ...[row.done, row.total, row.unit, row.committed, row.cancelRequested, row.leasedUntilMs],
    ...[row.createdAtMs, row.updatedAtMs],
  );
}

export function loadOperation(db: SqlDatabase, id: string): OperationRow | undefined {
  return db.get<OperationRow>(`SELECT ${COLUMNS} FROM operations WHERE id = ?`, id);
}

/** Updates the columns that can change. */
export function saveOperation(db: SqlDatabase, row: OperationRow): void {
  db.run(
    `UPDATE operations SET state = ?, done = ?, total = ?, unit = ?, committed = ?, cancel_requested = ?, result = ?,
       problem = ?, leased_until = ?, updated_at = ?, finished_at = ? WHERE id = ?`,
    ...[row.state, row.done, row.total, row.unit, row.committed, row.cancelRequested, row.result],
    ...[row.problem, row.leasedUntilMs, row.updatedAtMs, row.finishedAtMs, row.id],
  );
  if (row.finishedAtMs !== null) db.run('DELETE FROM operation_steps WHERE operation = ?', row.id);
}

/** The unfinished work on a subject, or undefined. */
export function loadUnfinished(db: SqlDatabase, subject: string): OperationRow | undefined {
  return db.get<OperationRow>(
    `SELECT ${COLUMNS} FROM operations WHERE subject = ? AND finished_at IS NULL`,
    subject,
  );
}

/** The ids of all unfinished work, oldest first. */
export function listUnfinished(db: SqlDatabase): string[] {
  return db
    .all<{ id: string }>("SELECT id FROM operations WHERE state IN ('queued', 'running') ORDER BY id")
    .map(({ id }) => id);
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
export function operationsPage(filter: OperationFilter): Statement {
  const { tenant, scope, state } = filter;
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM operations`,
      where: { tenant, scope, state },
      key: 'id',
      order: 'DESC',
    },
    filter,
  );
}

export function listOperations(db: SqlDatabase, filter: OperationFilter): Page<OperationRecord> {
  const { sql, params } = operationsPage(filter);
  return cutPage(db.all<OperationRow>(sql, ...params), filter.limit, (row) => row.id, operationOfRow);
}

/** @throws PlatformError `not_found`. */
export function requireOperation(db: SqlDatabase, id: string): OperationRow {
  const row = loadOperation(db, id);
  if (!row)
    throw new PlatformError('not_found', 'There is no such operation.', { reason: 'unknown_operation' });
  return row;
}

export function operationOfRow(row: OperationRow): OperationRecord {
  return {
    id: row.id,
    name: row.name,
    state: row.state,
    tenant: row.tenant,
    scope: row.scope,
    vertical: row.vertical,
    startedBy: { kind: row.actorKind, id: row.actor },
    progress: { done: row.done, total: row.total, unit: row.unit },
    cancellable: row.finishedAtMs === null && row.committed === 0,
    cancelRequested: row.cancelRequested === 1,
    result: row.result === null ? null : JSON.parse(row.result),
    problem: row.problem === null ? null : JSON.parse(row.problem),
    createdAt: toTimestamp(row.createdAtMs),
    updatedAt: toTimestamp(row.updatedAtMs),
    finishedAt: row.finishedAtMs === null ? null : toTimestamp(row.finishedAtMs),
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
