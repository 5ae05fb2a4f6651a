/**
 * The sign-in of staff and builders (spec 5.5): sessions, and the tokens of their programs. Nothing is cached, so that a
 * removed member is refused at the next request.
 *
 * An address is bound once, at the first sign-in, to the subject that the issuer names. After that the address counts for
 * nothing: addresses change hands, subjects do not.
 */
import type { RedeemCodeInput, RefreshInput, StoredClient, TokenAnswer } from '@freehold/auth/grants';
import type { UnitContext, UnitStub } from '@freehold/store';
import type { MemberActor } from '../access/actors.ts';
import { isActive, memberActor } from '../access/callers.ts';
import { hashSecret, isWellFormedSecret } from '../access/secret.ts';
import { appendAdminLog } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import { defineFeature } from '../lib/feature.ts';
import {
  type CodeOrder,
  type CodeRedemption,
  endTokensOf,
  orderCode,
  redeemCode,
  revokeBySecretHash,
} from './codes.ts';
import {
  type DeviceDecision,
  type DeviceLook,
  type DeviceOrder,
  type DevicePoll,
  type DeviceRefusal,
  decideDevice,
  pollDevice,
  type StartedDevice,
  startDevice,
} from './devices.ts';
import { auditFields, byMember, nextSequence, staffOperations, targetOf } from './operations.ts';
import { programPolicyOperations } from './policy-operations.ts';
import { staffProgramOperations } from './program-operations.ts';
import type { StaffProgram } from './program-store.ts';
import {
  type Admission,
  type AdmittedByStaff,
  endProgramsOf,
  type Logged,
  programMethods,
  withHead,
} from './programs.ts';
import { deviceMigrations, grantMigrations, staffMigrations } from './schema.ts';
import {
  deleteSession,
  deleteSessionsOf,
  insertSession,
  isNewInstallation,
  isSeenDue,
  loadMemberByEmail,
  loadMemberBySubject,
  loadSessionMember,
  type StaffRow,
  saveMember,
  saveSeen,
} from './store.ts';

/** A sign-in as the issuer reports it, and the session that begins. Plain JSON. */
export interface StaffSignIn {
  /** Sessions are told apart within one issuer. */
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  /** Whether the issuer says that the address belongs to the subject. Default of an issuer that says nothing: false. */
  readonly emailVerified: boolean;
  readonly sid: string;
  readonly issuerSid: string | null;
  readonly expiresAtMs: number;
  readonly requestId: string;
  /**
   * Whether the issuer shows a second factor, where one is demanded: of every installation, or of new ones. Default: none
   * is demanded.
   */
  readonly secondFactor?: { readonly demand: 'all' | 'new'; readonly shown: boolean };
}

/**
 * `second_factor`: one is demanded, and the issuer does not show it. `email_unverified`: the roster has this address, and the issuer does not vouch for it. `tenant_not_active`: the tenant of
 * the builder is suspended or being deleted.
 */
export type SignInRefusal = 'not_on_roster' | 'email_unverified' | 'tenant_not_active' | 'second_factor';

type SignInOutcome =
  | { readonly member: string; readonly head: LogHead | null }
  | { readonly refused: SignInRefusal };

/** A session as its cookie names it. */
export interface StaffSession {
  readonly sid: string;
  readonly issuer: string;
  readonly subject: string;
}

/** The sessions that an issuer says have ended. */
export interface EndedSessions {
  readonly issuer: string;
  readonly subject?: string | undefined;
  readonly issuerSid?: string | undefined;
}

/** A token for the program that asked for it. */
export interface GrantedToken {
  readonly secret: string;
  readonly expiresAtMs: number;
}

export interface StaffSignIns {
  /** Begins a session, or says why not. */
  signIn(entry: StaffSignIn): Promise<{ readonly member: string } | { readonly refused: SignInRefusal }>;
  /** The member of a session with their present role. Null for an ended session, and while a builder's tenant is not active. */
  session(session: StaffSession): Promise<MemberActor | null>;
  signOut(session: { readonly sid: string }): Promise<void>;
  /** Ends the sessions that an issuer's logout token names. */
  endSessions(ended: EndedSessions & { readonly requestId?: string }): Promise<void>;
  /** Makes an authorization code; it works once, for 60 seconds. */
  orderCode(order: CodeOrder): Promise<{ readonly code: string }>;
  redeemCode(
    redemption: CodeRedemption,
  ): Promise<{ readonly token: GrantedToken } | { readonly refused: 'invalid_grant' }>;
  /** Begins a device authorization. When too many wait, an older one gives way; see `staff/devices.ts`. */
  startDevice(order: DeviceOrder): Promise<StartedDevice>;
  decideDevice(decision: DeviceDecision): Promise<DeviceLook>;
  pollDevice(
    poll: DevicePoll,
  ): Promise<{ readonly token: GrantedToken } | { readonly refused: DeviceRefusal }>;
  /** Revokes a staff token by its secret. One that is unknown is revoked already. */
  revoke(input: { readonly secret: string; readonly requestId: string }): Promise<void>;
  readonly programs: StaffPrograms;
}

