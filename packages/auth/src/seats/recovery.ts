/**
 * Owner recovery, for an instance whose owner can no longer sign in, or must be replaced. A claimed seat is never
 * re-opened (spec 3.1, A-29), so this is no claim: it is an invite with the owner's role, and the tenant's admin can read
 * who made it and why. A recovery leaves the seat with its holder; a replacement takes it when the link is accepted. A new
 * link replaces one that was not accepted, so a lost answer leaves nothing. Only the operator ends such a link.
 */

import type { PrincipalId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { type Invite, insertFreshInvite, renewInvite } from '../invites/operations.ts';
import { type InviteRow, loadInvite, markInviteRevoked, saveLeftoverRole } from '../invites/store.ts';
import { invalid, refusal } from '../lib/refusals.ts';
import { requireTtl } from '../lib/token.ts';
import { loadMember } from '../people/store.ts';
import { CLAIM_TTL_DEFAULT_MS, requireOrigin, requireSeat } from './operations.ts';
import { type SeatRow, saveRecovery } from './store.ts';

/** The longest reason: a sentence or two, and the number of a ticket. */
const WHY_LENGTH_MAX = 500;
const NEEDS =
  'An owner recovery needs `recover: true`, or `replace: true`, `by` (the operator who makes it) and `why` (the reason).';

interface RecoveryOrder {
  readonly scopeId: string;
  /** The role of the seat's principal: the vertical's `ownerRoleKey`. */
  readonly role: string;
  readonly origin: string;
  readonly by: string;
  /** The operator's reason, which the tenant's admin reads. */
  readonly why: string;
  /** Default 24 hours, at most 30 days. */
  readonly ttlMs?: number;
}

export interface OwnerRecoveryInput extends RecoveryOrder {
  /** Required, so that an operator who wants a claim link does not recover by accident. */
  readonly recover: true;
}

export interface OwnerReplacementInput extends RecoveryOrder {
  /** Required, so that the holder of the seat is not displaced by accident. */
  readonly replace: true;
}

export interface OwnerRecovery {
  /** Its principal stands for no person yet: the caller grants it the role before showing the link. */
  readonly invite: Invite;
  /** Shown here and never again. */
  readonly token: string;
  /** `<origin>/?invite=<token>`. */
  readonly url: string;
}

export interface OwnerReplacement extends OwnerRecovery {
  /** The present holder of the seat, who is told. */
  readonly holder: {
    readonly principal: PrincipalId;
    readonly name: string | null;
    readonly email: string | null;
  };
}

export function makeRecoveryOperations(unit: UnitContext) {
  const mint = (input: RecoveryOrder, { replaces }: { readonly replaces: boolean }): OwnerRecovery => {
    const { scopeId, role, by } = input;
    const why = requireText('why', input.why);
    requireText('by', by);
    const origin = requireOrigin(input.origin);
    const seat = requireSeat(unit, scopeId);
    if (seat.state === 'pending')
      throw refusal('conflict', 'seat_pending', 'This instance has no owner yet: make a claim link.');
    const ttlMs = requireTtl(input.ttlMs, CLAIM_TTL_DEFAULT_MS);
    const waiting = waitingRecovery(unit, seat);
    const terms = { scopeId, role, ttlMs, createdBy: by };
    const { invite, token } = waiting
      ? renewInvite(unit, waiting, terms)
      : insertFreshInvite(unit, { ...terms, principal: unit.newId('prn') });
    const { principal } = invite;
    saveRecovery(unit.db, { scopeId, recoveryPrincipal: principal, recoveryReplaces: replaces });
    const type = replaces ? 'owner_replacement_made' : 'owner_recovery_made';
    recordEvent(unit, type, { scopeId, principal, actor: by, detail: { role, why } });
    return { invite, token, url: `${origin}/?invite=${token}` };
  };

  return {
    /**
     * Makes a link by which one person becomes a member with the owner's role, in an instance whose seat is claimed. It
     * is an invite like any other: listed, revoked, accepted once. A waiting one is renewed for the same principal,
     * and its former link opens nothing.
     * @throws PlatformError `validation_failed` without `recover: true`, a reason, an operator or a web address;
     * `not_found`, reason `owner_seat_unknown`; `conflict`, reason `seat_pending` while a claim link does it.
     */
    mintOwnerRecovery(input: OwnerRecoveryInput): OwnerRecovery {
      if (input.recover !== true) throw invalid('recover', 'must be true', NEEDS);
      return mint(input, { replaces: false });
    },

    /**
     * Makes a link by which one person, who is no member yet, takes the seat from its holder. The holder stays until it is
     * accepted; then their membership ends, with their invites. Answers the holder, so that the caller tells them.
     * @throws PlatformError as `mintOwnerRecovery` does.
     */
    mintOwnerReplacement(input: OwnerReplacementInput): OwnerReplacement {
      if (input.replace !== true) throw invalid('replace', 'must be true', NEEDS);
      const made = mint(input, { replaces: true });
      const { principal } = requireSeat(unit, input.scopeId);
      const person = loadMember(unit.db, { scopeId: input.scopeId, principal });
      const holder = {
        principal: principal as PrincipalId,
        name: person?.name ?? null,
        email: person?.email ?? null,
      };
      return { ...made, holder };
    },

    /**
     * Ends a recovery or replacement that was not accepted, for the operator. Returns false when none waits.
     * `settleInvites` takes its role.
     * @throws PlatformError `not_found`, reason `owner_seat_unknown`; `validation_failed` without an operator or reason.
     */
    endOwnerRecovery(input: { readonly scopeId: string; readonly by: string; readonly why: string }): {
      readonly ended: boolean;
    } {
      const { scopeId, by } = input;
      const why = requireText('why', input.why);
      requireText('by', by);
      const seat = requireSeat(unit, scopeId);
      const waiting = waitingRecovery(unit, seat);
      if (!waiting) return { ended: false };
      const { principal, role } = waiting;
      markInviteRevoked(unit.db, { principal, atMs: unit.now() });
      saveLeftoverRole(unit.db, { scopeId, principal, role });
      saveRecovery(unit.db, { scopeId, recoveryPrincipal: principal, recoveryReplaces: false });
      recordEvent(unit, 'owner_recovery_ended', { scopeId, principal, actor: by, detail: { why } });
      return { ended: true };
    },
  };
}

/** Whether the operator's link to replace the holder of a seat can still be accepted. */
export function replacementWaits(unit: UnitContext, seat: SeatRow): boolean {
  const waiting = seat.recoveryReplaces ? waitingRecovery(unit, seat) : null;
  return waiting !== null && unit.now() < waiting.expiresAtMs;
}

/** Returns the latest recovery while it waits. A revoked one stays as it is: its role was revoked with it. */
function waitingRecovery(unit: UnitContext, { scopeId, recoveryPrincipal }: SeatRow): InviteRow | null {
  const latest = recoveryPrincipal === null ? undefined : loadInvite(unit.db, scopeId, recoveryPrincipal);
  return latest && latest.acceptedAtMs === null && latest.revokedAtMs === null ? latest : null;
}

function requireText(path: string, text: unknown): string {
  const trimmed = typeof text === 'string' ? text.trim() : '';
  if (trimmed === '' || trimmed.length > WHY_LENGTH_MAX)
    throw invalid(path, `must be a text of 1 to ${WHY_LENGTH_MAX} characters`, NEEDS);
  return trimmed;
}
