/**
 * The platform as an OAuth 2.0 client: the authorization request, the code and refresh grants, and revocation (RFC 6749,
 * RFC 7636, RFC 7009). Sending and judging are apart, so that every answer can be tested as a plain value.
 */
import { createHash } from 'node:crypto';
import {
  askProvider,
  type ProviderAccess,
  type ProviderAnswer,
  ProviderFailure,
} from './provider-exchange.ts';
import type { OAuthProvider } from './providers.ts';

/** The tokens of a token endpoint. */
export interface Tokens {
  readonly accessToken: string;
  /** Null when none was given: the consent ends with the access token. */
  readonly refreshToken: string | null;
  /** Milliseconds from now; null when the provider does not say. */
  readonly expiresInMs: number | null;
  /** Null when the provider does not say: then as requested (RFC 6749, section 5.1). */
  readonly scopes: readonly string[] | null;
}

interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly state: string;
  /** PKCE code verifier. */
  readonly verifier: string;
}

export function authorizationUrl(provider: OAuthProvider, request: AuthorizationRequest): string {
  const url = new URL(provider.authorizationEndpoint);
  const params: Readonly<Record<string, string>> = {
    ...provider.authorizationParams,
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: request.redirectUri,
    ...(provider.scopes.length === 0 ? {} : { scope: provider.scopes.join(' ') }),
    state: request.state,
    code_challenge: createHash('sha256').update(request.verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}

/** Redeems a code. @throws ProviderFailure `refused` when the provider does not know the code, or not for this verifier. */
export async function redeemCode(
  access: ProviderAccess,
  provider: OAuthProvider,
  grant: { readonly code: string; readonly redirectUri: string; readonly verifier: string },
): Promise<Tokens> {
  return askForTokens(access, provider, {
    grant_type: 'authorization_code',
    code: grant.code,
    redirect_uri: grant.redirectUri,
    code_verifier: grant.verifier,
  });
}

/** Refreshes. @throws ProviderFailure `refused` when the consent is gone (RFC 6749, section 5.2, `invalid_grant`). */
export async function refreshTokens(
  access: ProviderAccess,
  provider: OAuthProvider,
  refreshToken: string,
): Promise<Tokens> {
  return askForTokens(access, provider, { grant_type: 'refresh_token', refresh_token: refreshToken });
}

/** Revokes a token (RFC 7009). A token that the provider does not know is revoked as well. @throws ProviderFailure */
export async function revokeToken(
  access: ProviderAccess,
  provider: OAuthProvider,
  { token, hint }: { readonly token: string; readonly hint: 'refresh_token' | 'access_token' },
): Promise<void> {
  if (provider.revocationEndpoint === undefined)
    throw new ProviderFailure('unusable', 'The provider has no revocation endpoint.');
  const form = formOf(provider, { token, token_type_hint: hint });
  const { status } = await askProvider(access, provider.revocationEndpoint, form);
  if (status !== 200) throw new ProviderFailure('unusable', `The provider answered with status ${status}.`);
}

/** Judges an answer of a token endpoint (RFC 6749, sections 5.1 and 5.2). @throws ProviderFailure */
export function processTokenResponse({ status, json }: ProviderAnswer): Tokens {
  const fields = isRecord(json) ? json : {};
  // Some providers answer a refusal with 200.
  if (fields.error !== undefined || status !== 200) throw refusalOf(fields.error, status);
  const { access_token: accessToken, token_type: type, refresh_token: refreshToken, scope } = fields;
  if (!isToken(accessToken)) throw unusable('an access token');
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') throw unusable('a bearer token');
  if (refreshToken !== undefined && refreshToken !== null && !isToken(refreshToken))
    throw unusable('a usable refresh token');
  if (scope !== undefined && scope !== null && typeof scope !== 'string') throw unusable('a usable scope');
  return {
    accessToken,
    refreshToken: refreshToken ?? null,
    expiresInMs: lifetimeOf(fields.expires_in),
    scopes: typeof scope === 'string' ? scope.split(' ').filter((each) => each !== '') : null,
  };
}

async function askForTokens(
  access: ProviderAccess,
  provider: OAuthProvider,
  params: Readonly<Record<string, string>>,
): Promise<Tokens> {
  return processTokenResponse(await askProvider(access, provider.tokenEndpoint, formOf(provider, params)));
}

/** A form with the client's own proof of who it is (RFC 6749, section 2.3.1). */
function formOf(provider: OAuthProvider, params: Readonly<Record<string, string>>): RequestInit {
  const { clientId, clientSecret, clientAuth = 'client_secret_basic' } = provider;
  const inHeader = clientSecret !== undefined && clientAuth === 'client_secret_basic';
  const body = new URLSearchParams({
    ...params,
    ...(inHeader ? {} : { client_id: clientId }),
    ...(clientSecret === undefined || inHeader ? {} : { client_secret: clientSecret }),
  });
  return {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(inHeader ? { authorization: `Basic ${basic(clientId, clientSecret)}` } : {}),
    },
    body: body.toString(),
  };
}

/** Both halves are form-encoded, so that a colon in one of them is not read as the separator. */
function basic(clientId: string, clientSecret: string): string {
  return btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`);
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}

/** Only `invalid_grant` says that this grant has ended; other errors are about the client, or the provider. */
function refusalOf(error: unknown, status: number): ProviderFailure {
  if (error === 'invalid_grant') return new ProviderFailure('refused', 'The provider refused the grant.');
  const known = typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? ` (${error})` : '';
  return new ProviderFailure('unusable', `The provider answered with status ${status}${known}.`);
}

function unusable(lacking: string): ProviderFailure {
  return new ProviderFailure('unusable', `The provider answered without ${lacking}.`);
}

/** RFC 6749, appendix A.12, without the space that no header could carry at its end. */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,16384}$/.test(value);
}

/** Some providers send the seconds as text. */
function lifetimeOf(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  const seconds = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds < 0 || seconds > 1e10)
    throw unusable('a usable lifetime');
  return Math.floor(seconds * 1000);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
