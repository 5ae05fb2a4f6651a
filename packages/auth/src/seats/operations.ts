/** The owner seat of a scope: opened at provision, claimed once, never re-opened (spec 3.1). */

import { type OwnerSeat, type PlatformError, type PrincipalId, toTimestamp } from '@freehold/contracts';
import { RollbackThen, type UnitContext } from '@freehold/store';
import { recordEvent, recordRefusal } from '../events/operations.ts';
import { invalid, refusal } from '../lib/refusals.ts';
import { type IssuedSubject, requireSubject } from '../lib/subject.ts';
import { hashToken, isSameHash, mintToken, requireTtl } from '../lib/token.ts';
import { savePerson } from '../people/person.ts';
import { loadBinding, loadPerson, saveBinding } from '../people/store.ts';
import {
  insertPendingSeat,
  isConfigured,
  loadSeat,
  markSeatClaimed,
  type SeatRow,
  saveClaimHash,
  unmarkScopeForgotten,
} from './store.ts';

/** From provision; the first sign-in inside it claims (spec 8). */
export const CLAIM_WINDOW_MS = 15 * 60_000;
/** An operator hands a claim link to a person who may be asleep. */
export const CLAIM_TTL_DEFAULT_MS = 24 * 3_600_000;

export interface PendingOwner {
  readonly principal: PrincipalId;
  readonly state: 'pending' | 'claimed';
  readonly windowEndsAtMs: number;
  /** False when the seat was there already. */
  readonly created: boolean;
}

export interface OwnerClaim {
  /** Shown here and never again. */
  readonly token: string;
  readonly hash: string;
  readonly expiresAtMs: number;
}

export interface OwnerClaimLink extends OwnerClaim {
  /** `<origin>/?claim=<token>` (spec 2.6). */
  readonly url: string;
}

export function makeSeatOperations(unit: UnitContext) {
  const mint = (input: { scopeId: string; ttlMs?: number | undefined }): OwnerClaim => {
    const seat = requirePending(unit, input.scopeId);
    const expiresAtMs = unit.now() + requireTtl(input.ttlMs, CLAIM_TTL_DEFAULT_MS);
    const { token, hash } = mintToken(unit.random);
    saveClaimHash(unit.db, { scopeId: seat.scopeId, claimHash: hash, claimExpiresAtMs: expiresAtMs });
    recordEvent(unit, 'claim_minted', { scopeId: seat.scopeId, principal: seat.principal });
    return { token, hash, expiresAtMs };
  };

  return {
    /**
     * Opens the seat of a scope: mints its principal, bound to no person, and starts the 15 minutes in which the first
     * sign-in claims it. Later calls change nothing. E-mail and name come with a provision request and are not stored:
     * a typed address proves nothing about the person who signs in. A forgotten scope that is provisioned again is new.
     */
    setPendingOwner(input: { scopeId: string; email?: string; name?: string }): PendingOwner {
      const { scopeId } = input;
      const found = loadSeat(unit.db, scopeId);
      if (found) return { ...toPendingOwner(found), created: false };
      unmarkScopeForgotten(unit.db, scopeId);
      const openedAtMs = unit.now();
      const principal = unit.newId('prn') as PrincipalId;
      const windowEndsAtMs = openedAtMs + CLAIM_WINDOW_MS;
      insertPendingSeat(unit.db, { scopeId, principal, openedAtMs, windowEndsAtMs });
      recordEvent(unit, 'seat_opened', { scopeId, principal });
      return { principal, state: 'pending', windowEndsAtMs, created: true };
    },

    /** Returns the seat as the management contract reports it. @throws PlatformError `not_found` for an unknown scope. */
    ownerSeat(input: { scopeId: string }): OwnerSeat {
      const seat = loadSeat(unit.db, input.scopeId);
      if (!seat) {
        requireKnownScope(unit, input.scopeId);
        return { state: 'pending', reason: 'never_opened', windowEndsAt: null, claimedAt: null };
      }
      return {
        state: seat.state,
        reason: pendingReason(seat, unit.now()),
        windowEndsAt: toTimestamp(seat.windowEndsAtMs),
        claimedAt: seat.claimedAtMs === null ? null : toTimestamp(seat.claimedAtMs),
      };
    },

    /** Whether the scope has no owner yet. @throws PlatformError `not_found` for an unknown scope. */
    needsSetup(input: { scopeId: string }): boolean {
      const seat = loadSeat(unit.db, input.scopeId);
      if (!seat) requireKnownScope(unit, input.scopeId);
      return seat?.state !== 'claimed';
    },

    /**
     * Mints a claim token, stored as a hash; an earlier one stops working. Default 24 hours, at most 30 days.
     * @throws PlatformError `not_found`, reason `owner_seat_unknown`; `conflict`, reason `seat_claimed`.
     */
    mintOwnerClaim: mint,

    /** {@link mintOwnerClaim} together with the link. @throws as it does, and `validation_failed` on a bad origin. */
    mintOwnerClaimLink(input: { scopeId: string; origin: string; ttlMs?: number }): OwnerClaimLink {
      const origin = requireOrigin(input.origin);
      const claim = mint(input);
      return { ...claim, url: `${origin}/?claim=${claim.token}` };
    },

    /**
     * Gives the seat to the subject that presents the outstanding token: once, before it expires, also after the
     * window. The present owner gets their principal for any token and nothing changes: a link opened inside the
     * window finds that signing in has claimed, and a repeated request finds its own work done. It tells the owner
     * nothing that their other requests do not.
     * @throws PlatformError `conflict`, reason `seat_claimed` (by another person) or `already_member`; `forbidden`,
     * reason `claim_invalid` or `claim_expired`; `not_found`, reason `owner_seat_unknown`.
     */
    claimOwner(input: { scopeId: string; token: string; subject: IssuedSubject }): {
      principal: PrincipalId;
    } {
      const { scopeId, subject } = input;
      requireSubject(subject);
      const held = heldSeat(unit, scopeId, subject);
      if (held !== null) return { principal: held };
      const seat = requirePending(unit, scopeId);
      const refused = judgeClaim(seat, input.token, unit.now());
      if (refused)
        throw new RollbackThen(refused, () => {
          const detail = { reason: refused.reason ?? 'claim_invalid' };
          recordRefusal(unit, 'claim_refused', { scopeId, subject, detail });
        });
      const personId = savePerson(unit, { subject }, scopeId);
      if (loadBinding(unit.db, scopeId, personId) !== undefined)
        throw refusal('conflict', 'already_member', 'You are a member here already, under another role.');
      return { principal: takeSeat(unit, { scopeId, personId, subject, how: 'claim_link' }) };
    },
  };
}

