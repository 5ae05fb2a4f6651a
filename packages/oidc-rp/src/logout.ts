/** Signs out at the issuer too (OpenID Connect RP-Initiated Logout 1.0; spec 4.1, federated logout rules). */
import type { OidcContext } from './context.ts';
import { isConfidentialUrl } from './env.ts';
import { OidcError } from './lib/errors.ts';
import { safePath } from './safe-path.ts';

/**
 * Returns the issuer's end-session URL, or null when the issuer is down, broken, or advertises none: signing out
 * locally must not depend on it (B-16). `post_logout_redirect_uri` is `origin` + `postLogoutPath` (or `/` when
 * that is not a safe path), a string that must be registered at the issuer. `client_id` is always sent, so that an
 * issuer can check that string without a hint. The hint is omitted when absent, and when the URL is neither https
 * nor loopback, since it is an ID token (B-15).
 */
export async function federatedLogoutUrl(
  env: OidcContext,
  origin: string,
  postLogoutPath: string,
  idTokenHint?: string | null,
): Promise<string | null> {
  const endpoint = await endSessionEndpoint(env);
  if (endpoint === null) return null;
  if (idTokenHint && isConfidentialUrl(endpoint)) endpoint.searchParams.set('id_token_hint', idTokenHint);
  endpoint.searchParams.set('client_id', env.env.clientId);
  endpoint.searchParams.set('post_logout_redirect_uri', `${origin}${safePath(postLogoutPath) ?? '/'}`);
  return endpoint.href;
}

/** Returns a new URL object, which the caller may change. */
async function endSessionEndpoint(env: OidcContext): Promise<URL | null> {
  try {
    const { endSessionEndpoint: endpoint } = await env.issuer.metadata();
    if (endpoint === undefined || !URL.canParse(endpoint)) return null;
    const url = new URL(endpoint);
    // A browser is sent there, so only web addresses are accepted.
    return url.protocol === 'https:' || url.protocol === 'http:' ? url : null;
  } catch (error) {
    if (error instanceof OidcError) return null;
    throw error;
  }
}
