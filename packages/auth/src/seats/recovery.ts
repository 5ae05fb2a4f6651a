/**
 * An operator's way back for an instance whose owner can no longer sign in. A claimed seat is never re-opened (spec
 * 3.1, A-29), so that this is no claim: it is an invite, with the role that the platform gives it, and the tenant's
 * admin can read who made it and why. Whoever holds the seat stays what they are. There is one at a time: the next
 * link that is made replaces the one that nobody accepted, so that an answer which was lost leaves nothing behind.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { type Invite, insertFreshInvite, renewInvite } from '../invites/operations.ts';
import { type InviteRow, loadInvite } from '../invites/store.ts';
import { requireTtl } from '../lib/ttl.ts';
import { CLAIM_TTL_DEFAULT_MS, requireOrigin } from './operations.ts';
import { loadSeat, type SeatRow, saveRecovery } from './store.ts';

/** The longest reason: a sentence or two, and the number of a ticket. */
const WHY_LENGTH_MAX = 500;

export interface OwnerRecoveryInput {
  readonly scopeId: string;
  /** What the seat's principal has: the vertical's `ownerRoleKey`. */
  readonly role: string;
  /** Where the application is; the link points there. */
  readonly origin: string;
  /** The operator who does it. */
  readonly by: string;
  /** Why, in their words: the tenant's admin reads it. */
  readonly why: string;
  /** Said in so many words, so that nobody does it who meant a claim link. */
  readonly recover: true;
  /** Default 24 hours, at most 30 days. */
  readonly ttlMs?: number;
}

export interface OwnerRecovery {
  /** Its principal stands for nobody yet: the caller grants it the role, before it shows the link. */
  readonly invite: Invite;
  /** Shown here and never again. */
  readonly token: string;
  /** `<origin>/?invite=<token>`. */
  readonly url: string;
}

/** The recovery feature of the identity directory. */
export function makeRecoveryOperations(unit: UnitContext) {
  return {
    /**
     * Makes a link by which one person becomes a member with the owner's role, in an instance whose seat is claimed. It
     * is an invite like any other: listed, revoked, accepted once. One that is waiting is made anew, for the same
     * principal, and its former link opens nothing.
     * @throws PlatformError `validation_failed` without `recover: true`, a reason, an operator or a web address;
     * `not_found`, reason `owner_seat_unknown`; `conflict`, reason `seat_pending` while a claim link does it.
     */
    mintOwnerRecovery(input: OwnerRecoveryInput): OwnerRecovery {
      const { scopeId, role, by } = input;
      if (input.recover !== true) throw invalid('recover', 'must be true');
      const why = requireText('why', input.why);
      requireText('by', by);
      const origin = requireOrigin(input.origin);
      const seat = requireClaimedSeat(unit, scopeId);
      const ttlMs = requireTtl(input.ttlMs, CLAIM_TTL_DEFAULT_MS);
      const waiting = waitingRecovery(unit, seat);
      const terms = { scopeId, role, ttlMs, createdBy: by };
      const { invite, token } = waiting
        ? renewInvite(unit, waiting, terms)
        : insertFreshInvite(unit, { ...terms, principal: unit.newId('prn') });
      const { principal } = invite;
      saveRecovery(unit.db, { scopeId, principal });
      recordEvent(unit, 'owner_recovery_made', { scopeId, principal, actor: by, detail: { role, why } });
      return { invite, token, url: `${origin}/?invite=${token}` };
    },
  };
}

/** The way back that nobody has taken. One that somebody took back stays as it is: its role went with it. */
function waitingRecovery(unit: UnitContext, { scopeId, recoveryPrincipal }: SeatRow): InviteRow | null {
  const latest = recoveryPrincipal === null ? undefined : loadInvite(unit.db, scopeId, recoveryPrincipal);
  return latest && latest.acceptedAtMs === null && latest.revokedAtMs === null ? latest : null;
}

function requireClaimedSeat(unit: UnitContext, scopeId: string): SeatRow {
  const seat = loadSeat(unit.db, scopeId);
  if (!seat)
    throw new PlatformError('not_found', 'This instance has no owner seat.', {
      reason: 'owner_seat_unknown',
    });
  if (seat.state === 'pending')
    throw new PlatformError('conflict', 'Nobody owns this instance yet: make a claim link.', {
      reason: 'seat_pending',
    });
  return seat;
}

function requireText(path: string, text: unknown): string {
  const trimmed = typeof text === 'string' ? text.trim() : '';
  if (trimmed === '' || trimmed.length > WHY_LENGTH_MAX)
    throw invalid(path, `must be a text of 1 to ${WHY_LENGTH_MAX} characters`);
  return trimmed;
}

function invalid(path: string, message: string): PlatformError {
  return new PlatformError(
    'validation_failed',
    'Taking an instance over is asked for by name, with a reason.',
    {
      errors: [{ path, message }],
    },
  );
}
