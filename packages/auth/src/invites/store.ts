/** The SQL of member invites. */
import type { SqlDatabase } from '@freehold/store';

export interface InviteRow {
  readonly principal: string;
  readonly scopeId: string;
  readonly role: string;
  readonly email: string | null;
  readonly emailMatch: 'verified' | 'label';
  readonly name: string | null;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly acceptedAtMs: number | null;
  readonly acceptedBy: string | null;
  readonly revokedAtMs: number | null;
}

const COLUMNS = `principal, scope_id AS scopeId, role, email, email_match AS emailMatch, name, created_by AS createdBy,
  created_at AS createdAtMs, expires_at AS expiresAtMs, accepted_at AS acceptedAtMs, accepted_by AS acceptedBy,
  revoked_at AS revokedAtMs`;

export function insertInvite(db: SqlDatabase, invite: InviteRow, tokenHash: string): void {
  db.run(
    `INSERT INTO invites (principal, scope_id, role, token_hash, email, email_match, name, created_by, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    invite.principal,
    invite.scopeId,
    invite.role,
    tokenHash,
    invite.email,
    invite.emailMatch,
    invite.name,
    invite.createdBy,
    invite.createdAtMs,
    invite.expiresAtMs,
  );
}

export function replaceInvite(db: SqlDatabase, invite: InviteRow, tokenHash: string): void {
  db.run(
    'UPDATE invites SET role = ?, token_hash = ?, created_by = ?, created_at = ?, expires_at = ? WHERE principal = ?',
    invite.role,
    tokenHash,
    invite.createdBy,
    invite.createdAtMs,
    invite.expiresAtMs,
    invite.principal,
  );
}

export function loadInvite(db: SqlDatabase, scopeId: string, principal: string): InviteRow | undefined {
  return db.get<InviteRow>(
    `SELECT ${COLUMNS} FROM invites WHERE scope_id = ? AND principal = ?`,
    scopeId,
    principal,
  );
}

/** The look-up is by a hash of 128 random bits, so that its timing says nothing about the token. */
export function loadInviteByHash(db: SqlDatabase, tokenHash: string): InviteRow | undefined {
  return db.get<InviteRow>(`SELECT ${COLUMNS} FROM invites WHERE token_hash = ?`, tokenHash);
}

/** Invites of a scope, newest first, older than `before`. */
export function loadInvites(
  db: SqlDatabase,
  options: { scopeId: string; before: string; limit: number },
): InviteRow[] {
  return db.all<InviteRow>(
    `SELECT ${COLUMNS} FROM invites WHERE scope_id = ? AND principal < ? ORDER BY principal DESC LIMIT ?`,
    options.scopeId,
    options.before,
    options.limit,
  );
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
  db.run(
    'UPDATE invites SET accepted_at = ?, accepted_by = ? WHERE principal = ?',
    acceptance.atMs,
    acceptance.personId,
    acceptance.principal,
  );
}

export function markInviteRevoked(db: SqlDatabase, revocation: { principal: string; atMs: number }): void {
  db.run('UPDATE invites SET revoked_at = ? WHERE principal = ?', revocation.atMs, revocation.principal);
}
