/** The metadata of the authorization server and of its resources (RFC 8414, RFC 9728). */
import { AUTHORIZATION_SERVER_PATH, authorizationServerMetadata } from '@freehold/auth/programs';
import { answerOtherMethod } from '@freehold/contracts/http';
import type { Hono } from 'hono';
import type { ControlPlaneEnv } from '../http/env.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** The scope of a staff token: the role of its member decides what it may do. */
export const SCOPE = 'staff';
/** The scopes that a program can ask for; the member decides. */
const SCOPES = [SCOPE, 'read', 'all', 'operate', 'administer', 'deploy'];
const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';

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
  return ['', `${origin}/`, ...resourcesOf(origin)].includes(resource);
}

/** The identifiers of this API as a resource. */
export function resourcesOf(origin: string): readonly string[] {
  return [`${origin}/mcp`, origin];
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
      ? ([[AUTHORIZATION_SERVER_PATH, () => serverMetadata(origin())]] satisfies [string, () => object][])
      : []),
  ];
  for (const [path, document] of documents) {
    app.get(path, () => Response.json(document(), { headers: HEADERS }));
    app.options(path, () => new Response(null, { status: 204, headers: { ...HEADERS, ...PREFLIGHT } }));
    app.all(path, (c) => answerOtherMethod(c.req.raw.method, ['GET']));
  }
}

const PREFLIGHT = { 'access-control-allow-methods': 'GET, HEAD', 'access-control-allow-headers': '*' };

/** That of an instance, with device codes (RFC 8628, section 4). */
function serverMetadata(issuer: string): object {
  return {
    ...authorizationServerMetadata(issuer, resourcesOf(issuer)),
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    scopes_supported: SCOPES,
    grant_types_supported: ['authorization_code', 'refresh_token', DEVICE_GRANT],
    service_documentation: `${issuer}/docs`,
  };
}
