/**
 * What the control plane is told of the way in of people: the roster of staff and builders, and whoever vouches for them
 * (spec 1.B and 5.5).
 */
import type { Actor, EndedSessions, MemberActor, StaffDoor, StaffSession } from '@freehold/directory';

/** Somebody comes back from the issuer. */
export interface ArrivedStaff {
  readonly session: StaffSession;
  readonly issuerSid: string | null;
  readonly expiresAtMs: number;
  readonly email: string | null;
  readonly emailVerified: boolean;
  /** The session that this browser had until now; it ends. */
  readonly previous: StaffSession | null;
}

/**
 * Component B, as the wiring binds it to an issuer. It signs and reads the cookies, and knows nothing of the roster.
 */
export interface StaffRelyingParty {
  /**
   * Answers `/api/auth/login`, `/api/auth/callback` and `/api/auth/logout`.
   * @param admit asked before anybody's cookie is set; false refuses them.
   */
  handle(
    request: Request,
    hooks: {
      readonly admit: (arrived: ArrivedStaff) => Promise<boolean>;
      readonly signedOut: (session: StaffSession) => Promise<void>;
    },
  ): Promise<Response>;
  /** Answers `/api/auth/backchannel-logout`. */
  handleBackchannelLogout(request: Request, end: (ended: EndedSessions) => Promise<void>): Promise<Response>;
  /** The session that a request's cookie proves, whether or not it still goes on. */
  session(headers: Headers): StaffSession | null;
}

export interface StaffOptions {
  /** `hostAdmin.staff`. */
  readonly signIns: StaffDoor;
  /** Asked each time; null while no issuer is configured, and then nobody can sign in. */
  readonly relyingParty: () => StaffRelyingParty | null;
  /** Whom somebody is told to ask who is not on the roster. Default: an admin of this platform. */
  readonly contact?: string;
}

/** The member of the roster behind a request's cookie, as they are at this moment, or null. */
export async function staffOf(
  { signIns: door, relyingParty }: StaffOptions,
  { headers }: Pick<Request, 'headers'>,
): Promise<MemberActor | null> {
  const session = relyingParty()?.session(headers) ?? null;
  return session && (await door.session(session));
}

/** Who somebody is, in the words of our pages: `Ada, admin`. */
export function wordsOf(member: MemberActor): string {
  const what = member.kind === 'staff' ? member.role : `builder of ${member.tenant}`;
  return `${member.name}, ${what}`;
}

/** Makes the `staffSession` of an app. */
export function staffSessionOf(options: StaffOptions): (request: Request) => Promise<Actor | null> {
  return (request) => staffOf(options, request);
}
