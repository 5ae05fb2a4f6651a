/**
 * The options of the sign-in of people: the roster of staff and builders, and the relying party of their issuer (spec
 * 1.B and 5.5).
 */
import type { DocumentFetch } from '@freehold/auth/programs';
import type {
  EndedSessions,
  MemberActor,
  StaffSession,
  StaffSignIn,
  StaffSignIns,
} from '@freehold/directory';

/** A person comes back from the issuer. */
export interface ArrivedStaff {
  readonly session: StaffSession;
  readonly issuerSid: string | null;
  readonly expiresAtMs: number;
  readonly email: string | null;
  readonly emailVerified: boolean;
  /** Absent where none is demanded. */
  readonly secondFactor?: NonNullable<StaffSignIn['secondFactor']>;
  /** The earlier session of this browser; it ends. */
  readonly previous: StaffSession | null;
}

/** Component B, bound by the wiring to an issuer. It signs and reads the cookies, and does not know the roster. */
export interface StaffRelyingParty {
  /**
   * Answers `/api/auth/login`, `/api/auth/callback` and `/api/auth/logout`.
   * @param admit called before a cookie is set; false refuses the person.
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
  /** The session that a request's cookie proves, whether or not it has ended. */
  session(headers: Headers): StaffSession | null;
}

export interface StaffOptions {
  /** `hostAdmin.staff`. */
  readonly signIns: StaffSignIns;
  /** Called each time; null while no issuer is configured, and then there is no sign-in. */
  readonly relyingParty: () => StaffRelyingParty | null;
  /** The claims that show a second factor, for the page of a refusal. Default: those of the issuer. */
  readonly secondFactor?: string;
  /**
   * Seal the registrations of programs and the questions of consent pages: the first seals, all open. Default: a key of this
   * process, so that registrations that no member let in end with it.
   */
  readonly sealingSecrets?: readonly string[];
  /** Fetches the documents that programs have at their `client_id`. It refuses addresses that are not public. Default: none. */
  readonly fetchDocument?: DocumentFetch;
  /** The contact for a person who is not on the roster. Default: an admin of this platform. */
  readonly contact?: string;
}

/** The member of the roster of a request's cookie, as of this moment, or null. */
export async function staffOf(
  { signIns, relyingParty }: StaffOptions,
  { headers }: Pick<Request, 'headers'>,
): Promise<MemberActor | null> {
  const session = relyingParty()?.session(headers) ?? null;
  return session && (await signIns.session(session));
}

/** The name and role of a member for our pages: `Ada, admin`. */
export function wordsOf(member: MemberActor): string {
  const what = member.kind === 'staff' ? member.role : `builder of ${member.tenant}`;
  return `${member.name}, ${what}`;
}