/**
 * Binds a person to the seat's principal and closes the seat for ever. The caller has seen, in this same transaction,
 * that the seat is pending and that the person is not bound in the scope.
 */
export function takeSeat(
  unit: UnitContext,
  claim: { scopeId: string; personId: string; subject: IssuedSubject; how: 'first_sign_in' | 'claim_link' },
): PrincipalId {
  const { scopeId, personId, subject, how } = claim;
  const { principal } = requirePending(unit, scopeId);
  const atMs = unit.now();
  markSeatClaimed(unit.db, { scopeId, personId, atMs });
  saveBinding(unit.db, { scopeId, personId, principal, sinceMs: atMs });
  recordEvent(unit, 'seat_claimed', { scopeId, subject, principal, detail: { how } });
  return principal as PrincipalId;
}

/** Returns the principal of a scope's seat when this person holds it, or null. Binding is by issuer and subject. */
function heldSeat(unit: UnitContext, scopeId: string, subject: IssuedSubject): PrincipalId | null {
  const seat = loadSeat(unit.db, scopeId);
  const person = loadPerson(unit.db, subject.issuer, subject.sub);
  if (seat?.state !== 'claimed' || !person) return null;
  return loadBinding(unit.db, scopeId, person.id) === seat.principal ? (seat.principal as PrincipalId) : null;
}

/** Returns the seat of a scope. @throws PlatformError `not_found`, reason `owner_seat_unknown`. */
export function requireSeat(unit: UnitContext, scopeId: string): SeatRow {
  const seat = loadSeat(unit.db, scopeId);
  if (!seat) throw refusal('not_found', 'owner_seat_unknown', 'This instance has no owner seat.');
  return seat;
}

function requirePending(unit: UnitContext, scopeId: string): SeatRow {
  const seat = requireSeat(unit, scopeId);
  if (seat.state === 'claimed')
    throw refusal('conflict', 'seat_claimed', 'This instance has an owner already.');
  return seat;
}

/** A scope is known here by its seat or by delivered settings. */
function requireKnownScope(unit: UnitContext, scopeId: string): void {
  if (!isConfigured(unit.db, scopeId))
    throw refusal('not_found', 'unknown_scope', 'This tenant has no such instance.');
}

/** Returns the refusal of a token, or null. Only the holder of the right token learns that it has expired. */
function judgeClaim(seat: SeatRow, token: string, nowMs: number): PlatformError | null {
  const { claimHash, claimExpiresAtMs } = seat;
  const presented = hashToken(token);
  if (claimHash === null || claimExpiresAtMs === null || !isSameHash(claimHash, presented))
    return refusal('forbidden', 'claim_invalid', 'This claim link is not valid. Ask for a new one.');
  if (nowMs >= claimExpiresAtMs)
    return refusal('forbidden', 'claim_expired', 'This claim link has expired. Ask for a new one.');
  return null;
}

function pendingReason(seat: SeatRow, nowMs: number): OwnerSeat['reason'] {
  if (seat.state === 'claimed') return null;
  if (nowMs < seat.windowEndsAtMs) return 'window_open';
  const outstanding = seat.claimExpiresAtMs !== null && nowMs < seat.claimExpiresAtMs;
  return outstanding ? 'claim_outstanding' : 'window_closed';
}

function toPendingOwner(seat: SeatRow): Omit<PendingOwner, 'created'> {
  return { principal: seat.principal as PrincipalId, state: seat.state, windowEndsAtMs: seat.windowEndsAtMs };
}

export function requireOrigin(origin: string): string {
  const url = URL.canParse(origin) ? new URL(origin) : null;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalid(
      'origin',
      'must be an http or https origin',
      'A link needs the address of the application.',
    );
  return url.origin;
}
