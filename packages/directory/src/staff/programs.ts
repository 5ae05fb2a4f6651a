/**
 * Programs that members of the roster let in (OAuth 2.1): the grants of `@freehold/auth` over the directory's tables, with a
 * row of the admin log for each beginning and end. A grant is deleted when it ends, and with its member.
 */
import {
  accessOf,
  type CodeBinding,
  deleteGrant,
  type EndedBy,
  type GrantRow,
  loadGrant,
  loadGrantsOfPerson,
  makeGrantFlow,
  makeQuestionOperations,
  type RedeemCodeInput,
  type RefreshInput,
  type StoredClient,
  type TokenAnswer,
} from '@freehold/auth/grants';
import { ID_PREFIXES, type ProgramAccess, type TenantId } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { memberActor } from '../access/callers.ts';
import { appendAdminLog, logHead } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import type { AuditEntry } from '../lib/handlers.ts';
import { cancelWorkOf } from '../long-work/store.ts';
import { byMember, targetOf } from './operations.ts';
import { isAdmitted } from './policy-store.ts';
import { CONTROL_PLANE, dropPrograms, listPrograms, type StaffProgram } from './program-store.ts';
import { loadMember, type StaffRow } from './store.ts';
import { dropTokensOf } from './token-store.ts';

/** The consent of a member. */
export interface AdmittedByStaff {
  readonly member: string;
  readonly client: StoredClient;
  readonly name: string;
  readonly host: string;
  readonly allowed: ProgramAccess;
  readonly code: CodeBinding;
}

/** `access_ended`: the member left, or their tenant is not active. */
export type Admission =
  | { readonly code: string }
  | { readonly refused: 'access_ended' | 'program_not_admitted' };

/** The outcome, and the head of the log when it wrote a row. */
export interface Logged<T> {
  readonly answer: T;
  readonly head: LogHead | null;
}

export interface Requested {
  readonly requestId: string;
}

/** A request for tokens. */
export interface ForTokens extends Requested {
  /** The issuer at which members sign in now; null for none. */
  readonly issuer: string | null;
}

/** Does work that may write to the log. */
export function withHead<T>(db: SqlDatabase, work: () => T): Logged<T> {
  const before = logHead(db)?.sequence;
  const answer = work();
  const head = logHead(db);
  return { answer, head: head?.sequence === before ? null : head };
}

/** The methods of the unit. */
export const programMethods = (context: UnitContext) => {
  const { db } = context;
  const flowFor = (requestId: string, issuer: string | null = null) =>
    makeGrantFlow(context, {
      newId: () => context.newId(ID_PREFIXES.programGrant),
      isActing: ({ personId }) => issuer !== null && actingMember(db, personId)?.issuer === issuer,
      end: (grant, why) => endProgram(context, grant, { why, requestId }),
    });
  const logged = <T>(work: () => T): Logged<T> => withHead(db, work);
  return {
    ...makeQuestionOperations(context),

    /** A query. */
    staffClient: ({ id }: { readonly id: string }): StoredClient | null =>
      flowFor('').findClient({ scopeId: CONTROL_PLANE, id }),

    admitStaffProgram: ({ member, requestId, ...consent }: AdmittedByStaff & Requested): Logged<Admission> =>
      logged(() => {
        const person = actingMember(db, member);
        if (!person) return { refused: 'access_ended' };
        if (!isAdmitted(db, consent.host)) return { refused: 'program_not_admitted' };
        const { grant, code } = flowFor(requestId).admit({
          ...consent,
          ...{ scopeId: CONTROL_PLANE, personId: member, principal: member },
        });
        appendAdminLog(context, byMember(person, { requestId, action: 'staff-programs.create' }), {
          target: targetOf({ id: grant.id, tenant: person.tenant }),
          before: null,
          after: programFields(grant),
          outcome: 'done',
        });
        return { code };
      }),

    redeemStaffProgramCode: ({ requestId, issuer, ...input }: RedeemCodeInput & ForTokens) =>
      logged((): TokenAnswer => flowFor(requestId, issuer).redeemCode(input)),
    refreshStaffProgram: ({ requestId, issuer, ...input }: RefreshInput & ForTokens) =>
      logged((): TokenAnswer => flowFor(requestId, issuer).refreshTokens(input)),
    revokeStaffProgramToken: ({
      requestId,
      ...input
    }: Parameters<ReturnType<typeof flowFor>['revokeToken']>[0] & Requested): Logged<{ isClient: boolean }> =>
      logged(() => flowFor(requestId).revokeToken(input)),

    /** Whether the rule for programs admits one of this host, or with null a staff token. A query. */
    admitsStaffProgram: ({ host }: { readonly host: string | null }): boolean => isAdmitted(db, host),

    /** The programs and staff tokens of a member; for an admin those of everybody. At most 500 of each. A query. */
    listStaffPrograms: ({ member }: { readonly member: string }): readonly StaffProgram[] =>
      listPrograms(db, { member: isAdmin(db, member) ? undefined : member, nowMs: context.now() }),

    /** Ends all sessions, programs and staff tokens of a member, and codes that would become one, with one row of the log. */
    signOutStaffEverywhere: ({ member, requestId }: Requested & { readonly member: string }): Logged<null> =>
      logged(() => {
        const person = loadMember(db, member);
        if (!person) return null;
        const tokens = dropTokensOf(db, member, context.now());
        const programs = dropPrograms(db, member, context.now());
        const sessions = db.all('DELETE FROM staff_sessions WHERE member = ? RETURNING 1', member).length;
        appendAdminLog(context, byMember(person, { requestId, action: 'staff.sign-out-everywhere' }), {
          target: targetOf(person),
          before: { sessions, programs, tokens },
          after: null,
          outcome: 'done',
        });
        return null;
      }),
  };
};

