/** The metadata of an instance as an OAuth resource (RFC 9728), and the challenge of a refusal (RFC 6750, section 3). */

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

/** The closed list of RFC 6750, section 3.1. */
export type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

export interface BearerChallengeOptions {
  /** Where the metadata of the resource is (RFC 9728, section 5.1): `protectedResourceMetadataUrl(resource)`. */
  readonly resourceMetadata: string;
  /** Absent when the request brought no credentials: then none were wrong. */
  readonly error?: BearerError | undefined;
  /** For the developer of the client. Characters that a header cannot hold are replaced. */
  readonly errorDescription?: string;
  /** Scope values, separated by single spaces, that the request would need. */
  readonly scope?: string;
  readonly realm?: string;
}

/** RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * Returns the value of `WWW-Authenticate`: one challenge with these parameters, for any texts.
 * @throws TypeError for a metadata address that is no absolute URL, and a scope that is none.
 */
export function bearerChallenge(options: BearerChallengeOptions): string {
  const { resourceMetadata, error, errorDescription, scope, realm } = options;
  if (!URL.canParse(resourceMetadata))
    throw new TypeError('The metadata of a resource is at an absolute URL.');
  if (scope !== undefined && !SCOPE.test(scope))
    throw new TypeError('A scope is words of ASCII characters, separated by single spaces.');
  const parameters: readonly (readonly [name: string, value: string | undefined])[] = [
    ['realm', realm],
    ['error', error],
    ['error_description', errorDescription],
    ['scope', scope],
    ['resource_metadata', new URL(resourceMetadata).href],
  ];
  const shown = parameters.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${plainText(value)}"`],
  );
  return `Bearer ${shown.join(', ')}`;
}

/**
 * Returns the error for an anonymous request: `invalid_token`, or undefined when it brought no token, since an error
 * would then claim that one was judged (RFC 6750, section 3.1).
 */
export function bearerErrorOf(headers: Headers): 'invalid_token' | undefined {
  return /^\s*bearer(?:\s|$)/i.test(headers.get('authorization') ?? '') ? 'invalid_token' : undefined;
}

/** RFC 6750, section 3, allows neither quotes nor backslashes in its parameters, so that nothing needs escaping. */
function plainText(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replace(/[^\x20-\x7e]/gu, '?');
}
