/**
 * From somebody whom an issuer vouches for to a member of the roster. An address binds once, at the first sign-in, to
 * the subject behind it; from then on the address means nothing, because addresses change hands and subjects do not.
 */
import type { UnitContext } from '@freehold/store';
import { type AuditedCall, appendAdminLog, logHead } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import { worksFor } from './member-actor.ts';
import { auditFields, targetOf } from './operations.ts';
import { insertSession, loadMemberByEmail, loadMemberBySubject, type StaffRow, saveMember } from './store.ts';

/** Who signed in, as the issuer says, and the session that begins. Plain JSON. */
export interface StaffSignIn {
  /** Among whose sessions this one is told apart. */
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  /** Whether the issuer says that the address is theirs; silence is no. */
  readonly emailVerified: boolean;
  readonly sid: string;
  readonly issuerSid: string | null;
  readonly expiresAtMs: number;
  readonly requestId: string;
}

/**
 * `email_unverified`: the roster has this address, and the issuer does not say that it is theirs. `tenant_not_active`: the
 * builder of a tenant that is suspended, or on its way out.
 */
export type SignInRefusal = 'not_on_roster' | 'email_unverified' | 'tenant_not_active';

export type SignInOutcome =
  | { readonly member: string; readonly head: LogHead | null }
  | { readonly refused: SignInRefusal };

/** Begins a session for a member, and binds an invited one. Anybody else leaves no trace. */
export function signInStaff(context: UnitContext, entry: StaffSignIn): SignInOutcome {
  const { db } = context;
  const nowMs = context.now();
  const bound = loadMemberBySubject(db, entry);
  const invited = bound ? undefined : invitedAs(context, entry.email);
  if (invited && !entry.emailVerified) return { refused: 'email_unverified' };
  const member = bound ?? invited;
  if (!member) return { refused: 'not_on_roster' };
  if (member.tenant !== null && !worksFor(db, member.tenant)) return { refused: 'tenant_not_active' };
  const { issuer, subject } = entry;
  const after: StaffRow = { ...member, issuer, subject, lastSignInAtMs: nowMs };
  let head: LogHead | null = null;
  if (bound) {
    saveMember(db, after);
  } else {
    const revision = nextSequence(context);
    saveMember(db, { ...after, revision, updatedAtMs: nowMs });
    head = appendAdminLog(context, byMember(after, { requestId: entry.requestId, action: 'staff.bind' }), {
      target: targetOf(after),
      before: auditFields(member),
      after: auditFields(after),
      outcome: 'done',
    });
  }
  const { sid, issuerSid, expiresAtMs } = entry;
  insertSession(db, { sid, member: member.id, issuerSid, expiresAtMs }, nowMs);
  return { member: member.id, head };
}

/** A row about something that no admin operation did, but that a member did all the same. */
export function byMember(
  { id, name, tenant }: Pick<StaffRow, 'id' | 'name' | 'tenant'>,
  { requestId, action }: { readonly requestId: string; readonly action: string },
): AuditedCall {
  const kind = tenant === null ? 'staff' : 'builder';
  return { actor: { kind, id, name }, token: null, requestId, action };
}

export function nextSequence({ db }: UnitContext): number {
  return (logHead(db)?.sequence ?? 0) + 1;
}

/** The one whom the roster knows by this address only. */
function invitedAs({ db }: UnitContext, email: string | null): StaffRow | undefined {
  if (email === null) return undefined;
  const member = loadMemberByEmail(db, email.toLowerCase());
  return member?.subject === null ? member : undefined;
}
