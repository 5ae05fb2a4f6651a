/**
 * Recognition: the one question of every request. One reading of the tenant's directory tells whether the instance's
 * configuration is the known one, which presented session is live, and the principal of its person (spec 2.6, 3.1).
 */
import type { PrincipalId, ProgramGrant } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { type Account, accountSubject, directoryIssuer } from '../accounts/contract.ts';
import {
  type IssuedSubject,
  isBelowFloor,
  type Presented,
  requireSubject,
  type SubjectSession,
  toFlag,
  type VerifiedSubject,
} from '../lib/subject.ts';
import { amendPerson, savePerson } from '../people/person.ts';
import type { PersonRow } from '../people/store.ts';
import { accessOf } from '../programs/access.ts';
import { loadPresentedGrant } from '../programs/store.ts';
import { takeSeat } from '../seats/operations.ts';
import { sessionStateOf } from '../sessions/session-state.ts';

export interface ResolvePrincipalInput {
  readonly scopeId: string;
  readonly subject: IssuedSubject;
  readonly session?: SubjectSession | undefined;
}

export interface ResolvedPrincipal {
  /** Null for a person who is no member, and for an ended session. */
  readonly principal: PrincipalId | null;
  readonly claimedNow: boolean;
  readonly session: 'live' | 'ended';
}

export interface FoundPrincipal extends ResolvedPrincipal {
  /** True when the answer may change a row: the caller then calls the command. */
  readonly mustWrite: boolean;
}

export interface RecogniseInput {
  readonly scopeId: string;
  readonly knownVersion: string;
  readonly presented: readonly Presented[];
}

export type Recognised =
  /** The configuration is another one now, and so may be what verifies: nothing was judged. */
  | { readonly changed: true }
  | {
      readonly changed: false;
      /** Null when no live session was presented, or more than one (see `findLiveSession`). */
      readonly subject: VerifiedSubject | null;
      readonly found: FoundPrincipal | null;
      /** The grant behind a program's token; absent for a person. */
      readonly program?: PresentedProgram;
    };

export interface PresentedProgram {
  readonly grant: ProgramGrant;
  /** When and from where it was used, as last noted. */
  readonly usedMs: number | null;
  readonly usedFrom: string | null;
  /** The calls that it may make in a minute; null for any number. */
  readonly callsPerMinute: number | null;
}

export interface RecogniseParts {
  readonly configVersion: (scopeId: string) => string;
  readonly findAccount: (input: { readonly userId: string }) => Account | null;
}

const ANONYMOUS: Recognised = { changed: false, subject: null, found: null };
const ENDED: FoundPrincipal = { principal: null, claimedNow: false, session: 'ended', mustWrite: false };

export function makeRecogniseOperations(unit: UnitContext, { configVersion, findAccount }: RecogniseParts) {
  const toSubject = (presented: Presented): VerifiedSubject | null => {
    if ('subject' in presented) return presented.subject;
    if ('programToken' in presented) return null;
    const account = findAccount({ userId: presented.userId });
    return account && accountSubject(directoryIssuer(unit.key), account, presented.session);
  };
  const isLive = (subject: VerifiedSubject): boolean =>
    !subject.session || sessionStateOf(unit, subject, subject.session) === 'live';

  return {
    /** Recognises the caller of a request, for `recogniseCaller`. */
    recognise({ scopeId, knownVersion, presented }: RecogniseInput): Recognised {
      if (configVersion(scopeId) !== knownVersion) return { changed: true };
      const [token] = presented;
      if (token && 'programToken' in token) return recogniseProgram(unit, scopeId, token.programToken);
      const subjects = presented.map(toSubject).filter((each) => each !== null);
      // The principal's own query judges a session that came alone.
      const [only, second] = subjects.length > 1 ? subjects.filter(isLive) : subjects;
      if (!only || second) return ANONYMOUS;
      const { session, ...subject } = only;
      const found = findPrincipal(unit, { scopeId, subject, session });
      return found.session === 'ended' ? ANONYMOUS : { changed: false, subject: only, found };
    },

    /** The reading half of {@link resolvePrincipal}: never writes, never claims. */
    findPrincipal: (input: ResolvePrincipalInput): FoundPrincipal => findPrincipal(unit, input),

    /**
     * Returns the principal of a subject in a scope. While the first-claim window is open, the first subject without
     * a binding takes the owner seat (spec 3.1). A person who is no member leaves no trace.
     * @throws PlatformError `unauthenticated` for a subject without issuer or `sub`.
     */
    resolvePrincipal(input: ResolvePrincipalInput): ResolvedPrincipal {
      const { mustWrite, ...found } = findPrincipal(unit, input);
      if (!mustWrite) return found;
      const personId = savePerson(unit, input, input.scopeId);
      if (found.principal !== null) return found;
      const { scopeId, subject } = input;
      const principal = takeSeat(unit, { scopeId, personId, subject, how: 'first_sign_in' });
      return { principal, claimedNow: true, session: 'live' };
    },
  };
}

/** One read tells the program, its person and their principal. A token that opens nothing is an anonymous caller's. */
function recogniseProgram(unit: UnitContext, scopeId: string, hash: string): Recognised {
  const row = hash === '' ? undefined : loadPresentedGrant(unit.db, { hash, scopeId, nowMs: unit.now() });
  if (!row) return ANONYMOUS;
  const { id, name, issuer, sub, email, personName, emailVerified, usedMs, usedFrom, callsPerMinute } = row;
  const allowed = accessOf({ access: row.access, permissions: JSON.parse(row.permissions) });
  return {
    changed: false,
    subject: {
      issuer,
      sub,
      email,
      name: personName,
      ...(emailVerified === null ? {} : { emailVerified: emailVerified === 1 }),
    },
    found: {
      principal: row.principal as PrincipalId,
      claimedNow: false,
      session: 'live',
      mustWrite: false,
    },
    program: { grant: { id, name, ...allowed }, usedMs, usedFrom, callsPerMinute },
  };
}

