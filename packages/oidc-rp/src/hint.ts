/** The hint cookie: the ID token for one federated sign-out (spec 2.5, B-06), with our tag after it. */
import type { OidcContext } from './context.ts';
import { cookieName, readOnlyCookie } from './cookies.ts';

/**
 * Returns the cookie value: the ID token, a dot, our tag. The tag keeps a planted token from signing another user
 * out.
 */
export function sealHint(env: OidcContext, idToken: string): string {
  return `${idToken}.${env.signers.hint.tag(idToken)}`;
}

/** Returns the ID token that a request brings to the logout route, or null. Never throws. */
export function hintFromHeaders(env: OidcContext, headers: Headers): string | null {
  return readOnlyCookie(headers, cookieName(env, 'hint'), (value) => {
    const end = value.lastIndexOf('.');
    const idToken = value.slice(0, Math.max(end, 0));
    return idToken !== '' && env.signers.hint.hasTag(idToken, value.slice(end + 1)) ? idToken : null;
  });
}
