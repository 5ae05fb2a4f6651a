/** Turns a verified subject into the principal it is in a scope, and keeps the list of members (spec 2.6, 3.1). */
import { cutPage, decodeCursor, type Page, PlatformError, type PrincipalId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent, requireLimit } from '../events/operations.ts';
import { takeSeat } from '../seats/operations.ts';
import { loadSeat } from '../seats/store.ts';
import { isBelowFloor } from '../sessions/floor.ts';
import type { IssuedSubject, SubjectSession } from '../subject.ts';
import { amendPerson, requireSubject, savePerson } from './person.ts';
import {
  deleteBinding,
  loadBoundPerson,
  loadMembers,
  loadResolution,
  type MemberRow,
  type PersonRow,
  type ResolutionRow,
} from './store.ts';

export interface ResolvePrincipalInput {
  readonly scopeId: string;
  readonly subject: IssuedSubject;
  /** The session the subject came with; absent for a bearer token. */
  readonly session?: SubjectSession | undefined;
}

export interface ResolvedPrincipal {
  /** Null for a stranger and for an ended session: nobody. */
  readonly principal: PrincipalId | null;
  /** True on the one call that claimed the owner seat. */
  readonly claimedNow: boolean;
  readonly session: 'live' | 'ended';
}

/** What the query half of a resolution found. */
export interface FoundPrincipal extends ResolvedPrincipal {
  /** True when the answer may change something: the command has to be asked. */
  readonly mustWrite: boolean;
}

/** Somebody bound to a principal in a scope. */
export interface Member {
  readonly principal: PrincipalId;
  readonly name: string | null;
  readonly email: string | null;
  readonly sinceMs: number;
  /** True for the holder of the owner seat. */
  readonly owner: boolean;
}

/** The people feature of the identity directory. */
export function makePeopleOperations(unit: UnitContext) {
  const find = (input: ResolvePrincipalInput): FoundPrincipal => {
    requireSubject(input.subject);
    const nowMs = unit.now();
    const { scopeId, subject, session } = input;
    const row = loadResolution(unit.db, { scopeId, subject, sid: session?.sid ?? null, nowMs });
    if (session && isEnded(row, session))
      return { principal: null, claimedNow: false, session: 'ended', mustWrite: false };
    const principal = row.principal as PrincipalId | null;
    const person = toPerson(row);
    const mustWrite =
      principal === null
        ? row.openSeat !== null
        : person !== null && amendPerson(person, input, nowMs) !== null;
    return { principal, claimedNow: false, session: 'live', mustWrite };
  };

  return {
    /** The reading half of {@link resolvePrincipal}: never writes, never claims. */
    findPrincipal: find,

    /**
     * The principal of a subject in a scope. While the first-claim window is open, the first subject that is
     * not bound here yet takes the owner seat (spec 3.1). A stranger is nobody and leaves no trace.
     * @throws PlatformError `unauthenticated` for a subject without issuer or `sub`.
     */
    resolvePrincipal(input: ResolvePrincipalInput): ResolvedPrincipal {
      const { mustWrite, ...found } = find(input);
      if (!mustWrite) return found;
      const personId = savePerson(unit, input, input.scopeId);
      if (found.principal !== null) return found;
      const { scopeId, subject } = input;
      const principal = takeSeat(unit, { scopeId, personId, subject, how: 'first_sign_in' });
      return { principal, claimedNow: true, session: 'live' };
    },

    /** Members in the order in which their principals were made. */
    listMembers(input: { scopeId: string; limit?: number; cursor?: string }): Page<Member> {
      const limit = requireLimit(input.limit);
      const after = input.cursor === undefined ? '' : decodeCursor(input.cursor);
      const rows = loadMembers(unit.db, { scopeId: input.scopeId, after, limit: limit + 1 });
      return cutPage(rows, limit, (row) => row.principal, toMember);
    },

    /**
     * Takes a person's principal away from them: their next request is a stranger's. The principal's grants are
     * the kernel's to revoke.
     * @throws PlatformError `conflict`, reason `last_owner`; `not_found`, reason `unknown_member`.
     */
    removeMember(input: { scopeId: string; principal: string; by: string }): { principal: PrincipalId } {
      const { scopeId, principal, by } = input;
      if (loadSeat(unit.db, scopeId)?.principal === principal)
        throw new PlatformError('conflict', 'The owner cannot be removed: nobody would be left in charge.', {
          reason: 'last_owner',
        });
      const person = loadBoundPerson(unit.db, scopeId, principal);
      if (!person)
        throw new PlatformError('not_found', 'There is no such member here.', { reason: 'unknown_member' });
      deleteBinding(unit.db, scopeId, principal);
      recordEvent(unit, 'member_removed', { scopeId, subject: person, principal, actor: by });
      return { principal: principal as PrincipalId };
    },

    /** A fresh principal id that stands for nobody yet. Writes nothing. */
    newPrincipal(): PrincipalId {
      return unit.newId('prn') as PrincipalId;
    },
  };
}

function isEnded(row: ResolutionRow, session: SubjectSession): boolean {
  return row.endedSid !== null || isBelowFloor(session, row.validAfterMs);
}

function toPerson(row: ResolutionRow): PersonRow | null {
  if (row.id === null || row.claimsAtMs === null) return null;
  const { id, email, name, emailVerified, claimsAtMs } = row;
  return { id, email, name, emailVerified, claimsAtMs };
}

function toMember(row: MemberRow): Member {
  return {
    principal: row.principal as PrincipalId,
    name: row.name,
    email: row.email,
    sinceMs: row.since,
    owner: row.owner === 1,
  };
}
