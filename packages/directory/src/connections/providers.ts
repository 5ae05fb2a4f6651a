/**
 * The operator's registry of providers: the systems that tenants can be connected to, and how (spec 4.7). It is given at
 * wiring, judged once, and holds the only client secrets. The schema also judges an operator's file.
 */
import { IN_WORDS } from '@freehold/contracts';
import { providerKey } from '@freehold/contracts/http';
import { z } from 'zod';

const text = z.string().min(1).max(500);
const endpoint = z
  .string()
  .max(2000)
  .refine(isSoundEndpoint, 'must be an https URL without credentials or a fragment');
const fieldPath = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, 'must be a dotted path such as account.id');
const accountProbe = z.strictObject({
  endpoint,
  account: fieldPath.optional(),
  accountName: fieldPath.optional(),
});

/** Parameters that the round itself sets: an operator must not replace them. */
const OWN_PARAMS = new Set([
  ...['response_type', 'client_id', 'redirect_uri', 'scope', 'state'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri', 'response_mode'],
]);

/**
 * The schema of a provider. Unknown fields are refused: a misspelt one would be ignored silently.
 * @param clientSecret the schema of the secret: the secret itself, or a reference to it.
 */
export function providerSchema<Secret extends z.ZodType>(clientSecret: Secret) {
  return z.discriminatedUnion('kind', [oauthProvider(clientSecret), apiKeyProvider], {
    error: ({ code }) => (code === 'invalid_union' ? 'must be oauth2 or api-key' : undefined),
  });
}

function oauthProvider<Secret extends z.ZodType>(clientSecret: Secret) {
  return z
    .strictObject({
      kind: z.literal('oauth2'),
      name: text,
      authorizationEndpoint: endpoint,
      tokenEndpoint: endpoint,
      revocationEndpoint: endpoint.optional(),
      // RFC 6749, section 3.3.
      scopes: z
        .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be an OAuth scope'))
        .max(100)
        .default([]),
      clientId: text,
      clientSecret: clientSecret.optional(),
      clientAuth: z.enum(['client_secret_basic', 'client_secret_post']).optional(),
      issuer: endpoint.optional(),
      authorizationParams: z
        .record(text, z.string().max(500))
        .refine(
          (params) => Object.keys(params).every((name) => !OWN_PARAMS.has(name)),
          'must not set what the consent round sets itself',
        )
        .optional(),
      identity: accountProbe.optional(),
    })
    .refine((provider) => provider.clientAuth === undefined || provider.clientSecret !== undefined, {
      path: ['clientAuth'],
      error: 'needs a clientSecret',
    });
}

const apiKeyProvider = z.strictObject({
  kind: z.literal('api-key'),
  name: text,
  probe: z.strictObject({
    ...accountProbe.shape,
    header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
      .optional(),
    prefix: z
      .string()
      .regex(/^[\x20-\x7e]*$/, 'must be visible characters')
      .max(64)
      .optional(),
    tellsAccount: z.boolean().optional(),
  }),
});

/** Whether plain http stays on this machine: a name that RFC 6761 (section 6.3) keeps local, or a loopback address. */
export function isLoopbackHost(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

/** Plain http is for development, on this machine. */
function isSoundEndpoint(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || text.includes('#')) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/** The question to a provider whose account a credential belongs to. */
export interface AccountProbe {
  /** Answers a GET with JSON about the account: a userinfo endpoint. */
  readonly endpoint: string;
  /** The dotted path of the account's stable id in the answer. Default `sub`. */
  readonly account?: string | undefined;
  /** The dotted path of its name for people. Default: none is stored. */
  readonly accountName?: string | undefined;
}

/** A provider with a platform consent round: OAuth 2.0, authorization code with PKCE (RFC 6749, RFC 7636). */
export interface OAuthProvider {
  readonly kind: 'oauth2';
  /** For people. */
  readonly name: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  /** RFC 7009. Without it, disconnecting destroys the tokens here, and at the provider they expire. */
  readonly revocationEndpoint?: string | undefined;
  readonly scopes: readonly string[];
  readonly clientId: string;
  /** Absent: a public client, which proves itself by PKCE alone. */
  readonly clientSecret?: string | undefined;
  /** The way in which the secret is sent. Default `client_secret_basic`. */
  readonly clientAuth?: 'client_secret_basic' | 'client_secret_post' | undefined;
  /** The provider's issuer identifier. Set it where the provider sends `iss` (RFC 9207): it is then required. */
  readonly issuer?: string | undefined;
  /** Further parameters of the authorization request: `{ access_type: 'offline', prompt: 'consent' }`. */
  readonly authorizationParams?: Readonly<Record<string, string>> | undefined;
  /** Default: none, and the caller's own name tells connections apart. */
  readonly identity?: AccountProbe | undefined;
}

/** A provider whose credential is a key that a person copies from it. */
export interface ApiKeyProvider {
  readonly kind: 'api-key';
  readonly name: string;
  /** The question on which the key is tried before it is stored. */
  readonly probe: AccountProbe & {
    /** The header that the key travels in. Default `authorization`. */
    readonly header?: string | undefined;
    /** The text before the key. Default `Bearer ` in `authorization`, nothing elsewhere. */
    readonly prefix?: string | undefined;
    /** False: the answer only shows whether the key works, not the account. Default true. */
    readonly tellsAccount?: boolean | undefined;
  };
}

export type ConnectionProvider = OAuthProvider | ApiKeyProvider;

/** Providers by their key: `{ calendar: { kind: 'oauth2', … } }`. */
export type ConnectionProviders = Readonly<Record<string, ConnectionProvider>>;

export interface ProviderRegistry {
  /** The provider of this key, or undefined. */
  find(key: string): ConnectionProvider | undefined;
}

const connectionProvider = providerSchema(z.string().min(1).max(500));

/**
 * @throws TypeError naming the provider and the field. It repeats no value, because one of them is a secret.
 */
export function makeProviderRegistry(providers: ConnectionProviders): ProviderRegistry {
  const judged = new Map<string, ConnectionProvider>();
  for (const [key, provider] of Object.entries(providers)) {
    if (!providerKey.safeParse(key).success)
      throw new TypeError('a provider has a name of lower-case letters, digits and hyphens');
    const parsed = connectionProvider.safeParse(provider, IN_WORDS);
    if (!parsed.success) {
      const [fault] = parsed.error.issues;
      throw new TypeError(
        `the provider ${key} cannot be used: ${fault?.path.join('.') || 'it'}: ${fault?.message}`,
      );
    }
    judged.set(key, parsed.data);
  }
  return { find: (key) => judged.get(key) };
}
