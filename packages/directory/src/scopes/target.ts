/** The scope of a call to its vertical. */
import { PlatformError, type ScopeRef } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { LogTarget, ScopeRecord } from '../declarations/records.ts';
import type { ScopeTarget } from '../lib/effects.ts';
import { requireScope, scopeOfRow } from './store.ts';

/** @throws PlatformError `not_found`. */
export function loadScopeTarget(
  db: SqlDatabase,
  ref: { readonly tenant: string; readonly scope: string },
): ScopeTarget {
  const scope = scopeOfRow(requireScope(db, ref));
  return { scope, hostname: loadAppHostname(db, scope.id) };
}

/** The name at which a scope's application is reached: of its active `app` names the one bound first, or null. */
function loadAppHostname(db: SqlDatabase, scope: string): string | null {
  const row = db.get<{ hostname: string }>(
    `SELECT hostname FROM hostnames WHERE scope = ? AND surface = 'app' AND status = 'active'
     ORDER BY created_at, hostname LIMIT 1`,
    scope,
  );
  return row?.hostname ?? null;
}

/** The tenant of a scope. @throws PlatformError `not_found`. */
export function tenantOfScope(db: SqlDatabase, scope: string): string {
  const row = db.get<{ tenant: string }>('SELECT tenant FROM scopes WHERE id = ?', scope);
  if (row) return row.tenant;
  throw new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
}

/** The reference that names a scope to its vertical. */
export function scopeRefOf(scope: ScopeRecord): ScopeRef {
  return { tenantId: scope.tenant, scopeId: scope.id };
}

/** The target of a log row about this scope. */
export function logTargetOf(scope: ScopeRecord, other: string | null = null): LogTarget {
  return { tenant: scope.tenant, scope: scope.id, vertical: scope.vertical, other };
}

/** The subject of long work on one scope. */
export function scopeSubject(scope: string): string {
  return `scope:${scope}`;
}
