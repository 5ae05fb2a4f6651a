/** What the directory does about the staff beside the admin operations: signing in, sessions, codes, tokens. */
import type { UnitContext } from '@freehold/store';
import type { Actor } from '../actors.ts';
import { type CodeOrder, type CodeRedemption, orderCode, redeemCode, revokeBySecretHash } from './codes.ts';
import { type DeviceDecision, decideDevice, pollDevice, startDevice } from './devices.ts';
import { type StaffSignIn, signInStaff } from './sign-in.ts';
import { deleteSession, deleteSessionsOf, loadSessionMember } from './store.ts';
import { loadTokenHolder, touchStaffTokenRow } from './token-store.ts';

/** A session as its cookie tells it. */
export interface StaffSession {
  readonly sid: string;
  readonly issuer: string;
  readonly subject: string;
}

/** Which sessions an issuer says have ended. */
export interface EndedSessions {
  readonly issuer: string;
  readonly subject?: string | undefined;
  readonly issuerSid?: string | undefined;
}

export type StaffActor = Extract<Actor, { readonly kind: 'staff' }>;

export const staffMethods = (context: UnitContext) => ({
  staffSignIn: (entry: StaffSignIn) => signInStaff(context, entry),

  /** Nothing is remembered of a session but that it goes on: role and roster are as they are at this moment. */
  staffSession: (session: StaffSession): StaffActor | null => {
    const member = loadSessionMember(context.db, { ...session, nowMs: context.now() });
    return member ? { kind: 'staff', id: member.id, name: member.name, role: member.role } : null;
  },

  staffSignOut: ({ sid }: { readonly sid: string }): null => {
    deleteSession(context.db, sid);
    return null;
  },

  endStaffSessions: (ended: EndedSessions): null => {
    deleteSessionsOf(context.db, ended);
    return null;
  },

  staffToken: (hash: string): { readonly actor: StaffActor; readonly lastUsedAtMs: number | null } | null => {
    const holder = loadTokenHolder(context.db, hash, context.now());
    if (!holder) return null;
    const { id, name, role, token, lastUsedAtMs } = holder;
    return { actor: { kind: 'staff', id, name, role, token }, lastUsedAtMs };
  },

  touchStaffToken: (id: string): null => {
    touchStaffTokenRow(context.db, id, context.now());
    return null;
  },

  orderStaffCode: (order: CodeOrder) => orderCode(context, order),
  redeemStaffCode: (redemption: CodeRedemption) => redeemCode(context, redemption),
  revokeStaffSecret: (input: { readonly hash: string; readonly requestId: string }) =>
    revokeBySecretHash(context, input),
  startStaffDevice: (input: { readonly client: string }) => startDevice(context, input),
  decideStaffDevice: (decision: DeviceDecision) => decideDevice(context, decision),
  pollStaffDevice: (poll: {
    readonly deviceCode: string;
    readonly client: string;
    readonly requestId: string;
  }) => pollDevice(context, poll),
});

export const STAFF_QUERIES = ['staffSession', 'staffToken'] as const;
