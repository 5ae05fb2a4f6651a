/** Programs in the identity directory: what people allowed, how they see and end it, and the owner's policy. */
import {
  admitsProgram,
  ID_PREFIXES,
  PROGRAM_HOST,
  PROGRAM_HOSTS_MAX,
  type ProgramAccess,
  type ProgramGrant,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { invalid, refusal } from '../lib/refusals.ts';
import type { SubjectKey } from '../lib/subject.ts';
import { loadBinding, loadPerson } from '../people/store.ts';
import { accessOf } from './access.ts';
import { type LetInInput, type ListedProgram, POLICY_DEFAULT, type ProgramPolicy } from './contract.ts';
import { makeGrantFlow } from './grant-flow.ts';
import { endGrant, noteOf } from './grants.ts';
import {
  type GrantRow,
  loadGrant,
  loadGrants,
  loadPolicy,
  loadUsableGrant,
  loadUsableGrants,
  type ShownGrantRow,
  savePolicy,
  updateGrantUse,
} from './store.ts';

const DAY_MS = 24 * 3_600_000;
const PERSONAL_TTL_MAX_MS = 366 * DAY_MS;
const NAME_LENGTH_MAX = 80;
/** Of calls in a minute. */
const CALLS_MAX = 100_000;

export interface PersonalTokenInput {
  readonly scopeId: string;
  readonly subject: SubjectKey;
  readonly name: string;
  readonly allowed: ProgramAccess;
  readonly ttlMs: number;
}

export function makeProgramOperations(unit: UnitContext) {
  const { db } = unit;
  const { admit, addPersonal, ...flow } = makeGrantFlow(unit, {
    newId: () => unit.newId(ID_PREFIXES.programGrant),
    isActing: ({ scopeId, personId, principal }) => loadBinding(db, scopeId, personId) === principal,
    end: (grant, why) => endGrant(unit, grant, why),
  });
  return {
    ...flow,

    /**
     * Lets a program in: the person's consent becomes a grant with a code.
     * @throws PlatformError `forbidden`, reason `not_a_member` or `program_not_admitted`.
     */
    letIn({ subject, ...input }: LetInInput): { readonly code: string } {
      requireAdmitted(unit, input.scopeId, input.host);
      const { grant, code } = admit({ ...input, ...requireMember(unit, input.scopeId, subject) });
      recordEvent(unit, 'program_let_in', { ...noteOf(grant), subject, detail: detailOf(grant) });
      return { code };
    },

    /**
     * Makes a token for a person's scripts. It is in this answer and nowhere else.
     * @throws PlatformError `validation_failed`; `forbidden`, reason `not_a_member` or `program_not_admitted`.
     */
    makePersonalToken(input: PersonalTokenInput): { readonly id: string; readonly token: string } {
      const { scopeId, subject, allowed, ttlMs } = input;
      const name = input.name.trim();
      if (name === '' || name.length > NAME_LENGTH_MAX || /[\p{Cc}\p{Cf}\p{Cs}]/u.test(name))
        throw invalid(
          'name',
          `must be one line of 1 to ${NAME_LENGTH_MAX} characters`,
          'A token has a name.',
        );
      if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0 || ttlMs > PERSONAL_TTL_MAX_MS)
        throw invalid('ttlMs', 'must be at most 366 days', 'A token lives for one millisecond to 366 days.');
      requireAdmitted(unit, scopeId, null);
      const member = requireMember(unit, scopeId, subject);
      const { grant, token } = addPersonal({
        ...member,
        scopeId,
        clientIdHash: null,
        name,
        host: null,
        allowed,
        ttlMs,
      });
      recordEvent(unit, 'program_token_made', { ...noteOf(grant), subject, detail: detailOf(grant) });
      return { id: grant.id, token };
    },

    /** Returns what can be used now in a scope, newest first: one member's, or with null all members'. A query. */
    listPrograms(input: { scopeId: string; principal: string | null }): {
      readonly items: readonly ListedProgram[];
    } {
      return { items: loadUsableGrants(db, { ...input, nowMs: unit.now() }).map(toListed) };
    },

    /**
     * Ends a grant. With `of`, another member's is as unknown as none.
     * @throws PlatformError `not_found`, reason `unknown_program`.
     */
    endProgram(input: { scopeId: string; grant: string; of: string | null; by: string }): null {
      const grant = loadGrant(db, input.grant);
      const isFound = grant?.scopeId === input.scopeId && (input.of === null || grant.principal === input.of);
      if (!grant || !isFound)
        throw refusal('not_found', 'unknown_program', 'There is no such program, or it was ended before.');
      endGrant(unit, grant, { by: input.by });
      return null;
    },

    /** Returns what a member's grant allows now; null once it has ended. A query. */
    usableProgram(input: { scopeId: string; principal: string; grant: string }): ProgramGrant | null {
      const { grant: id, ...of } = input;
      const found = loadUsableGrant(db, { ...of, id, nowMs: unit.now() });
      return found ? { id, name: found.name, ...accessOf(found) } : null;
    },

    /** Whether the policy of a scope admits a program of this host. A query. */
    admitsProgram: ({ scopeId, host }: { scopeId: string; host: string }): boolean =>
      admitsProgram(policyOf(unit, scopeId), host),

    /** A query. */
    programPolicy: ({ scopeId }: { scopeId: string }): ProgramPolicy => policyOf(unit, scopeId),

    /**
     * Sets the rule of the scope for programs, and ends the grants of those that it no longer does.
     * @throws PlatformError `validation_failed`.
     */
    setProgramPolicy(input: ProgramPolicy & { scopeId: string; by: string }): null {
      const { scopeId, programs, callsPerMinute, mails, by } = input;
      const hosts = [...new Set(input.hosts.map((each) => each.trim().toLowerCase()))];
      if (hosts.length > PROGRAM_HOSTS_MAX || !hosts.every((each) => PROGRAM_HOST.test(each)))
        throw invalid(
          'hosts',
          `must be at most ${PROGRAM_HOSTS_MAX} host names`,
          'Programs are listed by host name.',
        );
      if (
        callsPerMinute !== null &&
        !(Number.isSafeInteger(callsPerMinute) && callsPerMinute > 0 && callsPerMinute <= CALLS_MAX)
      )
        throw invalid('callsPerMinute', `must be 1 to ${CALLS_MAX}`, 'A limit is a whole number of calls.');
      savePolicy(db, { scopeId, programs, hosts, callsPerMinute, mails });
      recordEvent(unit, 'program_policy_changed', {
        scopeId,
        actor: by,
        detail: { programs, hosts, callsPerMinute: String(callsPerMinute ?? 'any'), mails: String(mails) },
      });
      for (const grant of loadGrants(db, scopeId))
        if (!admitsProgram({ programs, hosts }, grant.host)) endGrant(unit, grant, { cause: 'policy' });
      return null;
    },

    /** Notes that a grant was used, and from where. */
    noteProgramUse({ grant, from }: { grant: string; from: string | null }): null {
      updateGrantUse(db, { id: grant, usedMs: unit.now(), usedFrom: from });
      return null;
    },
  };
}

