/** The challenge of a 401 or 403 to a client with, or without, an access token (RFC 6750, section 3). */

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