type Requested<T> = T & { readonly requestId: string };

/** Programs that members let in, each with what it may do. */
export interface StaffPrograms {
  findClient(input: { readonly id: string }): Promise<StoredClient | null>;
  /** Keeps a consent, and returns its code, or why there is none. */
  admit(consent: Requested<AdmittedByStaff>): Promise<Admission>;
  /** Whether programs of this host are let in; with null, whether staff tokens are made. */
  admits(input: { readonly host: string | null }): Promise<boolean>;
  redeemCode(input: Requested<RedeemCodeInput>): Promise<TokenAnswer>;
  refreshTokens(input: Requested<RefreshInput>): Promise<TokenAnswer>;
  revokeToken(
    input: Requested<Pick<RedeemCodeInput, 'scopeId' | 'client'> & { readonly token: string }>,
  ): Promise<{ readonly isClient: boolean }>;
  /** The programs and staff tokens of a member, newest first; for an admin those of everybody. At most 500 of each. */
  list(input: { readonly member: string }): Promise<readonly StaffProgram[]>;
  /** Ends every session, program and staff token of a member. */
  signOutEverywhere(input: Requested<{ readonly member: string }>): Promise<void>;
}

/** The methods of the unit. */
const staffMethods = (context: UnitContext) => ({
  staffSignIn: (entry: StaffSignIn) => signInStaff(context, entry),

  /** A query. Role and roster are as they are at this moment. */
  staffSession: (
    session: StaffSession & { readonly idleMs: number | null },
  ): { readonly actor: MemberActor; readonly isSeenDue: boolean } | null => {
    const { db } = context;
    const nowMs = context.now();
    const member = loadSessionMember(db, { ...session, nowMs });
    const actor = member ? memberActor(db, member, { session: session.sid }) : null;
    return actor && { actor, isSeenDue: isSeenDue(db, session.sid, nowMs) };
  },

  staffSeen: ({ sid }: { readonly sid: string }): null => {
    saveSeen(context.db, { sid, lastSeenAtMs: context.now() });
    return null;
  },

  staffSignOut: ({ sid }: { readonly sid: string }): null => {
    deleteSession(context.db, sid);
    return null;
  },

  endStaffSessions: ({
    requestId,
    ...ended
  }: EndedSessions & { readonly requestId: string }): Logged<null> => {
    const { db } = context;
    deleteSessionsOf(db, ended);
    const { issuer, subject, issuerSid } = ended;
    // Of one session that ended at the issuer, programs and tokens stay; of all of them, none does.
    const member =
      issuerSid === undefined && subject !== undefined && loadMemberBySubject(db, { issuer, subject });
    return withHead(db, () => {
      if (!member) return null;
      endProgramsOf(context, member.id, { why: { cause: 'all_sessions_ended' }, requestId });
      endTokensOf(context, { member: member.id, requestId });
      return null;
    });
  },

  orderStaffCode: (order: CodeOrder) => orderCode(context, order),
  redeemStaffCode: (redemption: CodeRedemption) => redeemCode(context, redemption),
  revokeStaffSecret: (input: { readonly hash: string; readonly requestId: string }) =>
    revokeBySecretHash(context, input),
  startStaffDevice: (order: DeviceOrder) => startDevice(context, order),
  decideStaffDevice: (decision: DeviceDecision) => decideDevice(context, decision),
  pollStaffDevice: (poll: DevicePoll) => pollDevice(context, poll),
});

export const staffFeature = /* @__PURE__ */ defineFeature({
  operations: staffOperations,
  migrations: [staffMigrations, deviceMigrations],
  methods: staffMethods,
  queries: ['staffSession'],
});

/** Its tables are younger than those of other features, and come after them. */
export const staffProgramsFeature = /* @__PURE__ */ defineFeature({
  operations: [...staffProgramOperations, ...programPolicyOperations],
  migrations: [grantMigrations],
  methods: programMethods,
  queries: ['staffClient', 'admitsStaffProgram', 'listStaffPrograms', 'readQuestion'],
});

export interface StaffSignInsDeps {
  readonly directory: UnitStub<ReturnType<typeof staffMethods> & ReturnType<typeof programMethods>>;
  readonly publish: (head: LogHead) => Promise<void>;
  /** See `HostAdminOptions.staffIssuer`. */
  readonly staffIssuer: string | null;
  /** The time without a request that ends a session, in milliseconds; null for none. */
  readonly idleMs: number | null;
  /** Gets the failure to write the last use of a session. */
  readonly onIncident: (error: unknown) => void;
}

