/** The SQL of owner seats. */
import {
  boolean,
  defineTable,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import { hashToken } from '../lib/token.ts';

const seats = defineTable('seats', ['scopeId'], {
  scopeId: text(),
  principal: text(),
  state: text<'pending' | 'claimed'>(),
  openedAtMs: unread(time()),
  windowEndsAtMs: time(),
  claimHash: nullable(text()),
  claimExpiresAtMs: nullable(time()),
  claimedAtMs: nullable(time()),
  /** The principal of the latest owner recovery. */
  recoveryPrincipal: nullable(text()),
  /** Whether that recovery takes the seat from its holder when it is accepted. */
  recoveryReplaces: boolean(),
});
export type SeatRow = RowOf<typeof seats>;

export const loadSeat = seats.get;
/** Replaces the outstanding claim, so that an earlier link stops working. */
export const saveClaimHash = seats.updating('claimHash', 'claimExpiresAtMs');
export const saveRecovery = seats.updating('recoveryPrincipal', 'recoveryReplaces');

export function insertPendingSeat(
  db: SqlDatabase,
  seat: { scopeId: string; principal: string; openedAtMs: number; windowEndsAtMs: number },
): void {
  const unclaimed = { claimHash: null, claimExpiresAtMs: null, claimedAtMs: null };
  const unrecovered = { recoveryPrincipal: null, recoveryReplaces: false };
  seats.insert(db, { ...seat, ...unclaimed, ...unrecovered, state: 'pending' });
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

/** Gives a claimed seat to another member. It stays claimed: no window and no claim link opens. */
export function moveSeat(
  db: SqlDatabase,
  move: { scopeId: string; principal: string; personId: string },
): void {
  db.run(
    "UPDATE seats SET principal = ?, claimed_by = ?, recovery_replaces = 0 WHERE scope_id = ? AND state = 'claimed'",
    move.principal,
    move.personId,
    move.scopeId,
  );
}

/** Whether settings were ever delivered for a scope. */
export function isConfigured(db: SqlDatabase, scopeId: string): boolean {
  return db.get('SELECT 1 FROM config_versions WHERE scope_id = ?', scopeId) !== undefined;
}

/** The platform has made a forgotten scope anew. */
export function unmarkScopeForgotten(db: SqlDatabase, scopeId: string): void {
  db.run('DELETE FROM forgotten_scopes WHERE scope_hash = ?', hashToken(scopeId));
}
