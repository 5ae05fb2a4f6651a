/** The metadata of the authorization server and of its resources (RFC 8414, RFC 9728). */
import { answerOtherMethod } from '@freehold/contracts/http';
import type { Hono } from 'hono';
import type { ControlPlaneEnv } from '../http/env.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** The only scope: the owner's role decides what a token may do. */
export const SCOPE = 'staff';
const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';
const SERVER_METADATA_PATH = '/.well-known/oauth-authorization-server';

/** Public, and readable by pages of other origins; no credentials come along. */
const HEADERS = {
  'access-control-allow-origin': '*',
  'cache-control': 'public, max-age=60',
  'x-content-type-options': 'nosniff',
};

/**
 * The addition to the challenge of a 401: where a program finds the issuer of tokens (RFC 9728, section 5.1). Empty
 * where the API does not know its own origin.
 */
export function apiChallenge(origin: (() => string) | undefined): string {
  return origin ? `, resource_metadata="${origin()}${RESOURCE_METADATA_PATH}"` : '';
}

/** The `resource_metadata` of a 401 of the MCP endpoint (RFC 9728, section 5.1). */
export function mcpMetadataUrl(origin: string): string {
  return `${origin}${RESOURCE_METADATA_PATH}/mcp`;
}

/**
 * Whether our tokens are for this resource (RFC 8707): the API, or its MCP endpoint. An empty one counts as left out
 * (RFC 6749, section 3.1).
 */
export function isOwnResource(resource: string, origin: string): boolean {
  return ['', origin, `${origin}/`, `${origin}/mcp`].includes(resource);
}

/** Mounts the documents. Without staff there is no authorization server for the resources to name. */
export function mountOAuthMetadata(
  app: Hono<ControlPlaneEnv>,
  { origin, issuesTokens }: { readonly origin: () => string; readonly issuesTokens: boolean },
): void {
  const resource = (path: string) => () => ({
    resource: `${origin()}${path}`,
    ...(issuesTokens ? { authorization_servers: [origin()], scopes_supported: [SCOPE] } : {}),
    bearer_methods_supported: ['header'],
    resource_name: 'Freehold control plane',
    resource_documentation: `${origin()}/docs`,
  });
  const documents: [string, () => object][] = [
    [RESOURCE_METADATA_PATH, resource('')],
    [`${RESOURCE_METADATA_PATH}/mcp`, resource('/mcp')],
    ...(issuesTokens
      ? ([[SERVER_METADATA_PATH, () => serverMetadata(origin())]] satisfies [string, () => object][])
      : []),
  ];
  for (const [path, document] of documents) {
    app.get(path, () => Response.json(document(), { headers: HEADERS }));
    app.options(path, () => new Response(null, { status: 204, headers: { ...HEADERS, ...PREFLIGHT } }));
    app.all(path, (c) => answerOtherMethod(c.req.raw.method, ['GET']));
  }
}

const PREFLIGHT = { 'access-control-allow-methods': 'GET, HEAD', 'access-control-allow-headers': '*' };

function serverMetadata(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: [SCOPE],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', DEVICE_GRANT],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${issuer}/docs`,
  };
}
