/** The challenge that goes with a 401 or 403 to a client with, or without, an access token (RFC 6750, section 3). */

/** The closed list of RFC 6750, section 3.1. */
export type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

export interface BearerChallengeOptions {
  /** Where the metadata of the resource is (RFC 9728, section 5.1): `protectedResourceMetadataUrl(resource)`. */
  readonly resourceMetadata: string;
  /** Left out when the request brought no credentials: then nothing was wrong with them. */
  readonly error?: BearerError | undefined;
  /** For the developer of the client. What cannot stand in a header is replaced. */
  readonly errorDescription?: string;
  /** Scope values, separated by single spaces, that the request would need. */
  readonly scope?: string;
  readonly realm?: string;
}

/** RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * The value of `WWW-Authenticate`. Whatever the texts hold, it is one challenge with these parameters.
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
 * What was wrong with the access token of a request that nobody could be recognized by: `invalid_token`, or undefined
 * when it brought none, for an error then would say that one was looked at (RFC 6750, section 3.1).
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
