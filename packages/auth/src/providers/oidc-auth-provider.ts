/** The fixed-issuer provider: proves callers by the access token they present (spec 5.1, A-20). */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { isConfidentialUrl, OidcConfigError, OidcError } from '@freehold/oidc-rp';
import type { VerifyingAuthProvider } from '../provider.ts';
import { type AuthRuntime, completeRuntime, issuerAt } from '../runtime.ts';
import { verifyAccessToken } from './access-token.ts';
import { readBearer } from './bearer.ts';

export interface OidcAuthProviderOptions {
  /** The one issuer whose tokens count, exactly as it names itself; its keys are found by discovery. */
  readonly issuer: string;
  /** The resource that a token must have been made for. */
  readonly audience: string;
  /** Default: the system's clock and network. */
  readonly runtime?: AuthRuntime;
}

/**
 * Makes the provider. `resolve` answers the subject of `Authorization: Bearer`, and null for a token that is
 * missing, malformed, expired, or made for something else. It rejects with `unavailable` when the issuer's keys
 * cannot be had. `handle` answers 501: people sign in at the issuer, not here.
 * @throws OidcConfigError for an issuer that is no https address.
 */
export function oidcAuthProvider(options: OidcAuthProviderOptions): VerifyingAuthProvider {
  const { audience } = options;
  const runtime = completeRuntime(options.runtime);
  requireIssuerUrl(options.issuer, runtime);
  const issuer = issuerAt(options.issuer, runtime);
  return {
    resolve: async (headers) => {
      const token = readBearer(headers);
      if (token === null) return null;
      try {
        return await verifyAccessToken(token, issuer, audience);
      } catch (cause) {
        throw cause instanceof OidcError ? issuerFailed(cause) : cause;
      }
    },
    handle: async () =>
      problemDocument(
        new PlatformError(
          'unsupported',
          'This application takes access tokens. It has no sign-in of its own.',
          {
            reason: 'no_sign_in',
          },
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

/** Nobody's credentials were judged, so this is never a 401. */
function issuerFailed(cause: OidcError): PlatformError {
  return new PlatformError('unavailable', cause.message, {
    reason: cause.code,
    headers: { 'retry-after': '30' },
    cause,
  });
}
