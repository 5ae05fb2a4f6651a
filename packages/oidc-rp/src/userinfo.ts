/** Claims about the user that the issuer omits from the ID token (OpenID Connect Core section 5.3). */
import {
  JSON_ATTRIBUTE_COMPARISON,
  OperationProcessingError,
  processUserInfoResponse,
  userInfoRequest,
} from 'oauth4webapi';
import { oauthClient } from './client-auth.ts';
import type { OidcContext } from './context.ts';
import type { IssuerMetadata } from './discovery.ts';
import type { IdTokenClaims } from './id-token.ts';
import { OidcError } from './lib/errors.ts';
import { oauthHttp } from './lib/oauth-http.ts';
import { textOrUndefined } from './lib/record.ts';
import { type SessionUser, userFromClaims } from './session.ts';

/**
 * Returns the user, from the ID token where it is sufficient, else with the userinfo endpoint's help. The person signs in
 * without these claims when it refuses, fails or answers malformed: they are optional.
 * @throws OidcError `userinfo_invalid` when it answers for another subject.
 */
export async function loadUser(
  env: OidcContext,
  metadata: IssuerMetadata,
  signIn: { readonly claims: IdTokenClaims; readonly accessToken: string },
): Promise<SessionUser> {
  const { claims } = signIn;
  if (!isUserinfoNeeded(env.scope, claims) || metadata.userinfoEndpoint === undefined) {
    return userFromClaims(claims.sub, claims);
  }
  const info = await fetchUserinfo(env, metadata, signIn.accessToken, claims.sub);
  return mergeUser(claims, info);
}

/**
 * Merges the claims; the ID token takes precedence. An address and its verification flag always come from one
 * source.
 */
export function mergeUser(claims: IdTokenClaims, info: Readonly<Record<string, unknown>>): SessionUser {
  const speaksOfEmail = textOrUndefined(claims.email) !== undefined;
  const isSameEmail = claims.email === info.email;
  const email = speaksOfEmail ? claims : info;
  return userFromClaims(claims.sub, {
    email: email.email,
    email_verified: email.email_verified ?? (isSameEmail ? info.email_verified : undefined),
    name: textOrUndefined(claims.name) ?? info.name,
  });
}

function isUserinfoNeeded(scope: string, claims: IdTokenClaims): boolean {
  const asked = scope.split(' ');
  return (
    (asked.includes('email') && textOrUndefined(claims.email) === undefined) ||
    (asked.includes('profile') && textOrUndefined(claims.name) === undefined)
  );
}

async function fetchUserinfo(
  env: OidcContext,
  metadata: IssuerMetadata,
  accessToken: string,
  subject: string,
): Promise<Readonly<Record<string, unknown>>> {
  const client = oauthClient(env);
  try {
    const response = await userInfoRequest(metadata.server, client, accessToken, oauthHttp(env.peerFetch));
    // We request no signed answer, and refuse one: the metadata that we pass on names no algorithm for it.
    return await processUserInfoResponse(metadata.server, client, subject, response);
  } catch (cause) {
    const isOfAnother = cause instanceof OperationProcessingError && cause.code === JSON_ATTRIBUTE_COMPARISON;
    if (!isOfAnother) return {};
    throw new OidcError('userinfo_invalid', 'The userinfo answer is one for another subject.', { cause });
  }
}