/**
 * Returns the principal of a verified subject in a scope (spec 2.6, `resolvePrincipal`). Costs one read, and a write
 * only for the claim of an open seat or for a profile that changed.
 * @throws PlatformError as the directory does; an error never turns into a caller.
 */
export async function resolvePrincipal(
  directory: {
    findPrincipal(input: ResolvePrincipalInput): Promise<FoundPrincipal>;
    resolvePrincipal(input: ResolvePrincipalInput): Promise<ResolvedPrincipal>;
  },
  input: ResolvePrincipalInput,
): Promise<ResolvedPrincipal> {
  const { mustWrite, ...found } = await directory.findPrincipal(input);
  return mustWrite ? directory.resolvePrincipal(input) : found;
}

function findPrincipal(unit: UnitContext, input: ResolvePrincipalInput): FoundPrincipal {
  const { subject, session } = input;
  requireSubject(subject);
  const nowMs = unit.now();
  const settled = loadSettledPrincipal(unit.db, input, session?.issuedAtMs ?? nowMs);
  if (settled !== undefined)
    return { principal: settled as PrincipalId, claimedNow: false, session: 'live', mustWrite: false };

  const row = loadResolution(unit.db, input, nowMs);
  if (session && isEnded(row, session)) return ENDED;
  const principal = row.principal as PrincipalId | null;
  const person = toPerson(row);
  const mustWrite =
    principal === null
      ? row.openSeat !== null
      : person !== null && amendPerson(person, input, nowMs) !== null;
  return { principal, claimedNow: false, session: 'live', mustWrite };
}

function isEnded(row: ResolutionRow, session: SubjectSession): boolean {
  return row.endedSid !== null || isBelowFloor(session, row.validAfterMs);
}

function toPerson(row: ResolutionRow): PersonRow | null {
  if (row.id === null || row.claimsAtMs === null) return null;
  const { id, email, name, emailVerified, claimsAtMs } = row;
  return { id, email, name, emailVerified, claimsAtMs };
}

/**
 * Selects the principal of a bound person whose session is live and about whom the subject says nothing new, as in
 * nearly every request. It selects no row in any other case, which {@link RESOLUTION_SQL} then tells apart. Each
 * column that is read costs as much as a look-up. A time that is no number ends a session here too.
 */
export const SETTLED_SQL = `SELECT b.principal
  FROM people p JOIN bindings b ON b.scope_id = ?3 AND b.person_id = p.id
  WHERE p.issuer = ?1 AND p.sub = ?2
    AND (p.claims_at > ?5 OR (ifnull(?6, p.email) IS p.email AND ifnull(?7, p.name) IS p.name
      AND ifnull(?8, p.email_verified) IS p.email_verified))
    AND (?4 IS NULL OR (
      NOT EXISTS (SELECT 1 FROM ended_sessions WHERE sid = ?4)
      AND NOT EXISTS (SELECT 1 FROM session_floors
        WHERE issuer = ?1 AND sub = ?2 AND (?5 > valid_after) IS NOT TRUE)))`;

/** @param claimsAtMs when the session was issued, or now without one. */
export function loadSettledPrincipal(
  db: SqlDatabase,
  { scopeId, subject, session }: ResolvePrincipalInput,
  claimsAtMs: number,
): string | undefined {
  return db.get<{ principal: string }>(
    SETTLED_SQL,
    subject.issuer,
    subject.sub,
    scopeId,
    session?.sid ?? null,
    claimsAtMs,
    subject.email ?? null,
    subject.name ?? null,
    toFlag(subject.emailVerified),
  )?.principal;
}

/** Selects everything that an answer can depend on: one index look-up a table, whatever their sizes. */
export const RESOLUTION_SQL = `SELECT p.id, p.email, p.name, p.email_verified AS emailVerified, p.claims_at AS claimsAtMs,
    b.principal, f.valid_after AS validAfterMs, e.sid AS endedSid, s.principal AS openSeat
  FROM (SELECT 1)
  LEFT JOIN people p ON p.issuer = ?1 AND p.sub = ?2
  LEFT JOIN bindings b ON b.scope_id = ?3 AND b.person_id = p.id
  LEFT JOIN session_floors f ON f.issuer = ?1 AND f.sub = ?2
  LEFT JOIN ended_sessions e ON e.sid = ?4
  LEFT JOIN seats s ON s.scope_id = ?3 AND s.state = 'pending' AND s.window_ends_at > ?5`;

interface ResolutionRow {
  readonly id: string | null;
  readonly email: string | null;
  readonly name: string | null;
  readonly emailVerified: number | null;
  readonly claimsAtMs: number | null;
  readonly principal: string | null;
  readonly validAfterMs: number | null;
  readonly endedSid: string | null;
  /** The principal of a seat that the next sign-in may take. */
  readonly openSeat: string | null;
}

export function loadResolution(
  db: SqlDatabase,
  { scopeId, subject, session }: ResolvePrincipalInput,
  nowMs: number,
): ResolutionRow {
  const sid = session?.sid ?? null;
  return db.get<ResolutionRow>(
    RESOLUTION_SQL,
    subject.issuer,
    subject.sub,
    scopeId,
    sid,
    nowMs,
  ) as ResolutionRow;
}
