/**
 * The operator's registry of providers: which other systems tenants can be connected to, and how (spec 4.7). It is
 * given at wiring, judged once, and holds the only client secrets there are.
 */

import { IN_WORDS } from '@freehold/contracts';
import { providerKey } from '@freehold/contracts/http';
import { z } from 'zod';
import { providerSchema } from './provider-schema.ts';

/** Whom a credential belongs to, asked of the provider itself. */
export interface AccountProbe {
  /** Answers JSON about whoever holds the credential, to a GET: a userinfo endpoint. */
  readonly endpoint: string;
  /** Where in the answer the account's stable id is, a dotted path. Default `sub`. */
  readonly account?: string | undefined;
  /** Where its name for people is. Default: none is kept. */
  readonly accountName?: string | undefined;
}

/** A provider with a platform consent round: OAuth 2.0, authorization code with PKCE (RFC 6749, RFC 7636). */
export interface OAuthProvider {
  readonly kind: 'oauth2';
  /** For people. */
  readonly name: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  /** RFC 7009. Without it, disconnecting destroys the tokens here and leaves them to expire there. */
  readonly revocationEndpoint?: string | undefined;
  readonly scopes: readonly string[];
  readonly clientId: string;
  /** Absent: a public client, which proves itself by PKCE alone. */
  readonly clientSecret?: string | undefined;
  /** How the secret travels. Default `client_secret_basic`. */
  readonly clientAuth?: 'client_secret_basic' | 'client_secret_post' | undefined;
  /** The provider's issuer identifier. Set it where the provider sends `iss` (RFC 9207): it is then required. */
  readonly issuer?: string | undefined;
  /** Further parameters of the authorization request: `{ access_type: 'offline', prompt: 'consent' }`. */
  readonly authorizationParams?: Readonly<Record<string, string>> | undefined;
  /** Default: nobody is asked, and a connection is told apart by the caller's own name for it. */
  readonly identity?: AccountProbe | undefined;
}

/** A provider whose credential is a key that somebody copies from it. */
export interface ApiKeyProvider {
  readonly kind: 'api-key';
  readonly name: string;
  /** What the key is tried on before it is stored. */
  readonly probe: AccountProbe & {
    /** The header that the key travels in. Default `authorization`. */
    readonly header?: string | undefined;
    /** What stands before the key. Default `Bearer ` in `authorization`, nothing elsewhere. */
    readonly prefix?: string | undefined;
    /** False: the answer says nothing about whose key it is, only whether it works. Default true. */
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
 * Judges what the operator has written.
 * @throws TypeError naming the provider and the field. No value is repeated: one of them is a secret.
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
