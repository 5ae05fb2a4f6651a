/**
 * The outbox of a projection: the scopes that have not confirmed the newest revision. A scope is enqueued in the transaction
 * of the change and leaves with its confirmation, so that a crash in between loses no delivery.
 */
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { loadAdminLogRow } from '../audit/admin-log.ts';
import { appendOpsFailures } from '../operations-log/failures-store.ts';
import { loadScope, type ScopeRow, scopeOfRow } from '../scopes/store.ts';
import type { Change, Delivery, Projection } from './projection.ts';

/** The claim of one delivery on its scope: longer than its time limit, so that two never overlap. */
const CLAIM_MS = 60_000;
/** The delay of the retry after a failure; it doubles with each further failure. */
const RETRY_FIRST_MS = 30_000;
const RETRY_MOST_MS = 60 * 60_000;

/**
 * Operations that replace a scope by a state without its projections, and how long each may take at most. A delivery before
 * the end would be lost with the rest.
 */
const REPLACED_WITHIN_MS: Readonly<Record<string, number>> = {
  'scopes.provision': 5 * 60_000,
  'scopes.rewind': 5 * 60_000,
  'scopes.restore': 60 * 60_000,
};

export const REPLACING: readonly string[] = Object.keys(REPLACED_WITHIN_MS);

/** The longest time for which a delivery is put off. */
const LONGEST_WAIT_MS = Math.max(CLAIM_MS, RETRY_MOST_MS, ...Object.values(REPLACED_WITHIN_MS));

/** States in which a scope has a database that can be written. */
const REACHABLE = "('active', 'suspended', 'archived')";

/** Enqueues every scope that a change concerns. */
export function enqueueChange(context: UnitContext, projection: Projection, change: Change): void {
  projection.saveRevision(context.db, change);
  enqueueReachable(context, projection, change.tenant);
}

/** Enqueues one scope, because it is new or was replaced by an earlier state of itself. */
export function enqueueScope(context: UnitContext, projection: Projection, scope: string, afterMs = 0): void {
  enqueue(context, projection, { where: `s.id = ? AND ${projection.concerns}`, params: [scope], afterMs });
}

/**
 * Enqueues the scope of an effect or of long work that replaces it, in the transaction in which that begins or ends.
 * @param intent the sequence of the intent it began with.
 */
export function enqueueReplaced(
  context: UnitContext,
  projections: readonly Projection[],
  { intent, ended }: { readonly intent: number; readonly ended: boolean },
): void {
  const row = loadAdminLogRow(context.db, intent);
  const withinMs = row && REPLACED_WITHIN_MS[row.action];
  if (!row?.scope || withinMs === undefined) return;
  for (const projection of projections) enqueueScope(context, projection, row.scope, ended ? 0 : withinMs);
}

/** Counts the scopes that have not confirmed the newest revision: of one tenant, or of all. */
export function countPending(db: SqlDatabase, { outbox }: Projection, tenant?: string): number {
  const of = tenant === undefined ? '' : ' WHERE tenant = ?';
  const params = tenant === undefined ? [] : [tenant];
  return db.get<{ count: number }>(`SELECT count(*) AS count FROM ${outbox}${of}`, ...params)?.count ?? 0;
}

/** The deliveries to claim: all that are due, those of one tenant, or that of one scope. */
export interface DeliveryFilter {
  readonly tenant?: string;
  readonly scope?: string;
}

export function dueStatement({ outbox }: Projection, { tenant, scope }: DeliveryFilter): string {
  const of = scope !== undefined ? 'scope = ? AND ' : tenant !== undefined ? 'tenant = ? AND ' : '';
  return `SELECT scope FROM ${outbox} WHERE ${of}due_at <= ? ORDER BY due_at LIMIT ?`;
}

/** Makes deliveries due that lie beyond the longest wait: their times are of a clock that was ahead. */
export const farAheadStatement = ({ outbox }: Projection): string =>
  `UPDATE ${outbox} SET due_at = ?, claimed_until = 0 WHERE due_at > ?`;

type Named = { readonly projection: Projection['name'] };

export type OutboxMethods = ReturnType<typeof outboxMethods>;

