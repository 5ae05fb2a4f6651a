/** Subjects and their sessions, the providers that prove them, and the rules that both must keep (spec 2.1 and 2.2). */

import type { VerifiedSession } from '@freehold/oidc-rp';
import { refusal } from './refusals.ts';

/** The result of `resolve` (spec 2.1). It says who a person is, and nothing about what they may do. */
export interface AuthSubject {
  /** The provider's stable subject id, compared byte for byte. */
  readonly sub: string;
  readonly email: string | null;
  readonly name: string | null;
  /** True or false when the provider asserts it; absent when the provider says nothing. */
  readonly emailVerified?: boolean;
}

/** A subject with the issuer that vouches for it: an identity is the pair, never an e-mail address. */
export interface IssuedSubject extends AuthSubject {
  readonly issuer: string;
}

/** The pair that identifies a person. */
export type SubjectKey = Pick<IssuedSubject, 'issuer' | 'sub'>;

/** The signed session that a subject was read from. */
export interface SubjectSession {
  readonly sid: string;
  readonly issuedAtMs: number;
}

/** The answer of this library's providers: the subject, its issuer and, behind a cookie, its session. */
export interface VerifiedSubject extends IssuedSubject {
  readonly session?: SubjectSession;
}

/** Proof that a request brings, verified as far as it goes without the directory. */
export type Presented =
  /** A subject as the issuer named it. Without a session it is a token's, which the directory does not end. */
  | { readonly subject: VerifiedSubject }
  /** The holder of an account of the directory itself, which knows their present name and address. */
  | { readonly userId: string; readonly session: SubjectSession }
  /** The hash of a program's token; empty for one that cannot have been issued. */
  | { readonly programToken: string };

/** Proves who a caller is, and nothing else: roles, grants and tenancy are decided elsewhere (spec 1). */
export interface AuthProvider {
  /** Serves `/api/auth/*`: login, logout, callbacks. */
  handle(request: Request): Promise<Response>;
  /**
   * Returns the verified subject behind a request, or null for an anonymous one. Rejects when it cannot tell (an
   * issuer or a directory that fails), so that an error never passes for a subject or for its absence.
   */
  resolve(headers: Headers): Promise<AuthSubject | null>;
}

/** A provider whose subjects name their issuer and session, as the identity directory takes them. */
export interface VerifyingAuthProvider extends AuthProvider {
  /**
   * The issuer of its subjects: a program of a person of another one is not recognised, and without it no program is. Absent
   * where the platform recognises callers.
   */
  readonly issuer?: string;
  resolve(headers: Headers): Promise<VerifiedSubject | null>;
  /**
   * Returns the proofs of a request; the directory judges them in `recogniseCaller`. Absent for a provider whose
   * subjects no directory ends.
   */
  present?(headers: Headers): Promise<readonly Presented[]>;
  /**
   * The issuers of the access tokens that this provider takes, for the metadata of the resource (RFC 9728, section
   * 2). Absent for a provider that takes none.
   */
  readonly authorizationServers?: readonly string[];
}

/** OpenID Connect Core, section 2, allows 255; the rest is room for issuers that do not keep to it. */
const SUB_LENGTH_MAX = 1_024;
/** Clocks of several machines disagree by less; a clock that is off by more is broken. */
const FUTURE_MAX_MS = 24 * 3_600_000;
/** A request with more sessions is an attack on the directory, which looks each up. */
const SESSIONS_ASKED_MAX = 8;

/**
 * Refuses a subject without `sub` or issuer: all people who sign in so would share one identity.
 * @throws PlatformError `unauthenticated`, reason `subject_invalid`.
 */
export function requireSubject({ issuer, sub }: SubjectKey): void {
  const isNamed = typeof issuer === 'string' && issuer !== '' && typeof sub === 'string' && sub !== '';
  if (!isNamed || sub.length > SUB_LENGTH_MAX)
    throw refusal('unauthenticated', 'subject_invalid', 'This sign-in does not say who it is for.');
}

/** Returns a verified flag as a column stores it: 1, 0, or null when the issuer said nothing. */
export function toFlag(verified: boolean | undefined): number | null {
  return typeof verified === 'boolean' ? Number(verified) : null;
}

/**
 * Whether a session was issued at or before the floor up to which all sessions of its person were ended. Written so
 * that a time that is no number fails closed.
 */
export function isBelowFloor(session: SubjectSession, validAfterMs: number | null): boolean {
  return validAfterMs !== null && !(session.issuedAtMs > validAfterMs);
}

/** Whether a session begins more than a day from now: after a clock was set back, it would outlive its end. */
export function isFromTheFuture(session: Pick<SubjectSession, 'issuedAtMs'>, nowMs: number): boolean {
  return !(session.issuedAtMs <= nowMs + FUTURE_MAX_MS);
}

/** Returns the sessions that the directory is asked about: none where a request brings too many. */
export function possibleSessions(
  sessions: readonly VerifiedSession[],
  nowMs: number,
): readonly VerifiedSession[] {
  const possible = sessions.filter((session) => !isFromTheFuture(session, nowMs));
  return possible.length > SESSIONS_ASKED_MAX ? [] : possible;
}

/**
 * Returns what `judge` finds for the one live session; null for none, and for several. A browser brings several when
 * the cookie lost a Domain or a sibling host planted one: an attacker who plants a session beside the holder's must
 * not choose who the holder is. A sign-in ends all that the browser brought.
 * @throws as `judge` does.
 */
export async function findLiveSession<T>(
  sessions: readonly VerifiedSession[],
  nowMs: number,
  judge: (session: VerifiedSession) => Promise<T | null>,
): Promise<T | null> {
  const live: T[] = [];
  for (const session of possibleSessions(sessions, nowMs)) {
    const found = await judge(session);
    if (found !== null) live.push(found);
  }
  return live.length === 1 ? (live[0] ?? null) : null;
}
