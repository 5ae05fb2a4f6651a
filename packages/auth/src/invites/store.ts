/** The SQL of member invites. */
import { defineTable, nullable, type RowOf, type SqlDatabase, text, time, unread } from '@freehold/store';

const invites = defineTable('invites', ['principal'], {
  principal: text(),
  scopeId: text(),
  role: text(),
  tokenHash: unread(text()),
  email: nullable(text()),
  emailMatch: text<'verified' | 'label'>(),
  name: nullable(text()),
  createdBy: text(),
  createdAtMs: time(),
  expiresAtMs: time(),
  acceptedAtMs: nullable(time()),
  acceptedBy: nullable(text()),
  revokedAtMs: nullable(time()),
});
export type InviteRow = RowOf<typeof invites>;

const update = invites.updating('role', 'tokenHash', 'createdBy', 'createdAtMs', 'expiresAtMs');
const accept = invites.updating('acceptedAtMs', 'acceptedBy');
const revoke = invites.updating('revokedAtMs');
const findInScope = invites.finding('scopeId', 'principal');
/** The look-up is by a hash of 128 random bits, so that its timing says nothing about the token. */
export const loadInviteByHash = invites.finding('tokenHash');

export function insertInvite(db: SqlDatabase, invite: InviteRow, tokenHash: string): void {
  invites.insert(db, { ...invite, tokenHash });
}

export function replaceInvite(db: SqlDatabase, invite: InviteRow, tokenHash: string): void {
  update(db, { ...invite, tokenHash });
}

export function loadInvite(db: SqlDatabase, scopeId: string, principal: string): InviteRow | undefined {
  return findInScope(db, { scopeId, principal });
}

/** An invite that waits, with its maker. */
export type PendingInviteRow = Pick<InviteRow, 'principal' | 'role' | 'createdBy'>;

/** The invites of a scope that can still be accepted; with `createdBy`, those of one maker. */
export function loadPendingInvites(
  db: SqlDatabase,
  of: { scopeId: string; createdBy?: string | undefined },
): PendingInviteRow[] {
  return db.all<PendingInviteRow>(
    PENDING_INVITES_SQL[of.createdBy === undefined ? 'all' : 'ofMaker'],
    of.scopeId,
    ...(of.createdBy === undefined ? [] : [of.createdBy]),
  );
}

const PENDING = `SELECT principal, role, created_by AS createdBy FROM invites
  WHERE scope_id = ? AND accepted_at IS NULL AND revoked_at IS NULL`;
export const PENDING_INVITES_SQL = { all: PENDING, ofMaker: `${PENDING} AND created_by = ?` } as const;

const leftoverRoles = defineTable('leftover_roles', ['scopeId', 'principal'], {
  scopeId: text(),
  principal: text(),
  /** Null: every role. */
  role: nullable(text()),
});
export type LeftoverRoleRow = RowOf<typeof leftoverRoles>;

/** Notes that a principal stands for no person any more, so that its roles in the scope are to be taken. */
export const saveLeftoverRole = leftoverRoles.saving('role');
export const deleteLeftoverRole = leftoverRoles.delete;

export function loadLeftoverRoles(db: SqlDatabase, scopeId: string): LeftoverRoleRow[] {
  return leftoverRoles.all(db, `${leftoverRoles.select} WHERE scope_id = ? ORDER BY principal`, scopeId);
}

/** Invites of a scope, newest first, older than `before`. */
export function loadInvites(
  db: SqlDatabase,
  options: { scopeId: string; before: string; limit: number },
): InviteRow[] {
  return invites.all(
    db,
    // SQLite prepares a statement anew whenever a value is bound to a bare `LIMIT ?`.
    `${invites.select} WHERE scope_id = ? AND principal < ? ORDER BY principal DESC LIMIT ? + 0`,
    options.scopeId,
    options.before,
    options.limit,
  );
}

/** Whether a principal was a member of a scope and is one no more. */
export function isFormerMember(db: SqlDatabase, scopeId: string, principal: string): boolean {
  const row = db.get(
    `SELECT 1 FROM former_members f WHERE f.scope_id = ?1 AND f.principal = ?2
       AND NOT EXISTS (SELECT 1 FROM bindings b WHERE b.scope_id = ?1 AND b.principal = ?2)`,
    scopeId,
    principal,
  );
  return row !== undefined;
}

/** Whether a principal stands for a person or an invite already. */
export function isPrincipalTaken(db: SqlDatabase, scopeId: string, principal: string): boolean {
  const row = db.get(
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM invites WHERE principal = ?)
       OR EXISTS (SELECT 1 FROM seats WHERE principal = ?)
       OR EXISTS (SELECT 1 FROM bindings WHERE scope_id = ? AND principal = ?)`,
    principal,
    principal,
    scopeId,
    principal,
  );
  return row !== undefined;
}

export function markInviteAccepted(
  db: SqlDatabase,
  acceptance: { principal: string; personId: string; atMs: number },
): void {
  const { principal, personId, atMs } = acceptance;
  accept(db, { principal, acceptedAtMs: atMs, acceptedBy: personId });
}

export function markInviteRevoked(db: SqlDatabase, revocation: { principal: string; atMs: number }): void {
  revoke(db, { principal: revocation.principal, revokedAtMs: revocation.atMs });
}
