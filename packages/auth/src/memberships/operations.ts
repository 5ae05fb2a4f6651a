/**
 * The end of a membership, and of the invites that it made. Roles are in the scope, which is another unit: a
 * principal that stands for no person any more is noted here until its roles are taken there, so that `settleInvites`
 * goes on after an interruption.
 */
import { ID_PREFIXES, type PlatformError, type PrincipalId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { type InviteState, type RecoveryInvites, requireInvite, stateOf } from '../invites/operations.ts';
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
import {
  deleteBinding,
  holdsSeat,
  loadBoundPerson,
  loadNotedRoles,
  saveFormerMember,
  updateNotedRoles,
} from '../people/store.ts';
import { endGrantsOf } from '../programs/grants.ts';
import { requireSeat } from '../seats/operations.ts';
import { replacementWaits } from '../seats/recovery.ts';
import { loadSeat, moveSeat, type SeatRow } from '../seats/store.ts';

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

export interface InScope {
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

    /**
     * Gives the owner seat to another member, by its holder, who stays a member. The caller has given that member the
     * role of the owner. A repeated call changes nothing. The seat stays claimed throughout.
     * @throws PlatformError `not_found`, reason `owner_seat_unknown` or `unknown_member`; `forbidden`, reason
     * `not_seat_holder`; `conflict`, reason `replacement_waits` while the operator replaces the holder.
     */
    transferOwner(input: { readonly scopeId: string; readonly to: string; readonly by: string }): {
      principal: PrincipalId;
    } {
      const { scopeId, to, by } = input;
      const seat = requireTransferable(unit, { scopeId, to, by });
      const person = loadBoundPerson(db, scopeId, to);
      if (!person) throw unknownMember();
      if (seat.principal !== to) {
        moveSeat(db, { scopeId, principal: to, personId: person.id });
        recordEvent(unit, 'owner_transferred', { scopeId, subject: person, principal: to, actor: by });
      }
      return { principal: to as PrincipalId };
    },

    /** Checks a transfer before any role is given. Writes nothing. @throws PlatformError as `transferOwner` does. */
    requireTransferable(input: { readonly scopeId: string; readonly to: string; readonly by: string }): null {
      requireTransferable(unit, input);
      if (!loadBoundPerson(db, input.scopeId, input.to)) throw unknownMember();
      return null;
    },

    /**
     * Notes that a member is about to be given these roles: until `noteRoles`, at most those of them count that were noted
     * before. Returns what was noted before; null: nothing was, or there is no such member.
     */
    limitRoles(input: InScope & { readonly roles: readonly string[] }): { before: string[] | null } {
      const noted = loadNotedRoles(db, input);
      const before = noted ? (JSON.parse(noted) as string[]) : null;
      const atMost = input.roles.filter((role) => before?.includes(role) ?? true);
      updateNotedRoles(db, { ...input, roles: JSON.stringify(atMost) });
      return { before };
    },

    /** Notes the roles that a member has in the scope, for a restore of the scope when its database is lost. */
    noteRoles(input: InScope & { readonly roles: readonly string[] | null }): null {
      updateNotedRoles(db, { ...input, roles: input.roles && JSON.stringify(input.roles) });
      return null;
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

/** Returns the seat, which `by` holds, or `to` already by an earlier call. */
function requireTransferable(
  unit: UnitContext,
  { scopeId, to, by }: { readonly scopeId: string; readonly to: string; readonly by: string },
): SeatRow {
  const seat = requireSeat(unit, scopeId);
  if (seat.state !== 'claimed' || (seat.principal !== by && seat.principal !== to))
    throw refusal('forbidden', 'not_seat_holder', 'Only the holder of the owner seat can hand it over.');
  if (replacementWaits(unit, seat))
    throw refusal(
      'conflict',
      'replacement_waits',
      'The operator of the platform is replacing the owner, so the seat cannot be handed over now.',
    );
  return seat;
}

/** The part of the seats in invites: a recovery is the operator's, and a replacement takes the seat. */
export function makeRecoveryInvites(unit: UnitContext): RecoveryInvites {
  return {
    is: ({ scopeId, principal }) => loadSeat(unit.db, scopeId)?.recoveryPrincipal === principal,
    accepted: ({ invite: { scopeId, principal, createdBy }, personId, subject }) => {
      const seat = loadSeat(unit.db, scopeId);
      if (seat?.recoveryPrincipal !== principal || !seat.recoveryReplaces) return;
      moveSeat(unit.db, { scopeId, principal, personId });
      recordEvent(unit, 'owner_replaced', { scopeId, subject, principal, actor: createdBy });
      // The former holder's membership ends in the same transaction, or they could undo the replacement.
      endMembership(unit, { scopeId, principal: seat.principal, by: createdBy });
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
  endGrantsOf(unit, { personId: person.id, scopeId }, 'member_removed');
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
