/** The caller of a request to a deployed application. */
import type { VerifiedSubject } from '@freehold/auth';
import type { Failure, PrincipalId, ProgramGrant } from '@freehold/contracts';
import type { SignIn } from './env.ts';

/**
 * The platform's word about a caller. It judges cookies, passwords and tokens in its own process, and shows a bundle none of
 * them: a bundle may be hostile, and the people and their accounts are the tenant's.
 */
export type HostedCaller =
  | {
      readonly ok: true;
      /** Null for an anonymous caller. */
      readonly subject: VerifiedSubject | null;
      /** Null for a stranger. */
      readonly principal: PrincipalId | null;
      /** The program through which the person acts; null for the person themself. */
      readonly grant: ProgramGrant | null;
      readonly signIn: Pick<SignIn, 'mode' | 'securityUrl'> & {
        /** The issuers of the access tokens that are taken; absent where none are. */
        readonly authorizationServers?: readonly string[];
      };
      /** The version of the delivered settings, which the application reads once for each of them. */
      readonly version: string;
    }
  /** The failure that prevented it: a sign-in that is not set up, an issuer that does not answer. */
  | { readonly ok: false; readonly failure: Failure };
