/** The applications that may send people here, in our terms and in those of OpenID Connect registration. */
import type { ClientMetadata } from 'oidc-provider';
import { IssuerError } from './errors.ts';

/** A confidential application using the authorization code flow with PKCE. */
export interface IssuerClient {
  readonly clientId: string;
  /** Presented at the token endpoint by HTTP Basic authentication (`client_secret_basic`). */
  readonly clientSecret: string;
  /** Compared character by character (RFC 9700, section 2.1); no wildcards. At least one. */
  readonly redirectUris: readonly string[];
  /** Where a person may be sent after signing out; compared like redirect URIs. */
  readonly postLogoutRedirectUris: readonly string[];
  /** Shown on the sign-in page. Default: the client id. */
  readonly name?: string;
  /** Receives logout tokens when a session ends (OpenID Connect Back-Channel Logout 1.0). */
  readonly backchannelLogoutUri?: string;
  /** How this client's ID tokens are signed. Default `ES256`. */
  readonly idTokenAlg?: 'ES256' | 'RS256';
}

/**
 * A client as OpenID Connect client metadata.
 *
 * @throws IssuerError `client_invalid` for an empty id or secret, or a URI with a wildcard. The rest is
 * judged by oidc-provider.
 */
export function toClientMetadata(client: IssuerClient): ClientMetadata {
  if (client.clientId === '' || client.clientSecret === '') {
    throw new IssuerError('client_invalid', 'A client needs a client id and a client secret.');
  }
  // A `*` would be compared literally, and match nothing: better said now than found out at sign-in.
  const wildcard = [...client.redirectUris, ...client.postLogoutRedirectUris].find((uri) =>
    uri.includes('*'),
  );
  if (wildcard !== undefined) {
    throw new IssuerError('client_invalid', `Redirect URIs are exact: "${wildcard}" has a wildcard.`);
  }
  return {
    client_id: client.clientId,
    client_secret: client.clientSecret,
    client_name: client.name ?? client.clientId,
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...client.postLogoutRedirectUris],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
    id_token_signed_response_alg: client.idTokenAlg ?? 'ES256',
    ...(client.backchannelLogoutUri === undefined
      ? {}
      : { backchannel_logout_uri: client.backchannelLogoutUri, backchannel_logout_session_required: true }),
  };
}
