/**
 * Which scopes are still to be told what their tenant is entitled to. A scope is written down here in the transaction
 * that changed what it should know, and leaves when it has heard the newest, so that no crash in between is forgotten.
 */
import type { EntitlementProjection } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { loadAdminLogRow } from '../audit/admin-log.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { LongHandler } from '../long-work/handlers.ts';
import { appendOpsFailures } from '../operations-log/failures-store.ts';
import { loadScope, scopeOfRow } from '../scopes/store.ts';
import { loadProjection } from './store.ts';

/** How long one delivery has the scope for itself: longer than a vertical may take, so that two never overlap. */
const CLAIM_MS = 60_000;
/** After a failure a scope is tried again so much later, and twice as long after each further one. */
const RETRY_FIRST_MS = 30_000;
const RETRY_MOST_MS = 60 * 60_000;

/** Longer than a scope may take to be replaced: until then it is told nothing, because it would forget it. */
const REPLACED_WITHIN_MS = 5 * 60_000;

/** The same for long work. */
const REPLACED_BY_WORK_WITHIN_MS = 60 * 60_000;

/** Operations after which a scope knows nothing, or what it knew before. Long work says so itself: {@link renewing}. */
export const RENEWED: ReadonlySet<string> = new Set(['scopes.provision', 'scopes.rewind']);

/** States in which a scope has a database that can be told. */
const TOLD = "('active', 'suspended', 'archived')";

/** One scope and what it is to be told. */
export interface EntitlementDelivery {
  readonly scope: ScopeRecord;
  readonly projection: EntitlementProjection;
}

/** A change of a tenant's entitlements: every scope is to be told. */
export function enqueueTenant(
  { db, now }: UnitContext,
  { tenant, revision }: { readonly tenant: string; readonly revision: number },
): void {
  db.run(
    `INSERT INTO entitlement_sets (tenant, revision) VALUES (?, ?)
     ON CONFLICT (tenant) DO UPDATE SET revision = excluded.revision`,
    ...[tenant, revision],
  );
  db.run(
    `INSERT INTO entitlement_outbox (scope, tenant, due_at) SELECT id, tenant, ? FROM scopes
     WHERE tenant = ? AND status IN ${TOLD}
     ON CONFLICT (scope) DO UPDATE SET due_at = MAX(excluded.due_at, claimed_until), attempts = 0`,
    ...[now(), tenant],
  );
}

/**
 * Every scope is to be told, because the directory itself was replaced by an earlier state: what scopes have heard since
 * is newer than what is true now, unless that is given a newer revision.
 */
export function enqueueAll({ db, now }: UnitContext, revision: number): void {
  db.run(
    `INSERT INTO entitlement_sets (tenant, revision) SELECT id, ? FROM tenants WHERE status <> 'reaped'
     ON CONFLICT (tenant) DO UPDATE SET revision = excluded.revision`,
    revision,
  );
  db.run('DELETE FROM entitlement_outbox');
  db.run(
    `INSERT INTO entitlement_outbox (scope, tenant, due_at) SELECT id, tenant, ? FROM scopes WHERE status IN ${TOLD}`,
    now(),
  );
}

/**
 * One scope is to be told, because it is new or was replaced by an earlier state of itself.
 * @param afterMs how long to wait first, in milliseconds, while the scope is still being replaced. Default: not at all.
 */
export function enqueueScope(
  { db, now }: UnitContext,
  { tenant, scope }: { readonly tenant: string; readonly scope: string },
  afterMs = 0,
): void {
  db.run(
    `INSERT INTO entitlement_outbox (scope, tenant, due_at)
     SELECT s.id, s.tenant, ? FROM scopes s JOIN entitlement_sets e ON e.tenant = s.tenant WHERE s.id = ? AND s.tenant = ?
     ON CONFLICT (scope) DO UPDATE SET due_at = MAX(excluded.due_at, claimed_until), attempts = 0`,
    ...[now() + afterMs, scope, tenant],
  );
}

/** The same for the scope of an effect that begins or has ended, in the transaction in which it does. */
export function enqueueRenewed(
  context: UnitContext,
  { intent, ended }: { readonly intent: number; readonly ended: boolean },
): void {
  const row = loadAdminLogRow(context.db, intent);
  if (!row?.tenant || !row.scope || !RENEWED.has(row.action)) return;
  enqueueScope(context, { tenant: row.tenant, scope: row.scope }, ended ? 0 : REPLACED_WITHIN_MS);
}