export function makeStaffSignIns(deps: StaffSignInsDeps): StaffSignIns {
  const { directory, publish, idleMs, onIncident } = deps;
  /** Sessions whose last use is being written. */
  const noting = new Set<string>();
  const noteUse = (sid: string): void => {
    if (noting.has(sid)) return;
    noting.add(sid);
    // The request does not wait for this write: on a full disk staff still read.
    void directory
      .staffSeen({ sid })
      .catch(onIncident)
      .finally(() => noting.delete(sid));
  };
  const granted = async (issued: GrantedToken & { readonly head: LogHead }) => {
    await publish(issued.head);
    return { token: { secret: issued.secret, expiresAtMs: issued.expiresAtMs } };
  };
  return {
    signIn: async (entry) => {
      const outcome = await directory.staffSignIn(entry);
      if ('refused' in outcome) return outcome;
      if (outcome.head) await publish(outcome.head);
      return { member: outcome.member };
    },
    session: async ({ sid, issuer, subject }) => {
      const found = await directory.staffSession({ sid, issuer, subject, idleMs });
      if (found?.isSeenDue) noteUse(sid);
      return found?.actor ?? null;
    },
    signOut: async ({ sid }) => void (await directory.staffSignOut({ sid })),
    endSessions: async ({ requestId = 'back-channel', ...ended }) => {
      const { head } = await directory.endStaffSessions({ ...ended, requestId });
      if (head) await publish(head);
    },
    orderCode: (order) => directory.orderStaffCode(order),
    redeemCode: async (redemption) => {
      const outcome = await directory.redeemStaffCode(redemption);
      if ('issued' in outcome) return granted(outcome.issued);
      if (outcome.head) await publish(outcome.head);
      return { refused: outcome.refused };
    },
    startDevice: (order) => directory.startStaffDevice(order),
    decideDevice: (decision) => directory.decideStaffDevice(decision),
    pollDevice: async (poll) => {
      const outcome = await directory.pollStaffDevice(poll);
      return 'issued' in outcome ? granted(outcome.issued) : outcome;
    },
    revoke: async ({ secret, requestId }) => {
      if (!isWellFormedSecret(secret)) return;
      const head = await directory.revokeStaffSecret({ hash: hashSecret(secret), requestId });
      if (head) await publish(head);
    },
    programs: makeStaffPrograms(deps),
  };
}

function makeStaffPrograms({
  directory,
  publish,
  staffIssuer: issuer,
}: Pick<StaffSignInsDeps, 'directory' | 'publish' | 'staffIssuer'>): StaffPrograms {
  const published = async <T>({ answer, head }: Logged<T>): Promise<T> => {
    if (head) await publish(head);
    return answer;
  };
  return {
    findClient: (input) => directory.staffClient(input),
    admits: (input) => directory.admitsStaffProgram(input),
    admit: async (consent) => published(await directory.admitStaffProgram(consent)),
    redeemCode: async (input) => published(await directory.redeemStaffProgramCode({ ...input, issuer })),
    refreshTokens: async (input) => published(await directory.refreshStaffProgram({ ...input, issuer })),
    revokeToken: async (input) => published(await directory.revokeStaffProgramToken(input)),
    list: (input) => directory.listStaffPrograms(input),
    signOutEverywhere: async (input) => void (await published(await directory.signOutStaffEverywhere(input))),
  };
}

/** Begins a session for a member, and binds an invited one. Every other sign-in leaves no trace. */
function signInStaff(context: UnitContext, entry: StaffSignIn): SignInOutcome {
  const { db } = context;
  const nowMs = context.now();
  const bound = loadMemberBySubject(db, entry);
  const invited = bound ? undefined : invitedAs(context, entry.email);
  if (invited && !entry.emailVerified) return { refused: 'email_unverified' };
  const member = bound ?? invited;
  if (!member) return { refused: 'not_on_roster' };
  if (member.tenant !== null && !isActive(db, member.tenant)) return { refused: 'tenant_not_active' };
  const { demand, shown } = entry.secondFactor ?? { shown: true };
  if (!shown && (demand === 'all' || isNewInstallation(db))) return { refused: 'second_factor' };
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
  insertSession(db, { sid, member: member.id, issuerSid, expiresAtMs, lastSeenAtMs: nowMs }, nowMs);
  return { member: member.id, head };
}

/** The member who was invited by this address and has not signed in. */
function invitedAs({ db }: UnitContext, email: string | null): StaffRow | undefined {
  if (email === null) return undefined;
  const member = loadMemberByEmail(db, email.toLowerCase());
  return member?.subject === null ? member : undefined;
}
