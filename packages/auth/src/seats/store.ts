/** The SQL of owner seats. */
import type { SqlDatabase } from '@freehold/store';
import { hashToken } from '../lib/token.ts';

export interface SeatRow {
  readonly scopeId: string;
  readonly principal: string;
  readonly state: 'pending' | 'claimed';
  readonly windowEndsAtMs: number;
  readonly claimHash: string | null;
  readonly claimExpiresAtMs: number | null;
  readonly claimedAtMs: number | null;
  /** The principal of the latest owner recovery. */
  readonly recoveryPrincipal: string | null;
}

export function loadSeat(db: SqlDatabase, scopeId: string): SeatRow | undefined {
  return db.get<SeatRow>(
    `SELECT scope_id AS scopeId, principal, state, window_ends_at AS windowEndsAtMs, claim_hash AS claimHash,
       claim_expires_at AS claimExpiresAtMs, claimed_at AS claimedAtMs,
       recovery_principal AS recoveryPrincipal
     FROM seats WHERE scope_id = ?`,
    scopeId,
  );
}

export function insertPendingSeat(
  db: SqlDatabase,
  seat: { scopeId: string; principal: string; openedAtMs: number; windowEndsAtMs: number },
): void {
  db.run(
    `INSERT INTO seats (scope_id, principal, state, opened_at, window_ends_at) VALUES (?, ?, 'pending', ?, ?)`,
    seat.scopeId,
    seat.principal,
    seat.openedAtMs,
    seat.windowEndsAtMs,
  );
}

/** Replaces the outstanding claim, so that an earlier link stops working. */
export function saveClaimHash(
  db: SqlDatabase,
  claim: { scopeId: string; hash: string; expiresAtMs: number },
): void {
  db.run(
    'UPDATE seats SET claim_hash = ?, claim_expires_at = ? WHERE scope_id = ?',
    claim.hash,
    claim.expiresAtMs,
    claim.scopeId,
  );
}

export function markSeatClaimed(
  db: SqlDatabase,
  claim: { scopeId: string; personId: string; atMs: number },
): void {
  db.run(
    `UPDATE seats SET state = 'claimed', claimed_at = ?, claimed_by = ?, claim_hash = NULL, claim_expires_at = NULL
     WHERE scope_id = ? AND state = 'pending'`,
    claim.atMs,
    claim.personId,
    claim.scopeId,
  );
}

export function saveRecovery(db: SqlDatabase, recovery: { scopeId: string; principal: string }): void {
  db.run('UPDATE seats SET recovery_principal = ? WHERE scope_id = ?', recovery.principal, recovery.scopeId);
}

/** Whether settings were ever delivered for a scope. */
export function isConfigured(db: SqlDatabase, scopeId: string): boolean {
  return db.get('SELECT 1 FROM config_versions WHERE scope_id = ?', scopeId) !== undefined;
}

/** The platform has made a forgotten scope anew. */
export function unmarkScopeForgotten(db: SqlDatabase, scopeId: string): void {
  db.run('DELETE FROM forgotten_scopes WHERE scope_hash = ?', hashToken(scopeId));
}
