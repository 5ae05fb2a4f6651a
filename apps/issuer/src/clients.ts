/** The applications that may send people here, in our terms and in those of OpenID Connect registration. */
import type { ClientMetadata } from 'oidc-provider';
import { IssuerError } from './errors.ts';

/** An application using the authorization code flow with PKCE. */
export interface IssuerClient {
  readonly clientId: string;
  /**
   * Presented at the token endpoint by HTTP Basic authentication (`client_secret_basic`). Absent for a public client,
   * which proves itself by PKCE alone and may also use the device flow (RFC 8628).
   */
  readonly clientSecret?: string;
  /**
   * Compared character by character (RFC 9700, section 2.1); no wildcards. At least one. A public client whose URIs
   * are all on `127.0.0.1`, `[::1]` or `localhost` is native: there the port may be any (RFC 8252, section 7.3).
   */
  readonly redirectUris: readonly string[];
  /** Addresses after a sign-out; compared like redirect URIs. */
  readonly postLogoutRedirectUris: readonly string[];
  /** Shown on the sign-in page. Default: the client id. */
  readonly name?: string;
  /**
   * Receives logout tokens when a session ends (OpenID Connect Back-Channel Logout 1.0). Of several, each at the
   * origin of a redirect URI, those of the applications that the person signed in to receive them.
   */
  readonly backchannelLogoutUri?: string | readonly string[];
  /** The algorithm of this client's ID tokens. Default `ES256`. */
  readonly idTokenAlg?: 'ES256' | 'RS256';
}

/**
 * Returns a client as OpenID Connect client metadata; oidc-provider checks the rest.
 * @throws IssuerError `client_invalid` for an empty id or secret, a URI with a wildcard, or one of several
 * back-channel addresses at another origin than all redirect URIs.
 */
export function toClientMetadata(client: IssuerClient): ClientMetadata {
  if (client.clientId === '' || client.clientSecret === '') {
    throw new IssuerError(
      'client_invalid',
      'A client needs a client id, and a client secret that is not empty unless it is a public one.',
    );
  }
  // A `*` would be compared literally, and match nothing: refused now, so that sign-in does not fail later.
  const wildcard = [...client.redirectUris, ...client.postLogoutRedirectUris].find((uri) =>
    uri.includes('*'),
  );
  if (wildcard !== undefined) {
    throw new IssuerError('client_invalid', `Redirect URIs are exact: "${wildcard}" has a wildcard.`);
  }
  const [told, ...others] = backchannelUrisOf(client);
  if (others.length > 0) requireOriginsOf(client);
  return {
    client_id: client.clientId,
    client_name: client.name ?? client.clientId,
    redirect_uris: [...client.redirectUris],
    post_logout_redirect_uris: [...client.postLogoutRedirectUris],
    response_types: ['code'],
    ...authenticationOf(client),
    id_token_signed_response_alg: client.idTokenAlg ?? 'ES256',
    ...(told === undefined
      ? {}
      : { backchannel_logout_uri: told, backchannel_logout_session_required: true }),
  };
}

/** Returns all addresses for a client's logout tokens. */
export function backchannelUrisOf({ backchannelLogoutUri = [] }: IssuerClient): readonly string[] {
  return typeof backchannelLogoutUri === 'string' ? [backchannelLogoutUri] : backchannelLogoutUri;
}

/** An address that no session can lead to would be registered for nothing. */
function requireOriginsOf(client: IssuerClient): void {
  const origins = new Set(client.redirectUris.map((uri) => URL.parse(uri)?.origin));
  const stray = backchannelUrisOf(client).find((uri) => {
    const url = URL.parse(uri);
    return url === null || url.hash !== '' || !origins.has(url.origin);
  });
  if (stray !== undefined) {
    throw new IssuerError(
      'client_invalid',
      `Of several back-channel addresses each is at the origin of a redirect URI, and "${stray}" is not.`,
    );
  }
}

const GRANT_TYPES = ['authorization_code', 'refresh_token'];
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

function authenticationOf({ clientSecret, redirectUris }: IssuerClient): Partial<ClientMetadata> {
  if (clientSecret !== undefined) {
    return {
      client_secret: clientSecret,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: GRANT_TYPES,
    };
  }
  return {
    token_endpoint_auth_method: 'none',
    grant_types: [...GRANT_TYPES, DEVICE_CODE],
    application_type: redirectUris.every(isLoopbackRedirect) ? 'native' : 'web',
  };
}

function isLoopbackRedirect(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
}