/**
 * The same for long work, as it begins: whatever becomes of it, the scope is told again. Where it ends well, that is
 * right then, by the effect.
 */
export function renewing(handler: LongHandler): LongHandler {
  return {
    ...handler,
    begin: (context, call) => {
      const beginning = handler.begin(context, call);
      const { tenant, scope } = beginning.intent.target;
      if (tenant && scope) enqueueScope(context, { tenant, scope }, REPLACED_BY_WORK_WITHIN_MS);
      return beginning;
    },
  };
}

/** How many scopes of a tenant have not heard of the newest change. */
export function countOwed(db: SqlDatabase, tenant: string): number {
  const row = db.get<{ count: number }>(
    'SELECT COUNT(*) AS count FROM entitlement_outbox WHERE tenant = ?',
    tenant,
  );
  return row?.count ?? 0;
}

export const DUE = 'SELECT scope, tenant FROM entitlement_outbox WHERE due_at <= ? ORDER BY due_at LIMIT ?';
export const DUE_OF_TENANT =
  'SELECT scope, tenant FROM entitlement_outbox WHERE tenant = ? AND due_at <= ? ORDER BY due_at LIMIT ?';

export const outboxMethods = (context: UnitContext) => ({
  /** A scope was replaced by an earlier state of itself. */
  oweEntitlements: (ref: { readonly tenant: string; readonly scope: string }): null => {
    enqueueScope(context, ref);
    return null;
  },

  /** Takes scopes that are due, of one tenant or of all, for a minute each. The longest due first. */
  claimEntitlements: ({
    tenant,
    limit,
  }: {
    readonly tenant?: string;
    readonly limit: number;
  }): readonly EntitlementDelivery[] => {
    const { db } = context;
    const nowMs = context.now();
    const due =
      tenant === undefined
        ? db.all<OutboxRef>(DUE, nowMs, limit)
        : db.all<OutboxRef>(DUE_OF_TENANT, tenant, nowMs, limit);
    return due.flatMap((ref) => claim(db, ref, nowMs));
  },

  /** The scope has heard. When something newer has been said meanwhile it is due again at once. */
  entitlementsDelivered: ({ scope, projection }: EntitlementDelivery): null => {
    const { db } = context;
    const newest = loadProjection(db, scope.tenant)?.revision ?? 0;
    if (newest <= projection.revision) leave(db, scope.id);
    else
      db.run(
        'UPDATE entitlement_outbox SET due_at = ?, claimed_until = 0 WHERE scope = ?',
        context.now(),
        scope.id,
      );
    return null;
  },

  /** The scope has not heard, or nobody knows. The first of several failures is written down for staff. */
  entitlementsFailed: ({ scope, reason }: { readonly scope: ScopeRecord; readonly reason: string }): null => {
    const { db } = context;
    const row = db.get<{ attempts: number }>(
      'SELECT attempts FROM entitlement_outbox WHERE scope = ?',
      scope.id,
    );
    if (!row) return null;
    const waitMs = Math.min(RETRY_FIRST_MS * 2 ** Math.min(row.attempts, 20), RETRY_MOST_MS);
    db.run(
      'UPDATE entitlement_outbox SET due_at = ?, claimed_until = 0, attempts = attempts + 1 WHERE scope = ?',
      ...[context.now() + waitMs, scope.id],
    );
    if (row.attempts > 0) return null;
    const failure = {
      operation: 'entitlements.deliver',
      tenant: scope.tenant,
      scope: scope.id,
      vertical: scope.vertical,
      subject: null,
      reason,
      detail: 'This scope could not be told what its tenant is entitled to. It is tried again.',
    };
    appendOpsFailures(db, [failure], context.now());
    return null;
  },
});

interface OutboxRef {
  readonly scope: string;
  readonly tenant: string;
}

function claim(db: SqlDatabase, ref: OutboxRef, nowMs: number): EntitlementDelivery[] {
  const row = loadScope(db, ref);
  const projection = loadProjection(db, ref.tenant);
  if (!row || row.status === 'reaped' || row.status === 'provisioning' || !projection) {
    leave(db, ref.scope);
    return [];
  }
  const untilMs = nowMs + CLAIM_MS;
  db.run(
    'UPDATE entitlement_outbox SET due_at = ?, claimed_until = ? WHERE scope = ?',
    ...[untilMs, untilMs, ref.scope],
  );
  return [{ scope: scopeOfRow(row), projection }];
}

function leave(db: SqlDatabase, scope: string): void {
  db.run('DELETE FROM entitlement_outbox WHERE scope = ?', scope);
}
