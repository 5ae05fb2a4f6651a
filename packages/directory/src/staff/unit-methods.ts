/** What the directory does about the roster beside the admin operations: signing in, sessions, codes, tokens. */
import type { UnitContext } from '@freehold/store';
import type { MemberActor } from '../actors.ts';
import { type CodeOrder, type CodeRedemption, orderCode, redeemCode, revokeBySecretHash } from './codes.ts';
import { type DeviceDecision, type DeviceOrder, decideDevice, pollDevice, startDevice } from './devices.ts';
import { memberActor } from './member-actor.ts';
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

export const staffMethods = (context: UnitContext) => ({
  staffSignIn: (entry: StaffSignIn) => signInStaff(context, entry),

  /** Nothing is remembered of a session but that it goes on: role and roster are as they are at this moment. */
  staffSession: (session: StaffSession): MemberActor | null => {
    const member = loadSessionMember(context.db, { ...session, nowMs: context.now() });
    return member ? memberActor(context.db, member, { session: session.sid }) : null;
  },

  staffSignOut: ({ sid }: { readonly sid: string }): null => {
    deleteSession(context.db, sid);
    return null;
  },

  endStaffSessions: (ended: EndedSessions): null => {
    deleteSessionsOf(context.db, ended);
    return null;
  },

  staffToken: (
    hash: string,
  ): { readonly actor: MemberActor; readonly lastUsedAtMs: number | null } | null => {
    const holder = loadTokenHolder(context.db, hash, context.now());
    const actor = holder ? memberActor(context.db, holder, { token: holder.token }) : null;
    return holder && actor ? { actor, lastUsedAtMs: holder.lastUsedAtMs } : null;
  },

  touchStaffToken: (id: string): null => {
    touchStaffTokenRow(context.db, id, context.now());
    return null;
  },

  orderStaffCode: (order: CodeOrder) => orderCode(context, order),
  redeemStaffCode: (redemption: CodeRedemption) => redeemCode(context, redemption),
  revokeStaffSecret: (input: { readonly hash: string; readonly requestId: string }) =>
    revokeBySecretHash(context, input),
  startStaffDevice: (order: DeviceOrder) => startDevice(context, order),
  decideStaffDevice: (decision: DeviceDecision) => decideDevice(context, decision),
  pollStaffDevice: (poll: {
    readonly deviceCode: string;
    readonly client: string;
    readonly requestId: string;
  }) => pollDevice(context, poll),
});