/** Ends the programs of a member; each has its row of the log. */
export function endProgramsOf(
  context: UnitContext,
  member: string,
  ending: { readonly why: EndedBy; readonly requestId: string },
): void {
  for (const grant of loadGrantsOfPerson(context.db, { personId: member }))
    endProgram(context, grant, ending);
}

function endProgram(
  context: UnitContext,
  grant: GrantRow,
  { why, requestId }: { readonly why: EndedBy; readonly requestId: string },
): void {
  deleteGrant(context.db, grant.id);
  // A program that gives its own access back may have begun work that is meant to end: `freehold logout` after a backup.
  if ('cause' in why) cancelWorkOf(context.db, [grant.id], context.now());
  const owner = loadMember(context.db, grant.personId);
  if (!owner) throw new TypeError('a grant outlived the member who made it');
  appendAdminLog(context, byMember(owner, { requestId, action: 'staff-programs.end' }), {
    ...endingEntry(grant, owner.tenant),
    after: 'cause' in why ? { reason: why.cause } : null,
    outcome: 'done',
  });
}

/**
 * Ends a program inside an operation, which writes its row of the log.
 * @param isTheirs whether the caller may end programs of this member.
 * @returns the entry of the log, or null where there is no such program.
 */
export function endIf(
  { db, now }: Pick<UnitContext, 'db' | 'now'>,
  id: string,
  isTheirs: (member: string) => boolean,
): AuditEntry | null {
  const grant = loadGrant(db, id);
  if (!grant || !isTheirs(grant.personId)) return null;
  deleteGrant(db, id);
  cancelWorkOf(db, [id], now());
  return endingEntry(grant, loadMember(db, grant.personId)?.tenant ?? null);
}

/** @param tenant the tenant of the builder that the program acted for; null for staff. */
function endingEntry(grant: GrantRow, tenant: TenantId | null): AuditEntry {
  return { target: targetOf({ id: grant.id, tenant }), before: programFields(grant), after: null };
}

function programFields(grant: GrantRow) {
  const { personId: member, name: program, host } = grant;
  return { member, program, host, ...accessOf(grant) };
}

/** A member who may act now. */
function actingMember(db: SqlDatabase, member: string): StaffRow | undefined {
  const row = loadMember(db, member);
  return row && memberActor(db, row, {}) ? row : undefined;
}

function isAdmin(db: SqlDatabase, member: string): boolean {
  return loadMember(db, member)?.role === 'admin';
}
