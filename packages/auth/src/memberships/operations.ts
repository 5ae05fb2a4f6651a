/**
 * The end of a membership, and of the invites that it made. Roles are in the scope, which is another unit: a
 * principal that stands for no person any more is noted here until its roles are taken there, so that `settleInvites`
 * goes on after an interruption.
 */
import { ID_PREFIXES, type PlatformError, type PrincipalId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { type InviteState, requireInvite, stateOf } from '../invites/operations.ts';
import {
  deleteLeftoverRole,
  type InviteRow,
  isFormerMember,
  loadInvite,
  loadLeftoverRoles,
  loadPendingInvites,
  markInviteRevoked,
  saveLeftoverRole,
} from '../invites/store.ts';
import { refusal } from '../lib/refusals.ts';
import { deleteBinding, holdsSeat, loadBoundPerson, saveFormerMember } from '../people/store.ts';
import { loadSeat } from '../seats/store.ts';

/** The terms of an invite, for the judgement of its maker. */
export interface InviteTermsNow {
  readonly principal: PrincipalId;
  readonly role: string;
  readonly state: InviteState;
  /** Null for an invite that no member made: the application's own, or the operator's. */
  readonly inviter: PrincipalId | null;
}

/** An invite of a member that can still be accepted. */
export interface PendingInvite {
  readonly principal: PrincipalId;
  readonly role: string;
  readonly inviter: PrincipalId;
  /** False for a former member, who may invite no person, whatever the scope says. */
  readonly isInviterMember: boolean;
}

/** A principal that stands for no person any more, with the role that it may still have; null: any role. */
export interface LeftoverRole {
  readonly principal: PrincipalId;
  readonly role: string | null;
}

interface InScope {
  readonly scopeId: string;
  readonly principal: string;
}

export function makeMembershipOperations(unit: UnitContext) {
  const { db } = unit;
  return {
    /**
     * Takes a person's principal away, and ends the invites that they made: their next request is a non-member's.
     * `settleInvites` takes the roles in the scope.
     * @throws PlatformError `conflict`, reason `owner_seat_held`; `not_found`, reason `unknown_member`.
     */
    removeMember(input: InScope & { readonly by: string }): { principal: PrincipalId } {
      const { scopeId, principal, by } = input;
      if (holdsSeat(db, scopeId, principal)) throw ownerSeatHeld();
      if (!endMembership(unit, { scopeId, principal, by })) throw unknownMember();
      return { principal: principal as PrincipalId };
    },

    /** Returns the terms behind a token. A query. @throws PlatformError `not_found`, reason `invite_invalid`. */
    inviteTerms(input: { readonly token: string; readonly scopeId?: string }): InviteTermsNow {
      const row = requireInvite(unit, input);
      return {
        principal: row.principal as PrincipalId,
        role: row.role,
        state: stateOf(row, unit.now()),
        inviter: inviterOf(unit, row),
      };
    },

    /** Returns the invites of members that can still be accepted; with `inviter`, those of one. A query. */
    pendingInvites(input: { readonly scopeId: string; readonly inviter?: string }): PendingInvite[] {
      const { scopeId } = input;
      return loadPendingInvites(db, { scopeId, createdBy: input.inviter }).flatMap((row) => {
        const inviter = inviterOf(unit, { ...row, scopeId });
        if (inviter === null) return [];
        const isInviterMember = !isFormerMember(db, scopeId, inviter);
        return [{ principal: row.principal as PrincipalId, role: row.role, inviter, isInviterMember }];
      });
    },

    /** Ends invites whose maker lost the right to make them. One that was accepted or revoked meanwhile stays so. */
    withdrawInvites(input: { readonly scopeId: string; readonly principals: readonly string[] }): null {
      const { scopeId } = input;
      for (const principal of input.principals) withdrawInvite(unit, { scopeId, principal });
      return null;
    },

    /** Returns the roles that are to be taken in the scope. A query. */
    leftoverRoles(input: { readonly scopeId: string }): LeftoverRole[] {
      return loadLeftoverRoles(db, input.scopeId).map(({ principal, role }) => ({
        principal: principal as PrincipalId,
        role,
      }));
    },

    /** Notes that these principals have no role in the scope any more. */
    leftoverRolesTaken(input: { readonly scopeId: string; readonly principals: readonly string[] }): null {
      const { scopeId } = input;
      for (const principal of input.principals) deleteLeftoverRole(db, { scopeId, principal });
      return null;
    },
  };
}

/** Ends a membership with its invites, in the present transaction. Returns false for a principal that is no member. */
export function endMembership(
  unit: UnitContext,
  { scopeId, principal, by }: InScope & { by: string },
): boolean {
  const person = loadBoundPerson(unit.db, scopeId, principal);
  if (!person) return false;
  saveFormerMember(unit.db, { scopeId, principal, personId: person.id, untilMs: unit.now() });
  deleteBinding(unit.db, scopeId, principal);
  saveLeftoverRole(unit.db, { scopeId, principal, role: null });
  recordEvent(unit, 'member_removed', { scopeId, subject: person, principal, actor: by });
  for (const invite of loadPendingInvites(unit.db, { scopeId, createdBy: principal }))
    withdrawInvite(unit, { scopeId, principal: invite.principal });
  return true;
}

function withdrawInvite(unit: UnitContext, { scopeId, principal }: InScope): void {
  const row = loadInvite(unit.db, scopeId, principal);
  if (!row || row.acceptedAtMs !== null || row.revokedAtMs !== null || inviterOf(unit, row) === null) return;
  markInviteRevoked(unit.db, { principal, atMs: unit.now() });
  saveLeftoverRole(unit.db, { scopeId, principal, role: row.role });
  recordEvent(unit, 'invite_revoked', { scopeId, principal, detail: { reason: 'inviter_lost_right' } });
}

/** Returns the member who made an invite, or null: a recovery is the operator's, and an application may name itself. */
function inviterOf(
  unit: UnitContext,
  { scopeId, principal, createdBy }: Pick<InviteRow, 'scopeId' | 'principal' | 'createdBy'>,
): PrincipalId | null {
  if (!createdBy.startsWith(`${ID_PREFIXES.principal}_`)) return null;
  return loadSeat(unit.db, scopeId)?.recoveryPrincipal === principal ? null : (createdBy as PrincipalId);
}

/** The refusal to remove or lower the holder of the owner seat while others are owners too. */
export function ownerSeatHeld(): PlatformError {
  return refusal(
    'conflict',
    'owner_seat_held',
    'This member holds the owner seat. They hand it over, or the operator replaces the owner, before they can be removed.',
  );
}

export function unknownMember(): PlatformError {
  return refusal('not_found', 'unknown_member', 'There is no such member here.');
}
