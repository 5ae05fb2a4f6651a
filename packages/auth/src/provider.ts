/** The one interface that an application codes against (spec 2.2). */
import type { Presented } from './identity-directory/recognise.ts';
import type { AuthSubject, VerifiedSubject } from './lib/subject.ts';

/** Proves who a caller is, and nothing else: roles, grants and tenancy are decided elsewhere (spec 1). */
export interface AuthProvider {
  /** Serves `/api/auth/*`: login, logout, callbacks. */
  handle(request: Request): Promise<Response>;
  /**
   * The verified subject behind a request, or null for nobody. Rejects when it cannot tell (an issuer or a
   * directory that fails): an error never becomes somebody, and never becomes nobody either.
   */
  resolve(headers: Headers): Promise<AuthSubject | null>;
}

/** A provider whose subjects name their issuer and session: what the identity directory takes. */
export interface VerifyingAuthProvider extends AuthProvider {
  resolve(headers: Headers): Promise<VerifiedSubject | null>;
  /**
   * What a request presents, verified as far as it goes without the directory: the directory judges it together with
   * whatever else it is asked (`recogniseCaller`). Absent for a provider whose subjects no directory ends.
   */
  present?(headers: Headers): Promise<readonly Presented[]>;
  /**
   * Who makes the access tokens that this provider takes: issuer identifiers, for the metadata of the resource
   * (RFC 9728, section 2). Absent for a provider that takes none.
   */
  readonly authorizationServers?: readonly string[];
}
