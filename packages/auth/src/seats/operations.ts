/** The owner seat of a scope: opened at provision, claimed once, never re-opened (spec 3.1). */
import { type OwnerSeat, PlatformError, type PrincipalId, toTimestamp } from '@freehold/contracts';
import { RollbackThen, type UnitContext } from '@freehold/store';
import { isConfigured } from '../config/store.ts';
import { recordEvent, recordRefusal } from '../events/operations.ts';
import { unmarkScopeForgotten } from '../forgotten-scopes/marks.ts';
import { hashToken, isSameHash, mintToken } from '../lib/token.ts';
import { requireTtl } from '../lib/ttl.ts';
import { requireSubject, savePerson } from '../people/person.ts';
import { loadBinding, loadPerson, saveBinding } from '../people/store.ts';
import type { IssuedSubject } from '../lib/subject.ts';
import { insertPendingSeat, loadSeat, markSeatClaimed, type SeatRow, saveClaimHash } from './store.ts';

/** From provision; the first sign-in inside it claims (spec 8). */
export const CLAIM_WINDOW_MS = 15 * 60_000;
/** A claim link is handed from one person to another, who may be asleep. */
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
  /** What is stored: SHA-256 of the token, hexadecimal. */
  readonly hash: string;
  readonly expiresAtMs: number;
}

export interface OwnerClaimLink extends OwnerClaim {
  /** `<origin>/?claim=<token>` (spec 2.6). */
  readonly url: string;
}

/** The seats feature of the identity directory. */
export function makeSeatOperations(unit: UnitContext) {
  const mint = (input: { scopeId: string; ttlMs?: number | undefined }): OwnerClaim => {
    const seat = requirePending(unit, input.scopeId);
    const expiresAtMs = unit.now() + requireTtl(input.ttlMs, CLAIM_TTL_DEFAULT_MS);
    const { token, hash } = mintToken(unit.random);
    saveClaimHash(unit.db, { scopeId: seat.scopeId, hash, expiresAtMs });
    recordEvent(unit, 'claim_minted', { scopeId: seat.scopeId, principal: seat.principal });
    return { token, hash, expiresAtMs };
  };

  return {
    /**
     * Opens the seat of a scope: mints its principal, bound to nobody, and starts the 15 minutes in which the
     * first sign-in claims it. Later calls change nothing. E-mail and name are accepted because a provision
     * request carries them, and are not kept: an address that somebody typed proves nothing about who signs in.
     * A scope that was forgotten, and that the platform provisions again, is a new one.
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

    /** The seat as the management contract reports it. @throws PlatformError `not_found` for a scope not known here. */
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

    /** Whether nobody owns the scope yet. @throws PlatformError `not_found` for a scope not known here. */
    needsSetup(input: { scopeId: string }): boolean {
      const seat = loadSeat(unit.db, input.scopeId);
      if (!seat) requireKnownScope(unit, input.scopeId);
      return seat?.state !== 'claimed';
    },

    /**
     * Mints a claim token; an earlier one stops working. Only its hash is kept. Default 24 hours, at most 30 days.
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
     * Gives the seat to whoever presents the outstanding token: once, before it expires, also after the window.
     *
     * Whoever holds the seat already is answered their principal, and nothing changes: a link that is opened inside
     * the window finds that signing in has claimed, and a repeated request finds its own work done. That holds for
     * any token. The seat's token was forgotten when it was claimed, so that there is none to compare with; and
     * success tells the owner nothing but what they are, which every request of theirs tells them too.
     * @throws PlatformError `conflict`, reason `seat_claimed` (by somebody else) or `already_member`; `forbidden`,
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
      const refusal = judgeClaim(seat, input.token, unit.now());
      if (refusal)
        throw new RollbackThen(refusal, () => {
          const detail = { reason: refusal.reason ?? 'claim_invalid' };
          recordRefusal(unit, 'claim_refused', { scopeId, subject, detail });
        });
      const personId = savePerson(unit, { subject }, scopeId);
      if (loadBinding(unit.db, scopeId, personId) !== undefined)
        throw new PlatformError('conflict', 'You are a member here already, under another role.', {
          reason: 'already_member',
        });
      return { principal: takeSeat(unit, { scopeId, personId, subject, how: 'claim_link' }) };
    },
  };
}

/**
 * Binds a person to the seat's principal and closes the seat for ever. The caller has seen, in this same
 * transaction, that the seat is pending and that the person is not bound in the scope.
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

/** The principal of a scope's seat when this very person holds it, or null. Binding is by issuer and subject. */
function heldSeat(unit: UnitContext, scopeId: string, subject: IssuedSubject): PrincipalId | null {
  const seat = loadSeat(unit.db, scopeId);
  const person = loadPerson(unit.db, subject.issuer, subject.sub);
  if (seat?.state !== 'claimed' || !person) return null;
  return loadBinding(unit.db, scopeId, person.id) === seat.principal ? (seat.principal as PrincipalId) : null;
}

function requirePending(unit: UnitContext, scopeId: string): SeatRow {
  const seat = loadSeat(unit.db, scopeId);
  if (!seat)
    throw new PlatformError('not_found', 'This instance has no owner seat.', {
      reason: 'owner_seat_unknown',
    });
  if (seat.state === 'claimed')
    throw new PlatformError('conflict', 'This instance has an owner already.', { reason: 'seat_claimed' });
  return seat;
}

/** A scope is known here by its seat or by settings that were delivered for it. */
function requireKnownScope(unit: UnitContext, scopeId: string): void {
  if (!isConfigured(unit.db, scopeId))
    throw new PlatformError('not_found', 'This tenant has no such instance.', { reason: 'unknown_scope' });
}

/** Why a token does not open the seat, or null when it does. Expiry is told only to who holds the right token. */
function judgeClaim(seat: SeatRow, token: string, nowMs: number): PlatformError | null {
  const { claimHash, claimExpiresAtMs } = seat;
  const presented = hashToken(token);
  if (claimHash === null || claimExpiresAtMs === null || !isSameHash(claimHash, presented))
    return new PlatformError('forbidden', 'This claim link is not valid. Ask for a new one.', {
      reason: 'claim_invalid',
    });
  if (nowMs >= claimExpiresAtMs)
    return new PlatformError('forbidden', 'This claim link has expired. Ask for a new one.', {
      reason: 'claim_expired',
    });
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

/** The origin of a web address. @throws PlatformError `validation_failed`. */
export function requireOrigin(origin: string): string {
  const url = URL.canParse(origin) ? new URL(origin) : null;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new PlatformError('validation_failed', 'A link needs the address of the application.', {
      errors: [{ path: 'origin', message: 'must be an http or https origin' }],
    });
  return url.origin;
}
