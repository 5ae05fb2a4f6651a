/** The metadata of an instance as the authorization server of its own resource (RFC 8414). */
import { CLIENT_AUTH_METHODS } from './lib/client.ts';
import { ASSERTION_ALGORITHMS } from './lib/client-assertion.ts';

/** Section 3 of RFC 8414: an issuer without a path has its document at the well-known path itself. */
export const AUTHORIZATION_SERVER_PATH = '/.well-known/oauth-authorization-server';

export const OAUTH_PATHS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
} as const;

/** Returns the document. @param origin the issuer: the origin of the request, for every host name of the instance. */
export function authorizationServerMetadata(
  origin: string,
  resources: readonly string[],
): Readonly<Record<string, unknown>> {
  return {
    issuer: origin,
    authorization_endpoint: origin + OAUTH_PATHS.authorize,
    token_endpoint: origin + OAUTH_PATHS.token,
    registration_endpoint: origin + OAUTH_PATHS.register,
    revocation_endpoint: origin + OAUTH_PATHS.revoke,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    revocation_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
    revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    code_challenge_methods_supported: ['S256'],
    // RFC 9207, section 3.
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    // RFC 9728, section 4.
    protected_resources: resources,
  };
}
