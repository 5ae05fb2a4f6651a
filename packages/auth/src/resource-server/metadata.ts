/** The metadata of an instance as an OAuth resource, and its address (RFC 9728). */

/** The address of the metadata of a resource without a path (RFC 9728, section 3). */
export const PROTECTED_RESOURCE_PATH = '/.well-known/oauth-protected-resource';

/** A resource that takes access tokens. */
export interface ProtectedResource {
  /** Its identifier: an absolute URL without query and fragment, as clients name it when they ask for a token. */
  readonly resource: string;
  /** The issuers of its tokens: `provider.authorizationServers`. */
  readonly authorizationServers: readonly string[];
  readonly scopesSupported?: readonly string[];
  /** For people, in English. */
  readonly resourceName?: string;
  readonly resourceDocumentation?: string;
}

/** The document (RFC 9728, section 2). A list without members is left out (section 3.2). */
export interface ProtectedResourceMetadata {
  readonly resource: string;
  readonly authorization_servers?: readonly string[];
  readonly bearer_methods_supported: readonly ['header'];
  readonly scopes_supported?: readonly string[];
  readonly resource_name?: string;
  readonly resource_documentation?: string;
}

/** Returns the document of a resource. @throws TypeError for an identifier that is no absolute URL without query and fragment. */
export function protectedResourceMetadata(options: ProtectedResource): ProtectedResourceMetadata {
  const { resource, authorizationServers, scopesSupported, resourceName, resourceDocumentation } = options;
  requireUrl(resource);
  return {
    resource,
    ...(authorizationServers.length > 0 ? { authorization_servers: [...authorizationServers] } : {}),
    // A token in the query ends up in logs, and no reader here takes one from a form.
    bearer_methods_supported: ['header'],
    ...(scopesSupported && scopesSupported.length > 0 ? { scopes_supported: [...scopesSupported] } : {}),
    ...(resourceName === undefined ? {} : { resource_name: resourceName }),
    ...(resourceDocumentation === undefined ? {} : { resource_documentation: resourceDocumentation }),
  };
}

/**
 * Returns the address of a resource's document: the well-known path between its host and its own path (RFC 9728,
 * section 3.1).
 * @throws TypeError as {@link protectedResourceMetadata} does.
 */
export function protectedResourceMetadataUrl(resource: string): string {
  const { origin, pathname } = requireUrl(resource);
  return `${origin}${PROTECTED_RESOURCE_PATH}${pathname === '/' ? '' : pathname}`;
}

/** Parses a resource identifier; null for any other text (RFC 8707, section 2; RFC 9728, section 1.2). */
export function parseResource(resource: string): URL | null {
  const url = URL.canParse(resource) ? new URL(resource) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return null;
  // The parsed URL hides an empty query or fragment, which a comparison of characters does not.
  return url.username || url.password || /[?#]/.test(resource) ? null : url;
}

function requireUrl(resource: string): URL {
  const url = parseResource(resource);
  if (url === null) throw new TypeError('A resource is an absolute URL without query and fragment.');
  return url;
}
