/** Programs as clients (RFC 6749, section 2), and what they say of themselves (RFC 7591, section 2). */
import type { JSONWebKeySet } from 'jose';
import { OAuthError } from './errors.ts';
import { type RedirectKind, receiverOf, redirectKind } from './redirect-uri.ts';

export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** The public keys of a client with `private_key_jwt`: in its document, or at an address that this names. */
export type ClientKeys = { readonly uri: string } | { readonly jwks: JSONWebKeySet };

export interface Client {
  /** The `client_id`: the address of a document, or an id that was registered here. */
  readonly id: string;
  readonly kind: 'document' | 'registered';
  /** As the program calls itself. Only a host name proves anything. */
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly authMethod: ClientAuthMethod;
  /** Present exactly with `private_key_jwt`. */
  readonly keys?: ClientKeys;
}

/** A registration is carried by its id, which has no room for keys. */
const REGISTERED_AUTH_METHODS: readonly ClientAuthMethod[] = [
  'none',
  'client_secret_basic',
  'client_secret_post',
];
/** Anyone reads a document, so that a secret in it would be none. */
const DOCUMENT_AUTH_METHODS: readonly ClientAuthMethod[] = ['none', 'private_key_jwt'];
export const CLIENT_AUTH_METHODS: readonly ClientAuthMethod[] = [
  ...REGISTERED_AUTH_METHODS,
  'private_key_jwt',
];

const KEYS_MAX = 20;
const KEYS_URI_LENGTH_MAX = 500;

const NAME_LENGTH_MAX = 80;
const REDIRECTS_MAX = 20;
/** All of a registered client's addresses together: its id carries them, and stands in the address of a page. */
const REDIRECTS_LENGTH_MAX = 2_000;
/** Characters without a shape of their own, or that turn the text around them: a name must not change what is beside it. */
const SHAPELESS = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]+/gu;

/** The host name or scheme that a person judges a program by: of its document, else of the address that it comes back to. */
export function hostOf({ id, kind }: Pick<Client, 'id' | 'kind'>, redirectUri: string): string {
  return kind === 'document' ? new URL(id).hostname : receiverOf(redirectUri);
}

/**
 * Returns a client from its metadata. Members that this server does not use are ignored (RFC 7591, section 2).
 * @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata`.
 */
export function parseClient(
  { id, kind }: Pick<Client, 'id' | 'kind'>,
  metadata: Readonly<Record<string, unknown>>,
): Client {
  const redirectUris = requireRedirects(metadata.redirect_uris, kind);
  requireAmong(metadata.grant_types, 'grant_types', 'authorization_code');
  requireAmong(metadata.response_types, 'response_types', 'code');
  const authMethod = requireAuthMethod(metadata.token_endpoint_auth_method, kind);
  const name = nameOf(metadata.client_name) || hostOf({ id, kind }, redirectUris[0] ?? '');
  const keys = authMethod === 'private_key_jwt' ? { keys: requireKeys(metadata) } : {};
  return { id, kind, name, redirectUris, authMethod, ...keys };
}

/** RFC 7591, section 2: one of `jwks` and `jwks_uri`. */
function requireKeys({ jwks, jwks_uri: uri }: Readonly<Record<string, unknown>>): ClientKeys {
  if (jwks === undefined && typeof uri === 'string' && isKeysUri(uri)) return { uri };
  if (uri === undefined && jwks !== undefined) return { jwks: parseKeys(jwks) };
  throw new OAuthError(
    'invalid_client_metadata',
    'private_key_jwt needs either jwks, or an https address in jwks_uri.',
  );
}

function isKeysUri(uri: string): boolean {
  if (!uri.startsWith('https://') || uri.length > KEYS_URI_LENGTH_MAX || !URL.canParse(uri)) return false;
  const { username, password } = new URL(uri);
  return username === '' && password === '' && !uri.includes('#');
}

/** Returns a set of public keys. @throws OAuthError `invalid_client_metadata` for another value, or with a secret in it. */
export function parseKeys(value: unknown): JSONWebKeySet {
  const keys: unknown = (value as { readonly keys?: unknown } | null)?.keys;
  const isPublic = (key: unknown): boolean =>
    typeof key === 'object' && key !== null && !('d' in key) && !('k' in key);
  if (Array.isArray(keys) && keys.length > 0 && keys.length <= KEYS_MAX && keys.every(isPublic))
    return { keys };
  throw new OAuthError(
    'invalid_client_metadata',
    `The keys of a client are a JSON Web Key Set of 1 to ${KEYS_MAX} public keys.`,
  );
}

function requireRedirects(uris: unknown, kind: Client['kind']): readonly string[] {
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > REDIRECTS_MAX)
    throw new OAuthError('invalid_redirect_uri', `redirect_uris must be a list of 1 to ${REDIRECTS_MAX}.`);
  const kinds = uris.map((each): RedirectKind | null =>
    typeof each === 'string' ? redirectKind(each) : null,
  );
  if (kinds.includes(null))
    throw new OAuthError(
      'invalid_redirect_uri',
      'A redirect URI is https, http on a loopback address, or of a private-use scheme, and has no fragment.',
    );
  const unique = [...new Set(uris as string[])];
  if (kind === 'registered' && unique.join('').length > REDIRECTS_LENGTH_MAX)
    throw new OAuthError(
      'invalid_redirect_uri',
      `redirect_uris must be at most ${REDIRECTS_LENGTH_MAX} characters together.`,
    );
  return unique;
}

function requireAmong(list: unknown, member: string, needed: string): void {
  if (list === undefined) return;
  if (!Array.isArray(list) || !list.includes(needed))
    throw new OAuthError('invalid_client_metadata', `${member} must contain ${needed}.`);
}

/** The default is that of RFC 7591, section 2. */
function requireAuthMethod(method: unknown, kind: Client['kind']): ClientAuthMethod {
  const asked = method ?? (kind === 'document' ? 'none' : 'client_secret_basic');
  const possible: readonly unknown[] = kind === 'document' ? DOCUMENT_AUTH_METHODS : REGISTERED_AUTH_METHODS;
  if (!possible.includes(asked))
    throw new OAuthError(
      'invalid_client_metadata',
      `token_endpoint_auth_method must be ${possible.join(', ')}${kind === 'document' ? ' in a document' : ''}.`,
    );
  return asked as ClientAuthMethod;
}

function nameOf(name: unknown): string {
  if (typeof name !== 'string') return '';
  const shown = name.toWellFormed().replaceAll(SHAPELESS, ' ').replaceAll(/\s+/g, ' ').trim();
  return [...shown].slice(0, NAME_LENGTH_MAX).join('');
}
