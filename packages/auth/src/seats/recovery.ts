/**
 * Owner recovery, for an instance whose owner can no longer sign in. A claimed seat is never re-opened (spec 3.1, A-29),
 * so this is no claim: it is an invite with the owner's role, and the tenant's admin can read who made it and why. The
 * seat's holder stays what they are. A new link replaces one that was not accepted, so a lost answer leaves nothing.
 */

import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { type Invite, insertFreshInvite, renewInvite } from '../invites/operations.ts';
import { type InviteRow, loadInvite } from '../invites/store.ts';
import { invalid, refusal } from '../lib/refusals.ts';
import { requireTtl } from '../lib/token.ts';
import { CLAIM_TTL_DEFAULT_MS, requireOrigin, requireSeat } from './operations.ts';
import { type SeatRow, saveRecovery } from './store.ts';

/** The longest reason: a sentence or two, and the number of a ticket. */
const WHY_LENGTH_MAX = 500;
const NEEDS =
  'An owner recovery needs `recover: true`, `by` (the operator who makes it) and `why` (the reason).';

export interface OwnerRecoveryInput {
  readonly scopeId: string;
  /** The role of the seat's principal: the vertical's `ownerRoleKey`. */
  readonly role: string;
  readonly origin: string;
  readonly by: string;
  /** The operator's reason, which the tenant's admin reads. */
  readonly why: string;
  /** Required, so that an operator who wants a claim link does not recover by accident. */
  readonly recover: true;
  /** Default 24 hours, at most 30 days. */
  readonly ttlMs?: number;
}

export interface OwnerRecovery {
  /** Its principal stands for no person yet: the caller grants it the role before showing the link. */
  readonly invite: Invite;
  /** Shown here and never again. */
  readonly token: string;
  /** `<origin>/?invite=<token>`. */
  readonly url: string;
}

export function makeRecoveryOperations(unit: UnitContext) {
  return {
    /**
     * Makes a link by which one person becomes a member with the owner's role, in an instance whose seat is claimed. It
     * is an invite like any other: listed, revoked, accepted once. A waiting one is renewed for the same principal,
     * and its former link opens nothing.
     * @throws PlatformError `validation_failed` without `recover: true`, a reason, an operator or a web address;
     * `not_found`, reason `owner_seat_unknown`; `conflict`, reason `seat_pending` while a claim link does it.
     */
    mintOwnerRecovery(input: OwnerRecoveryInput): OwnerRecovery {
      const { scopeId, role, by } = input;
      if (input.recover !== true) throw invalid('recover', 'must be true', NEEDS);
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
      saveRecovery(unit.db, { scopeId, recoveryPrincipal: principal });
      recordEvent(unit, 'owner_recovery_made', { scopeId, principal, actor: by, detail: { role, why } });
      return { invite, token, url: `${origin}/?invite=${token}` };
    },
  };
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
