/** The SQL of members that move with a copy of a scope's data. */
import type { SqlDatabase } from '@freehold/store';

export interface CopiedRow {
  readonly principal: string;
  readonly issuer: string;
  readonly sub: string;
  readonly sinceMs: number;
  readonly owner: number;
}

export function loadCopiedMembers(db: SqlDatabase, scopeId: string): CopiedRow[] {
  return db.all<CopiedRow>(
    `SELECT b.principal, p.issuer, p.sub, b.since AS sinceMs, s.principal IS NOT NULL AS owner
     FROM bindings b
     JOIN people p ON p.id = b.person_id
     LEFT JOIN seats s ON s.scope_id = b.scope_id AND s.principal = b.principal
     WHERE b.scope_id = ? ORDER BY b.principal`,
    scopeId,
  );
}

export interface StandingRow {
  readonly principal: string;
  /** A JSON list; null: not noted. */
  readonly roles: string | null;
}

/** The members of a scope and its invites that wait. */
export function loadStanding(db: SqlDatabase, scopeId: string): StandingRow[] {
  return db.all<StandingRow>(
    `SELECT principal, roles FROM bindings WHERE scope_id = ?1
     UNION ALL
     SELECT principal, NULL FROM invites WHERE scope_id = ?1 AND accepted_at IS NULL AND revoked_at IS NULL`,
    scopeId,
  );
}

export interface BoundPerson {
  readonly personId: string;
  readonly principal: string;
  readonly issuer: string;
  readonly sub: string;
}

export function loadBoundPeople(db: SqlDatabase, scopeId: string): BoundPerson[] {
  return db.all<BoundPerson>(
    `SELECT b.person_id AS personId, b.principal, p.issuer, p.sub FROM bindings b
     JOIN people p ON p.id = b.person_id WHERE b.scope_id = ? ORDER BY b.principal`,
    scopeId,
  );
}

export function deleteBindings(db: SqlDatabase, scopeId: string): void {
  db.run('DELETE FROM bindings WHERE scope_id = ?', scopeId);
}

/** Notes a person whose principal of this scope ends, so that logs still name them. */
export function keepFormer(
  db: SqlDatabase,
  former: { scopeId: string; principal: string; personId: string; untilMs: number },
): void {
  db.run(
    'INSERT OR IGNORE INTO former_members (scope_id, principal, person_id, until) VALUES (?, ?, ?, ?)',
    former.scopeId,
    former.principal,
    former.personId,
    former.untilMs,
  );
}

/** The copied logs name the former members of their scope. */
export function copyFormerMembers(db: SqlDatabase, { from, to }: { from: string; to: string }): void {
  db.run(
    `INSERT OR IGNORE INTO former_members (scope_id, principal, person_id, until)
     SELECT ?, principal, person_id, until FROM former_members WHERE scope_id = ?`,
    to,
    from,
  );
}

/** Ends the time in which the first person who signs in takes the seat. */
export function endWindow(db: SqlDatabase, scopeId: string, nowMs: number): void {
  db.run(
    `UPDATE seats SET window_ends_at = ?2 WHERE scope_id = ?1 AND state = 'pending' AND window_ends_at > ?2`,
    scopeId,
    nowMs,
  );
}

/** Gives a seat to a person, and takes it from its holder. Claim links of before open nothing. */
export function seatPerson(
  db: SqlDatabase,
  seat: { scopeId: string; principal: string; personId: string; atMs: number },
): void {
  db.run(
    `UPDATE seats SET principal = ?, state = 'claimed', claimed_at = ?, claimed_by = ?, claim_hash = NULL,
       claim_expires_at = NULL, recovery_principal = NULL WHERE scope_id = ?`,
    seat.principal,
    seat.atMs,
    seat.personId,
    seat.scopeId,
  );
}
