/**
 * The way in of staff and builders, for the platform's own pages (spec 5.5): who is on the roster, which session goes on, and the
 * tokens that programs are given. Nothing is cached: whoever was removed is out with the next request.
 */
import type { UnitStub } from '@freehold/store';
import type { MemberActor } from '../actors.ts';
import type { HostAdmin } from '../host-admin.ts';
import { hashSecret, isWellFormedSecret, TOKEN_PREFIXES } from '../tokens/secret.ts';
import { LAST_USE_STEP_MS } from '../tokens/store.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { CodeOrder, CodeRedemption } from './codes.ts';
import type { DeviceDecision, DeviceLook, DeviceOrder, DeviceRefusal, StartedDevice } from './devices.ts';
import type { SignInRefusal, StaffSignIn } from './sign-in.ts';
import type { EndedSessions, StaffSession } from './unit-methods.ts';

/** A token as the program that asked for it is given it. */
export interface GrantedToken {
  readonly secret: string;
  readonly expiresAtMs: number;
}

export interface StaffSignIns {
  /** Begins a session, or says why not. */
  signIn(entry: StaffSignIn): Promise<{ readonly member: string } | { readonly refused: SignInRefusal }>;
  /** The member behind a session that goes on, with the role they have now; null also while a builder's tenant is not active. */
  session(session: StaffSession): Promise<MemberActor | null>;
  signOut(session: { readonly sid: string }): Promise<void>;
  /** Ends what an issuer's logout token names. */
  endSessions(ended: EndedSessions): Promise<void>;
  /** Makes an authorization code; it works once, for 60 seconds. */
  orderCode(order: CodeOrder): Promise<{ readonly code: string }>;
  redeemCode(
    redemption: CodeRedemption,
  ): Promise<{ readonly token: GrantedToken } | { readonly refused: 'invalid_grant' }>;
  /** Begins a device authorization. When too many wait, an older one gives way; see `staff/devices.ts`. */
  startDevice(order: DeviceOrder): Promise<StartedDevice>;
  decideDevice(decision: DeviceDecision): Promise<DeviceLook>;
  pollDevice(poll: {
    readonly deviceCode: string;
    readonly client: string;
    readonly requestId: string;
  }): Promise<{ readonly token: GrantedToken } | { readonly refused: DeviceRefusal }>;
  /** Revokes a staff token by its secret. One that is unknown is revoked already. */
  revoke(input: { readonly secret: string; readonly requestId: string }): Promise<void>;
}

type Directory = UnitStub<DirectoryMethods>;

export interface StaffSignInsDeps {
  readonly directory: Directory;
  readonly publish: (head: { readonly sequence: number; readonly hash: string }) => Promise<void>;
}

export function makeStaffSignIns({ directory, publish }: StaffSignInsDeps): StaffSignIns {
  const granted = async (issued: GrantedToken & { readonly head: Parameters<typeof publish>[0] }) => {
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
    session: (session) => directory.staffSession(session),
    signOut: async ({ sid }) => void (await directory.staffSignOut({ sid })),
    endSessions: async (ended) => void (await directory.endStaffSessions(ended)),
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
  };
}

export interface StaffAuthenticateDeps {
  readonly directory: Directory;
  readonly now: () => number;
  readonly onIncident: (error: unknown) => void;
  /** Judges every token that is not one of staff. */
  readonly others: HostAdmin['authenticate'];
}

/** From a bearer token to its actor, staff tokens included. */
export function makeStaffAuthenticate({
  directory,
  now,
  onIncident,
  others,
}: StaffAuthenticateDeps): HostAdmin['authenticate'] {
  return async (token) => {
    if (!token.startsWith(TOKEN_PREFIXES.staff)) return others(token);
    if (!isWellFormedSecret(token)) return null;
    const found = await directory.staffToken(hashSecret(token));
    if (!found) return null;
    const { actor, lastUsedAtMs } = found;
    const isNoted = lastUsedAtMs !== null && now() - lastUsedAtMs < LAST_USE_STEP_MS;
    // Nobody waits for this write; losing one costs a minute of exactness.
    if (!isNoted && actor.token !== undefined) directory.touchStaffToken(actor.token).catch(onIncident);
    return actor;
  };
}
