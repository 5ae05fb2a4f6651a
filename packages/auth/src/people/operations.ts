/** Turns a verified subject into the principal it is in a scope, and keeps the list of members (spec 2.6, 3.1). */
import {
  cutPage,
  decodeCursor,
  LIMIT_MAX,
  type Page,
  PlatformError,
  type PrincipalId,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent, requireLimit } from '../events/operations.ts';
import { takeSeat } from '../seats/operations.ts';
import { loadSeat } from '../seats/store.ts';
import { isBelowFloor } from '../sessions/floor.ts';
import type { IssuedSubject, SubjectSession } from '../lib/subject.ts';
import { amendPerson, requireSubject, savePerson, toFlag } from './person.ts';
import {
  deleteBinding,
  loadBoundPerson,
  loadMembers,
  loadNames,
  loadResolution,
  loadSettledPrincipal,
  type MemberRow,
  type PersonRow,
  type ResolutionRow,
  saveFormerMember,
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

/** Whom a principal stands for. */
export interface NamedPrincipal {
  readonly principal: PrincipalId;
  readonly name: string | null;
  readonly email: string | null;
  /** `removed`: no member any more. `invited`: nobody has accepted the invite, and whoever does may be called otherwise. */
  readonly state: 'member' | 'removed' | 'invited';
}

/** The people feature of the identity directory. */
export function makePeopleOperations(unit: UnitContext) {
  const find = (input: ResolvePrincipalInput): FoundPrincipal => {
    requireSubject(input.subject);
    const { scopeId, subject, session } = input;
    const sid = session?.sid ?? null;
    const settled = loadSettledPrincipal(unit.db, {
      scopeId,
      subject,
      sid,
      claimsAtMs: session?.issuedAtMs ?? unit.now(),
      emailVerified: toFlag(subject.emailVerified),
    });
    if (settled !== undefined)
      return { principal: settled as PrincipalId, claimedNow: false, session: 'live', mustWrite: false };

    const nowMs = unit.now();
    const row = loadResolution(unit.db, { scopeId, subject, sid, nowMs });
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
     * Who principals are or were: for logs, which outlive memberships. Names are those of now, and of an invite nobody
     * accepted what the inviter wrote. A principal that is none of this scope's is left out. At most 200 at a time.
     * @throws PlatformError `validation_failed` for more.
     */
    namePrincipals(input: { scopeId: string; principals: readonly string[] }): {
      readonly items: readonly NamedPrincipal[];
    } {
      const { scopeId, principals } = input;
      if (principals.length > LIMIT_MAX)
        throw new PlatformError('validation_failed', `At most ${LIMIT_MAX} principals are named at a time.`, {
          errors: [{ path: 'principals', message: `must be at most ${LIMIT_MAX}` }],
        });
      const rows = loadNames(unit.db, { scopeId, principals: [...new Set(principals)] });
      return { items: rows.map((row) => ({ ...row, principal: row.principal as PrincipalId })) };
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
      saveFormerMember(unit.db, { scopeId, principal, personId: person.id, untilMs: unit.now() });
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
