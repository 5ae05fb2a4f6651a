/** The issuer's metadata (OpenID Connect Discovery 1.0), checked before any of it is used. */
import {
  type AuthorizationServer,
  discoveryRequest,
  JSON_ATTRIBUTE_COMPARISON,
  OperationProcessingError,
  processDiscoveryResponse,
} from 'oauth4webapi';
import { z } from 'zod';
import { isConfidentialUrl } from './env.ts';
import { OidcError } from './lib/errors.ts';
import { oauthHttp } from './lib/oauth-http.ts';
import type { PeerFetch } from './lib/peer-fetch.ts';

/**
 * The accepted signature algorithms: public keys only, never `none`, and never HS*, for which the public key would
 * be the secret (RFC 8725 section 2.1).
 */
export const SIGNING_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** The members of an issuer's metadata that the relying party uses. */
export interface IssuerMetadata {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly jwksUri: string;
  readonly userinfoEndpoint: string | undefined;
  readonly endSessionEndpoint: string | undefined;
  readonly pushedAuthorizationRequired: boolean;
  /** RFC 9207: the issuer promises `iss` in every authorization response. */
  readonly sendsIssInResponse: boolean;
  /** The issuer's algorithms for ID tokens, without those that are never accepted. Not empty. */
  readonly idTokenAlgorithms: readonly SigningAlgorithm[];
  /** RFC 8414 section 2: `client_secret_basic` when the issuer says nothing. */
  readonly clientAuthMethods: readonly string[];
  /**
   * The values of `prompt` that the issuer supports, if it lists them (Initiating User Registration 1.0, section
   * 4).
   */
  readonly promptValues: readonly string[] | undefined;
  /** The same in the form of oauth4webapi. */
  readonly server: AuthorizationServer;
}

export interface DiscoveryOptions {
  readonly issuer: string;
  readonly allowInsecure: boolean;
  readonly fetch: PeerFetch;
}

const metadataSchema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  jwks_uri: z.string(),
  userinfo_endpoint: z.string().optional(),
  end_session_endpoint: z.string().optional().catch(undefined),
  pushed_authorization_request_endpoint: z.string().optional(),
  require_pushed_authorization_requests: z.boolean().default(false),
  authorization_response_iss_parameter_supported: z.boolean().default(false),
  id_token_signing_alg_values_supported: z.array(z.string()).default(['RS256']),
  token_endpoint_auth_methods_supported: z.array(z.string()).default(['client_secret_basic']),
  prompt_values_supported: z.array(z.string()).optional().catch(undefined),
});

/**
 * Fetches and checks the metadata.
 * @throws OidcError `issuer_unavailable` when it cannot be fetched; `issuer_misconfigured` when it names another
 * issuer, lacks a member that sign-in needs, or names an endpoint to which secrets must not be sent.
 */
export async function discoverIssuer({
  issuer,
  allowInsecure,
  fetch,
}: DiscoveryOptions): Promise<IssuerMetadata> {
  const url = new URL(issuer);
  const response = await discoveryRequest(url, oauthHttp(fetch));
  const document = await processDiscoveryResponse(url, response).catch((cause: unknown) => {
    const isOtherIssuer =
      cause instanceof OperationProcessingError && cause.code === JSON_ATTRIBUTE_COMPARISON;
    throw isOtherIssuer
      ? otherIssuer()
      : new OidcError('issuer_misconfigured', 'The discovery document is not a conforming one.', { cause });
  });
  return judgeMetadata(document, { issuer, allowInsecure });
}

/** Checks a fetched discovery document. @throws OidcError `issuer_misconfigured`. */
export function judgeMetadata(
  document: unknown,
  { issuer, allowInsecure }: Pick<DiscoveryOptions, 'issuer' | 'allowInsecure'>,
): IssuerMetadata {
  const parsed = metadataSchema.safeParse(document);
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => issue.path.join('.')).join(', ');
    throw new OidcError('issuer_misconfigured', `The discovery document lacks or misstates: ${fields}.`);
  }
  const found = parsed.data;
  // Discovery section 4.3: identical, not merely equivalent. A trailing slash makes another issuer.
  if (found.issuer !== issuer) throw otherIssuer();
  const endpoints = [
    found.authorization_endpoint,
    found.token_endpoint,
    found.jwks_uri,
    found.userinfo_endpoint,
    found.pushed_authorization_request_endpoint,
  ];
  if (
    !endpoints.every(
      (endpoint) => endpoint === undefined || isUsableEndpoint(endpoint, { issuer, allowInsecure }),
    )
  ) {
    throw new OidcError(
      'issuer_misconfigured',
      'The discovery document names an endpoint that is not https.',
    );
  }
  const idTokenAlgorithms = SIGNING_ALGORITHMS.filter((algorithm) =>
    found.id_token_signing_alg_values_supported.includes(algorithm),
  );
  if (idTokenAlgorithms.length === 0) {
    throw new OidcError('issuer_misconfigured', 'The issuer offers no asymmetric signature algorithm.');
  }
  return {
    issuer,
    authorizationEndpoint: found.authorization_endpoint,
    tokenEndpoint: found.token_endpoint,
    jwksUri: found.jwks_uri,
    userinfoEndpoint: found.userinfo_endpoint,
    endSessionEndpoint: found.end_session_endpoint,
    pushedAuthorizationRequired: found.require_pushed_authorization_requests,
    sendsIssInResponse: found.authorization_response_iss_parameter_supported,
    idTokenAlgorithms,
    clientAuthMethods: found.token_endpoint_auth_methods_supported,
    promptValues: found.prompt_values_supported,
    server: asServer(found, idTokenAlgorithms),
  };
}

function otherIssuer(): OidcError {
  return new OidcError(
    'issuer_misconfigured',
    'The issuer names itself otherwise than OIDC_ISSUER does; both must be equal character for character, ' +
      'a trailing slash included.',
  );
}

/**
 * Whether an endpoint may be used. Only an issuer that is itself plain http, by setting, may have plain-http
 * endpoints.
 */
function isUsableEndpoint(
  endpoint: string,
  { issuer, allowInsecure }: Pick<DiscoveryOptions, 'issuer' | 'allowInsecure'>,
): boolean {
  if (!URL.canParse(endpoint)) return false;
  const url = new URL(endpoint);
  if (url.protocol === 'https:') return true;
  return (
    new URL(issuer).protocol === 'http:' &&
    url.protocol === 'http:' &&
    (allowInsecure || isConfidentialUrl(url))
  );
}

function asServer(
  found: z.infer<typeof metadataSchema>,
  idTokenAlgorithms: readonly SigningAlgorithm[],
): AuthorizationServer {
  return {
    issuer: found.issuer,
    authorization_endpoint: found.authorization_endpoint,
    token_endpoint: found.token_endpoint,
    jwks_uri: found.jwks_uri,
    ...(found.userinfo_endpoint === undefined ? {} : { userinfo_endpoint: found.userinfo_endpoint }),
    ...(found.pushed_authorization_request_endpoint === undefined
      ? {}
      : { pushed_authorization_request_endpoint: found.pushed_authorization_request_endpoint }),
    authorization_response_iss_parameter_supported: found.authorization_response_iss_parameter_supported,
    id_token_signing_alg_values_supported: [...idTokenAlgorithms],
  };
}