/** The methods of the unit, over all projections. */
export const outboxMethods = (
  context: UnitContext,
  projections: Readonly<Record<Projection['name'], Projection>>,
) => ({
  /** Claims deliveries that are due, the longest due first, for a minute each. */
  claimDeliveries: (input: Named & DeliveryFilter & { readonly limit: number }): readonly Delivery[] => {
    const projection = projections[input.projection];
    const of = input.scope ?? input.tenant;
    const nowMs = context.now();
    context.db.run(farAheadStatement(projection), nowMs, nowMs + LONGEST_WAIT_MS);
    const due = context.db.all<{ scope: string }>(
      dueStatement(projection, input),
      ...[...(of === undefined ? [] : [of]), nowMs, input.limit],
    );
    return due.flatMap((each) => claim(context, projection, each.scope));
  },

  /** The scope has confirmed this revision. It is due again at once when there is a newer one. */
  deliveryDone: ({ projection: name, scope, tenant, revision }: Named & Confirmed): null => {
    const projection = projections[name];
    if (projection.revision(context.db, tenant) <= revision) leave(context.db, projection, scope);
    else release(context, projection, { scope, attempts: 0, afterMs: 0 });
    return null;
  },

  /** The scope has not confirmed the revision, or its answer was lost. */
  deliveryFailed: ({ projection: name, scope, reason }: Named & Unconfirmed): null => {
    const projection = projections[name];
    const row = context.db.get<{ attempts: number }>(
      `SELECT attempts FROM ${projection.outbox} WHERE scope = ?`,
      scope.id,
    );
    if (!row) return null;
    const afterMs = Math.min(RETRY_FIRST_MS * 2 ** Math.min(row.attempts, 20), RETRY_MOST_MS);
    release(context, projection, { scope: scope.id, attempts: row.attempts + 1, afterMs });
    if (projection.report === 'sweep-runs' || row.attempts > 0) return null;
    const { id, tenant, vertical } = scope;
    const failure = { ...projection.report, tenant, scope: id, vertical, subject: null, reason };
    appendOpsFailures(context.db, [failure], context.now());
    return null;
  },

  /** Enqueues a scope that was replaced by an earlier state of itself. */
  enqueueReplacedScope: ({ scope }: { readonly scope: string }): null => {
    for (const projection of Object.values(projections)) enqueueScope(context, projection, scope);
    return null;
  },

  /** Enqueues every scope, whatever it has confirmed. */
  enqueueEveryScope: ({ projection }: Named): null => {
    enqueueReachable(context, projections[projection], null);
    return null;
  },
});

export interface Confirmed {
  readonly scope: string;
  readonly tenant: string;
  readonly revision: number;
}

export interface Unconfirmed {
  readonly scope: Delivery['scope'];
  readonly reason: string;
}

function enqueueReachable(context: UnitContext, projection: Projection, tenant: string | null): void {
  const of = tenant === null ? '' : ' AND s.tenant = ?';
  enqueue(context, projection, {
    where: `s.status IN ${REACHABLE} AND ${projection.concerns}${of}`,
    params: tenant === null ? [] : [tenant],
    afterMs: 0,
  });
}

function enqueue(
  { db, now }: UnitContext,
  { outbox, byTenant }: Projection,
  { where, params, afterMs }: { where: string; params: readonly string[]; afterMs: number },
): void {
  const [column, value] = byTenant ? ['tenant, ', 's.tenant, '] : ['', ''];
  db.run(
    `INSERT INTO ${outbox} (scope, ${column}due_at) SELECT s.id, ${value}? FROM scopes s WHERE ${where}
     ON CONFLICT (scope) DO UPDATE SET due_at = max(excluded.due_at, claimed_until), attempts = 0`,
    now() + afterMs,
    ...params,
  );
}

function claim(context: UnitContext, projection: Projection, scope: string): Delivery[] {
  const { db } = context;
  const row = loadScopeById(db, scope);
  const revision = row ? projection.revision(db, row.tenant) : 0;
  if (!row || row.status === 'reaped' || row.status === 'provisioning' || revision === 0) {
    leave(db, projection, scope);
    return [];
  }
  const untilMs = context.now() + CLAIM_MS;
  db.run(
    `UPDATE ${projection.outbox} SET due_at = ?, claimed_until = ? WHERE scope = ?`,
    ...[untilMs, untilMs, scope],
  );
  return [{ scope: scopeOfRow(row), revision, payload: projection.load(db, row, revision) }];
}

function loadScopeById(db: SqlDatabase, scope: string): ScopeRow | undefined {
  const row = db.get<{ tenant: string }>('SELECT tenant FROM scopes WHERE id = ?', scope);
  return row && loadScope(db, { tenant: row.tenant, scope });
}

function release(
  { db, now }: UnitContext,
  { outbox }: Projection,
  { scope, attempts, afterMs }: { scope: string; attempts: number; afterMs: number },
): void {
  db.run(
    `UPDATE ${outbox} SET due_at = ?, claimed_until = 0, attempts = ? WHERE scope = ?`,
    ...[now() + afterMs, attempts, scope],
  );
}

function leave(db: SqlDatabase, { outbox }: Projection, scope: string): void {
  db.run(`DELETE FROM ${outbox} WHERE scope = ?`, scope);
}
