/**
 * Members when the data of one scope is copied into another of the same tenant. The copy's records name principals, so
 * they keep them: each person gets the principal that they have in the copy, and the seat is the copy's.
 *
 * Invariants:
 * 1. No person becomes a member who was removed from the copied scope since, as long as the directory knows that scope.
 * 2. No window for a first owner is open over copied data.
 */
import type { PrincipalId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { deleteLeftoverRole, saveLeftoverRole } from '../invites/store.ts';
import { requireSubject } from '../lib/subject.ts';
import { savePerson } from '../people/person.ts';
import { saveBinding } from '../people/store.ts';
import { requireSeat } from '../seats/operations.ts';
import { loadSeat } from '../seats/store.ts';
import {
  copyFormerMembers,
  deleteBindings,
  endWindow,
  keepFormer,
  loadBoundPeople,
  loadCopiedMembers,
  loadStanding,
  seatPerson,
} from './store.ts';

/** A member, as a copy of a scope names them. */
export interface MemberInCopy {
  readonly principal: string;
  readonly issuer: string;
  readonly sub: string;
  readonly sinceMs: number;
  /** True for the holder of the owner seat. */
  readonly owner: boolean;
}

/** A principal that stands for a person in a scope. */
export interface PrincipalStanding {
  readonly principal: string;
  /** The roles that were last given to the member; null where none were noted. */
  readonly roles: readonly string[] | null;
  /** True for the principal of the owner seat. */
  readonly owner: boolean;
}

export interface MovedMembers {
  readonly members: number;
  /** The principal of the seat: the caller gives it the owner's role. */
  readonly owner: PrincipalId;
}

export function makeCopyOperations(unit: UnitContext) {
  const { db } = unit;
  return {
    /** Returns every member of a scope, without names and addresses: a person's next sign-in brings both. */
    membersForCopy({ scopeId }: { scopeId: string }): MemberInCopy[] {
      return loadCopiedMembers(db, scopeId).map((row) => ({ ...row, owner: row.owner === 1 }));
    },

    /**
     * Returns the principals that stand for a person: members, with the roles that were last noted, invites that wait, and
     * the principal of the seat. Null for a scope that the directory does not know. A query.
     */
    standingForCopy({ scopeId }: { scopeId: string }): PrincipalStanding[] | null {
      const seat = loadSeat(db, scopeId);
      if (!seat) return null;
      const standing = loadStanding(db, scopeId).map(({ principal, roles }) => ({
        principal,
        roles: roles === null ? null : (JSON.parse(roles) as string[]),
        owner: principal === seat.principal,
      }));
      if (standing.some(({ owner }) => owner)) return standing;
      return [...standing, { principal: seat.principal, roles: null, owner: true }];
    },

    /** Ends the window of a pending seat. A claim link still opens it. */
    endOwnerWindow({ scopeId }: { scopeId: string }): null {
      endWindow(db, scopeId, unit.now());
      return null;
    },

    /**
     * Makes the members and the seat of a scope those of the scope whose data it holds now. Its own members who are
     * none of these become former ones. Where neither the directory nor the copy knows any, all stays as it is, but
     * the window of the seat. Repeating it changes nothing.
     * @param copied the members that the copy names; null when it names none.
     * @throws PlatformError `not_found`, reason `owner_seat_unknown`.
     */
    moveMembersIn(input: {
      scopeId: string;
      from: string;
      copied: readonly MemberInCopy[] | null;
    }): MovedMembers {
      const { scopeId, from, copied } = input;
      const seat = requireSeat(unit, scopeId);
      endWindow(db, scopeId, unit.now());
      const coming = membersOf(unit, from, copied);
      if (!coming)
        return { members: loadBoundPeople(db, scopeId).length, owner: seat.principal as PrincipalId };
      const owner = coming.find((each) => each.owner);
      // A holder whom the copy does not replace stays: without an owner the scope could not be managed.
      const holder = owner
        ? undefined
        : loadBoundPeople(db, scopeId).find((each) => each.principal === seat.principal);
      replaceMembers(unit, scopeId, {
        coming: holder ? coming.filter((each) => !isSame(each, holder)) : coming,
        holder,
      });
      copyFormerMembers(db, { from, to: scopeId });
      settleLeftovers(unit, scopeId, { coming, copied: copied ?? [] });
      if (owner) takeSeatOver(unit, scopeId, owner);
      const members = loadBoundPeople(db, scopeId).length;
      recordEvent(unit, 'members_moved_in', { scopeId, detail: { from, members: String(members) } });
      return { members, owner: (owner ?? seat).principal as PrincipalId };
    },
  };
}

/** The members of the copied scope: the present ones where the directory knows it, and those of the copy otherwise. */
function membersOf(
  { db }: UnitContext,
  from: string,
  copied: readonly MemberInCopy[] | null,
): readonly MemberInCopy[] | null {
  if (!loadSeat(db, from)) return copied;
  const present = loadCopiedMembers(db, from).map((row) => ({ ...row, owner: row.owner === 1 }));
  if (!copied) return present;
  // A person who joined later is in no record of the copy, but for the owner of today.
  const named = new Set(copied.map(({ principal }) => principal));
  return present.filter(({ principal, owner }) => owner || named.has(principal));
}

function replaceMembers(
  unit: UnitContext,
  scopeId: string,
  {
    coming,
    holder,
  }: {
    readonly coming: readonly MemberInCopy[];
    readonly holder: { readonly personId: string; readonly principal: string } | undefined;
  },
): void {
  const { db } = unit;
  const before = loadBoundPeople(db, scopeId);
  deleteBindings(db, scopeId);
  if (holder) {
    const { personId, principal } = holder;
    saveBinding(db, { scopeId, personId, principal, sinceMs: unit.now() });
  }
  for (const member of coming) {
    const subject = { ...member, email: null, name: null };
    requireSubject(subject);
    const personId = savePerson(unit, { subject, session: OLDEST }, scopeId);
    saveBinding(db, { scopeId, personId, principal: member.principal, sinceMs: member.sinceMs });
  }
  const staying = new Set(loadBoundPeople(db, scopeId).map(({ principal }) => principal));
  for (const { principal, personId, issuer, sub } of before) {
    if (staying.has(principal)) continue;
    keepFormer(db, { scopeId, principal, personId, untilMs: unit.now() });
    recordEvent(unit, 'member_removed', { scopeId, subject: { issuer, sub }, principal });
  }
}

/** The copy has roles of members who stay outside: they are taken like those of a removed member. */
function settleLeftovers(
  { db }: UnitContext,
  scopeId: string,
  { coming, copied }: { readonly coming: readonly MemberInCopy[]; readonly copied: readonly MemberInCopy[] },
): void {
  const members = new Set(coming.map(({ principal }) => principal));
  for (const principal of members) deleteLeftoverRole(db, { scopeId, principal });
  for (const { principal } of copied)
    if (!members.has(principal)) saveLeftoverRole(db, { scopeId, principal, role: null });
}

/** A copy says nothing newer about a person than their own next sign-in. */
const OLDEST = { sid: '', issuedAtMs: 0 } as const;

function takeSeatOver(unit: UnitContext, scopeId: string, { principal }: MemberInCopy): void {
  const person = loadBoundPeople(unit.db, scopeId).find((each) => each.principal === principal);
  if (!person) throw new Error('the owner of a copy is no member of it');
  seatPerson(unit.db, { scopeId, principal, personId: person.personId, atMs: unit.now() });
}

function isSame(
  one: Pick<MemberInCopy, 'issuer' | 'sub'>,
  other: Pick<MemberInCopy, 'issuer' | 'sub'>,
): boolean {
  return one.issuer === other.issuer && one.sub === other.sub;
}
