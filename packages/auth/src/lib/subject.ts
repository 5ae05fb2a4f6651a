/** Who somebody is, as a provider proves it and as the identity directory takes it (spec 2.1). */

/** The result of `resolve` (spec 2.1). It says who somebody is, and nothing about what they may do. */
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

/** The signed session that a subject was read from. */
export interface SubjectSession {
  readonly sid: string;
  readonly issuedAtMs: number;
}

/** What the providers of this library answer: the subject, its issuer and, behind a cookie, its session. */
export interface VerifiedSubject extends IssuedSubject {
  readonly session?: SubjectSession;
}
