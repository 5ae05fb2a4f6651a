/** The fixed-issuer provider: proves callers by the access token they present (spec 5.1, A-20). */

import { PlatformError } from '@freehold/contracts';
import { isConfidentialUrl, OidcConfigError, OidcError } from '@freehold/oidc-rp';
import { problemAnswer } from '../lib/answers.ts';
import { refusal } from '../lib/refusals.ts';
import { type AuthRuntime, completeRuntime, issuerAt } from '../lib/runtime.ts';
import type { VerifyingAuthProvider } from '../lib/subject.ts';
import { readBearer, verifyAccessToken } from './access-token.ts';

export interface OidcAuthProviderOptions {
  /** The one issuer whose tokens count, exactly as it names itself; its keys are found by discovery. */
  readonly issuer: string;
  /** The names of this resource, one of which a token must have been made for. Compared character for character. */
  readonly audience: string | readonly string[];
  readonly runtime?: AuthRuntime;
}

/**
 * Makes the provider. `resolve` returns the subject of `Authorization: Bearer`, and null for a token that is missing,
 * malformed, expired, or made for another resource. It rejects with `unavailable` when the issuer's keys cannot be
 * fetched. `handle` answers 501: people sign in at the issuer, not here.
 * @throws OidcConfigError for an issuer that is no https address, and without an audience.
 */
export function oidcAuthProvider(options: OidcAuthProviderOptions): VerifyingAuthProvider {
  const audiences = [options.audience].flat();
  // Without one every token of the issuer would do, whatever its resource.
  if (audiences.length === 0 || audiences.includes(''))
    throw new OidcConfigError('OIDC_AUDIENCE', 'OIDC_AUDIENCE must name this resource.');
  const runtime = completeRuntime(options.runtime);
  requireIssuerUrl(options.issuer, runtime);
  const issuer = issuerAt(options.issuer, runtime);
  return {
    issuer: options.issuer,
    authorizationServers: [options.issuer],
    resolve: async (headers) => {
      const token = readBearer(headers);
      if (token === null) return null;
      try {
        return await verifyAccessToken(token, issuer, { audiences, nowMs: runtime.now() });
      } catch (cause) {
        if (!(cause instanceof OidcError)) throw cause;
        // No credentials were judged, so this is never a 401.
        throw new PlatformError('unavailable', cause.message, {
          reason: cause.code,
          headers: { 'retry-after': '30' },
          cause,
        });
      }
    },
    handle: async () =>
      problemAnswer(
        refusal(
          'unsupported',
          'no_sign_in',
          'This application takes access tokens. It has no sign-in of its own.',
        ),
      ),
  };
}

function requireIssuerUrl(issuer: string, runtime: AuthRuntime): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : null;
  const insecure = runtime.allowInsecureIssuer === true && url?.protocol === 'http:';
  if (url === null || !(isConfidentialUrl(url) || insecure))
    throw new OidcConfigError('OIDC_ISSUER', 'OIDC_ISSUER must be an https address.');
}
