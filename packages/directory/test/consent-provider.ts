/**
 * An OAuth 2.0 provider in memory: codes with PKCE, refresh tokens that are good once, userinfo and revocation. It is as
 * strict as a real one, so that what the platform sends is tested with it.
 */
import { createHash } from 'node:crypto';
import { type Keyring, makeKeyring } from '@freehold/store';
import type { ConnectionsOptions, OAuthProvider } from '../src/index.ts';
import { SEAL_KEY } from './key-provider.ts';

export const ISSUER = 'https://calendar.example';
export const BASE_URL = 'https://api.example.com';

interface Grant {
  readonly account: string;
  accessToken: string;
  refreshToken: string;
  live: boolean;
}

export interface ConsentProvider {
  readonly options: ConnectionsOptions;
  /** Paths that were asked for, oldest first. */
  readonly asked: string[];
  readonly grants: Grant[];
  /** Every token that was ever given. */
  readonly tokens: string[];
  /** Answers instead of the provider, by path; null lets the provider answer. */
  fault: ((path: string) => Promise<Response> | null) | null;
  /** Seconds that an access token lives; null: the provider does not say. */
  lifetimeS: number | null;
  givesRefreshTokens: boolean;
  /** Consents to an authorization URL. Returns the address that the person's browser is sent back to. */
  consent(location: string, account?: string): URL;
  /** The same for a person who refuses. */
  deny(location: string, error?: string): URL;
}

export interface ConsentProviderOptions {
  readonly provider?: Partial<OAuthProvider>;
  readonly keyring?: Keyring;
  readonly baseUrl?: string;
}

export function makeConsentProvider(options: ConsentProviderOptions = {}): ConsentProvider {
  const codes = new Map<string, { account: string; challenge: string; redirectUri: string }>();
  const grants: Grant[] = [];
  const tokens: string[] = [];
  let made = 0;
  const newToken = (kind: string): string => {
    const token = `${kind}-token-${++made}-of-the-provider`;
    tokens.push(token);
    return token;
  };
  const answerTokens = (grant: Grant): Response => {
    grant.accessToken = newToken('access');
    if (double.givesRefreshTokens) grant.refreshToken = newToken('refresh');
    return Response.json({
      access_token: grant.accessToken,
      token_type: 'Bearer',
      scope: 'read',
      ...(double.givesRefreshTokens ? { refresh_token: grant.refreshToken } : {}),
      ...(double.lifetimeS === null ? {} : { expires_in: double.lifetimeS }),
    });
  };
  const refuse = (error: string): Response => Response.json({ error }, { status: 400 });

  const token = (form: URLSearchParams): Response => {
    if (form.get('grant_type') === 'refresh_token') {
      const grant = grants.find(
        ({ refreshToken, live }) => live && refreshToken === form.get('refresh_token'),
      );
      return grant ? answerTokens(grant) : refuse('invalid_grant');
    }
    const code = form.get('code') ?? '';
    const found = codes.get(code);
    codes.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!found || found.challenge !== challenge || found.redirectUri !== form.get('redirect_uri'))
      return refuse('invalid_grant');
    const grant: Grant = { account: found.account, accessToken: '', refreshToken: '', live: true };
    grants.push(grant);
    return answerTokens(grant);
  };

  const answer = async (url: string, init: RequestInit): Promise<Response> => {
    const path = new URL(url).pathname;
    double.asked.push(path);
    const fault = double.fault?.(path);
    if (fault) return fault;
    const headers = new Headers(init.headers);
    const form = new URLSearchParams(String(init.body ?? ''));
    if (path === '/me') {
      const grant = grants.find(
        ({ accessToken, live }) => live && headers.get('authorization') === `Bearer ${accessToken}`,
      );
      return grant
        ? Response.json({ sub: grant.account, email: `${grant.account}@example.com` })
        : refuse('invalid_token');
    }
    if (headers.get('authorization') !== `Basic ${btoa('freehold:client+secret')}`)
      return Response.json({ error: 'invalid_client' }, { status: 401 });
    if (path === '/token') return token(form);
    if (path !== '/revoke') return new Response(null, { status: 404 });
    for (const grant of grants)
      if ([grant.refreshToken, grant.accessToken].includes(form.get('token') ?? '')) grant.live = false;
    return new Response(null, { status: 200 });
  };

  const back = (location: string, params: Record<string, string>): URL => {
    const asked = new URL(location).searchParams;
    const url = new URL(asked.get('redirect_uri') ?? '');
    for (const [name, value] of Object.entries({ ...params, state: asked.get('state') ?? '', iss: ISSUER }))
      url.searchParams.set(name, value);
    return url;
  };

  const double: ConsentProvider = {
    asked: [],
    grants,
    tokens,
    fault: null,
    lifetimeS: 3600,
    givesRefreshTokens: true,
    consent: (location, account = 'ada') => {
      const asked = new URL(location).searchParams;
      if (asked.get('code_challenge_method') !== 'S256') throw new Error('PKCE is required');
      const code = `code-${++made}`;
      codes.set(code, {
        account,
        challenge: asked.get('code_challenge') ?? '',
        redirectUri: asked.get('redirect_uri') ?? '',
      });
      return back(location, { code });
    },
    deny: (location, error = 'access_denied') => back(location, { error }),
    options: {
      baseUrl: () => options.baseUrl ?? BASE_URL,
      keyring: options.keyring ?? makeKeyring([SEAL_KEY]),
      fetch: answer,
      providers: {
        calendar: {
          kind: 'oauth2',
          name: 'Calendar',
          authorizationEndpoint: `${ISSUER}/authorize`,
          tokenEndpoint: `${ISSUER}/token`,
          revocationEndpoint: `${ISSUER}/revoke`,
          scopes: ['read', 'write'],
          clientId: 'freehold',
          clientSecret: 'client secret',
          issuer: ISSUER,
          identity: { endpoint: `${ISSUER}/me`, accountName: 'email' },
          ...options.provider,
        },
        other: {
          kind: 'oauth2',
          name: 'Another',
          authorizationEndpoint: 'https://other.example/authorize',
          tokenEndpoint: 'https://other.example/token',
          scopes: [],
          clientId: 'freehold',
        },
        ledger: { kind: 'api-key', name: 'Ledger', probe: { endpoint: 'https://ledger.example/me' } },
      },
    },
  };
  return double;
}