function policyOf({ db }: UnitContext, scopeId: string): ProgramPolicy {
  const row = loadPolicy(db, scopeId);
  if (!row) return POLICY_DEFAULT;
  const { scopeId: _, ...policy } = row;
  return policy;
}

function requireAdmitted(unit: UnitContext, scopeId: string, host: string | null): void {
  if (!admitsProgram(policyOf(unit, scopeId), host))
    throw refusal('forbidden', 'program_not_admitted', 'The owner does not admit this program here.');
}

/** @throws PlatformError `forbidden`, reason `not_a_member`. */
function requireMember(
  { db }: UnitContext,
  scopeId: string,
  subject: SubjectKey,
): { readonly personId: string; readonly principal: string } {
  const person = loadPerson(db, subject.issuer, subject.sub);
  const principal = person && loadBinding(db, scopeId, person.id);
  if (person && principal !== undefined) return { personId: person.id, principal };
  throw refusal('forbidden', 'not_a_member', 'Only a member can let a program in.');
}

function detailOf(grant: GrantRow): Readonly<Record<string, string | readonly string[]>> {
  const { access, permissions } = grant;
  return { ...noteOf(grant).detail, access, ...(access === 'some' ? { permissions } : {}) };
}

function toListed(row: ShownGrantRow): ListedProgram {
  return {
    id: row.id,
    kind: row.clientIdHash === null ? 'token' : 'program',
    name: row.name,
    host: row.host,
    allowed: accessOf(row),
    principal: row.principal,
    person: row.person,
    createdMs: row.createdMs,
    expiresMs: row.expiresMs,
    usedMs: row.usedMs,
    usedFrom: row.usedFrom,
  };
}
