/**
 * Which scopes are still to be told the platform's roles (spec C-22). A scope is written down in the transaction that
 * changed what it should know, and leaves when it has heard the newest: a crash in between forgets nobody.
 */
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { loadAdminLogRow } from '../audit/admin-log.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { loadScope, type ScopeRow, scopeOfRow } from '../scopes/store.ts';
import { scopeVersionOf } from '../vertical-registry/scope-versions-store.ts';
import { loadContent } from '../vertical-registry/versions-store.ts';
import { loadAllRoles } from './store.ts';

/** How long one delivery has the scope for itself: longer than a vertical may take, so that two never overlap. */
const CLAIM_MS = 60_000;
/** After a failure a scope is tried again so much later, and twice as long after each further one. */
const RETRY_FIRST_MS = 30_000;
const RETRY_MOST_MS = 60 * 60_000;
/** Longer than a scope may take to be replaced: told before that, it would forget. */
const REPLACED_WITHIN_MS = 5 * 60_000;

/** Operations after which a scope has the roles of its vertical only, or those that it had before. */
const RENEWED: ReadonlySet<string> = new Set(['scopes.provision', 'scopes.restore', 'scopes.rewind']);
/** States in which a scope has a database that can be told. */
const TOLD = "('active', 'suspended', 'archived')";

/** One scope and all roles that the platform has. */
export interface RoleDelivery {
  readonly scope: ScopeRecord;
  /** Key → permissions. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
  readonly revision: number;
  /** The permissions that the scope's version declares; null where the registry does not know it. */
  readonly declared: readonly string[] | null;
}

/** The roles have changed: every scope is to be told. */
export function enqueueEveryScope(context: UnitContext, revision: number): void {
  context.db.run(
    `INSERT INTO role_set (id, revision) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET revision = excluded.revision`,
    revision,
  );
  enqueueAllScopes(context);
}

/** One scope is to be told, because it is new or was replaced by an earlier state of itself. Nothing without roles. */
export function enqueueScope({ db, now }: UnitContext, scope: string, afterMs = 0): void {
  db.run(
    `INSERT INTO role_outbox (scope, due_at) SELECT s.id, ? FROM scopes s, role_set WHERE s.id = ?
     ON CONFLICT (scope) DO UPDATE SET due_at = max(excluded.due_at, claimed_until), attempts = 0`,
    now() + afterMs,
    scope,
  );
}

/** The same for the scope of an effect that begins or has ended, in the transaction in which it does. */
export function enqueueRolesOfRenewed(
  context: UnitContext,
  { intent, ended }: { readonly intent: number; readonly ended: boolean },
): void {
  const row = loadAdminLogRow(context.db, intent);
  if (!row?.scope || !RENEWED.has(row.action)) return;
  enqueueScope(context, row.scope, ended ? 0 : REPLACED_WITHIN_MS);
}

/** How many scopes have not heard of the newest change. */
export function countOwed(db: SqlDatabase): number {
  return db.get<{ count: number }>('SELECT count(*) AS count FROM role_outbox')?.count ?? 0;
}

export const ROLES_DUE = 'SELECT scope FROM role_outbox WHERE due_at <= ? ORDER BY due_at LIMIT ?';

export const roleMethods = (context: UnitContext) => ({
  /** Takes scopes that are due, for a minute each. The longest due first; `scope` asks for this one only. */
  claimRoleDeliveries: ({
    limit,
    scope,
  }: {
    readonly limit: number;
    readonly scope?: string;
  }): readonly RoleDelivery[] => {
    const { db } = context;
    const nowMs = context.now();
    const due =
      scope === undefined
        ? db.all<{ scope: string }>(ROLES_DUE, nowMs, limit)
        : db.all<{ scope: string }>(
            'SELECT scope FROM role_outbox WHERE scope = ? AND due_at <= ?',
            scope,
            nowMs,
          );
    if (due.length === 0) return [];
    const roles = loadAllRoles(db);
    const revision = newestRevision(db);
    return due.flatMap(({ scope: id }) => {
      const row = loadScopeById(db, id);
      if (!row || row.status === 'reaped' || row.status === 'provisioning') {
        leave(db, id);
        return [];
      }
      const untilMs = nowMs + CLAIM_MS;
      db.run('UPDATE role_outbox SET due_at = ?, claimed_until = ? WHERE scope = ?', untilMs, untilMs, id);
      return [{ scope: scopeOfRow(row), roles, revision, declared: declaredBy(db, row) }];
    });
  },

  /** The scope has heard. When the roles changed meanwhile it is due again at once. */
  rolesDelivered: ({ scope, revision }: { readonly scope: string; readonly revision: number }): null => {
    const { db } = context;
    if (newestRevision(db) <= revision) leave(db, scope);
    else db.run('UPDATE role_outbox SET due_at = ?, claimed_until = 0 WHERE scope = ?', context.now(), scope);
    return null;
  },

  /** The scope has not heard, or nobody knows: it is tried again, later each time. */
  rolesNotDelivered: ({ scope }: { readonly scope: string }): null => {
    const { db } = context;
    const row = db.get<{ attempts: number }>('SELECT attempts FROM role_outbox WHERE scope = ?', scope);
    if (!row) return null;
    const waitMs = Math.min(RETRY_FIRST_MS * 2 ** Math.min(row.attempts, 20), RETRY_MOST_MS);
    db.run(
      'UPDATE role_outbox SET due_at = ?, claimed_until = 0, attempts = attempts + 1 WHERE scope = ?',
      context.now() + waitMs,
      scope,
    );
    return null;
  },

  /** Every scope is told once more, whatever it has heard. */
  oweRolesToAll: (): null => {
    if (newestRevision(context.db) > 0) enqueueAllScopes(context);
    return null;
  },
});

function enqueueAllScopes({ db, now }: UnitContext): void {
  db.run(
    `INSERT INTO role_outbox (scope, due_at) SELECT id, ? FROM scopes WHERE status IN ${TOLD}
     ON CONFLICT (scope) DO UPDATE SET due_at = max(excluded.due_at, claimed_until), attempts = 0`,
    now(),
  );
}

function loadScopeById(db: SqlDatabase, scope: string): ScopeRow | undefined {
  const row = db.get<{ tenant: string }>('SELECT tenant FROM scopes WHERE id = ?', scope);
  return row && loadScope(db, { tenant: row.tenant, scope });
}

function declaredBy(db: SqlDatabase, scope: ScopeRow): readonly string[] | null {
  const { id } = scopeVersionOf(db, scope);
  return id === null ? null : Object.keys(loadContent(db, id).manifest.permissions);
}

function newestRevision(db: SqlDatabase): number {
  return db.get<{ revision: number }>('SELECT revision FROM role_set')?.revision ?? 0;
}

function leave(db: SqlDatabase, scope: string): void {
  db.run('DELETE FROM role_outbox WHERE scope = ?', scope);
}
