/**
 * An OpenID Connect issuer in memory, for tests: a `fetch` with real keys that checks what a real issuer checks
 * (client authentication, PKCE, redirect URI, single use of codes) and can be told to misbehave.
 */
import { createHash } from 'node:crypto';
import { base64url, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { PeerFetch } from '../../../oidc-rp/src/lib/peer-fetch.ts';

export interface FakeIssuerOptions {
  /** Default `https://issuer.example`. */
  readonly url?: string;
  readonly now: () => number;
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret?: string;
}

/** Deviations of the issuer from the standard or the default. Change them between requests. */
export interface FakeBehaviour {
  /** Answers instead of the issuer; undefined lets it answer itself. */
  intercept?: (
    request: RecordedRequest,
    init: RequestInit,
  ) => Promise<Response | undefined> | Response | undefined;
  /** Replaces members of the discovery document; undefined removes one. */
  metadata?: Readonly<Record<string, unknown>>;
  /** Changes the ID token's claims before they are signed. */
  claims?: (claims: JWTPayload) => JWTPayload;
  /** Changes the finished ID token. */
  idToken?: (token: string) => string | Promise<string>;
  /** Changes a logout token's claims before they are signed. */
  logoutClaims?: (claims: JWTPayload) => JWTPayload;
  /** The `typ` header of logout tokens; null for none. Default `logout+jwt`. */
  logoutType?: string | null;
  /** Changes the finished logout token. */
  logoutToken?: (token: string) => string | Promise<string>;
  /** Changes the token response. */
  tokens?: (body: Record<string, unknown>) => Record<string, unknown>;
  /** Default `published`. */
  signWith?: 'published' | 'unpublished';
  /** Which of the issuer's two keys signs. Default `ES256`. */
  algorithm?: 'ES256' | 'RS256';
  /** Whether the ID token names its key. Default true. */
  namesKey?: boolean;
  /** The userinfo answer. `sub` is the signed-in user's unless given here. */
  userinfo?: Readonly<Record<string, unknown>>;
}

export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: URLSearchParams;
}

export interface FakeUser {
  readonly sub: string;
  /** Extra claims of the ID token. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

export interface FakeIssuer {
  readonly url: string;
  readonly fetch: PeerFetch;
  readonly behaviour: FakeBehaviour;
  /** Every request, in order. */
  readonly requests: readonly RecordedRequest[];
  /** The number of requests to a path. */
  count(path: string): number;
  /** Plays the user's part at the authorization endpoint. Returns the callback URL. */
  approve(authorizationUrl: string, user: FakeUser): string;
  /** The callback URL of a sign-in that the issuer refuses. */
  refuse(authorizationUrl: string, error: string): string;
  /** A logout token for a subject, one session of the issuer, or both; valid for two minutes. */
  logoutToken(ended: { sub?: string; sid?: string }): Promise<string>;
  /** New signing keys; the old ones are no longer published. */
  rotateKeys(): Promise<void>;
  /** The published key set. */
  publicKeys(): Promise<{ keys: Record<string, unknown>[] }>;
}

interface Grant {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly nonce: string;
  readonly user: FakeUser;
}

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;
interface KeyRing {
  readonly id: string;
  readonly es256: KeyPair;
  readonly rs256: KeyPair;
}

const PATHS = {
  discovery: '/.well-known/openid-configuration',
  authorize: '/authorize',
  token: '/token',
  jwks: '/jwks',
  userinfo: '/userinfo',
  push: '/par',
} as const;

// Making RSA keys is slow, and tests share one pair.
const sharedKeys = makeKeys('shared');

export async function makeFakeIssuer(options: FakeIssuerOptions): Promise<FakeIssuer> {
  const url = options.url ?? 'https://issuer.example';
  const base = url.replace(/\/$/, '');
  const behaviour: FakeBehaviour = {};
  const requests: RecordedRequest[] = [];
  const grants = new Map<string, Grant>();
  const accessTokens = new Map<string, FakeUser>();
  const pushed = new Map<string, URLSearchParams>();
  let keys = await sharedKeys;
  const unpublished = await generateKeyPair('ES256');

  function metadata(): Record<string, unknown> {
    return {
      issuer: url,
      authorization_endpoint: `${base}${PATHS.authorize}`,
      token_endpoint: `${base}${PATHS.token}`,
      jwks_uri: `${base}${PATHS.jwks}`,
      userinfo_endpoint: `${base}${PATHS.userinfo}`,
      end_session_endpoint: `${base}/logout`,
      pushed_authorization_request_endpoint: `${base}${PATHS.push}`,
      authorization_response_iss_parameter_supported: true,
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      ...behaviour.metadata,
    };
  }

  async function publicKeys(): Promise<{ keys: Record<string, unknown>[] }> {
    return {
      keys: [
        { ...(await exportJWK(keys.es256.publicKey)), kid: `es-${keys.id}`, alg: 'ES256', use: 'sig' },
        { ...(await exportJWK(keys.rs256.publicKey)), kid: `rs-${keys.id}`, alg: 'RS256', use: 'sig' },
      ],
    };
  }

  async function answer(request: RecordedRequest): Promise<Response> {
    switch (request.path) {
      case PATHS.discovery:
        return json(200, metadata());
      case PATHS.jwks:
        return json(200, await publicKeys());
      case PATHS.token:
        return redeem(request);
      case PATHS.userinfo:
        return userinfo(request);
      case PATHS.push:
        return push(request);
      default:
        return json(404, { error: 'not_found' });
    }
  }

  async function redeem(request: RecordedRequest): Promise<Response> {
    if (!isClient(request)) return json(401, { error: 'invalid_client' });
    const code = request.body.get('code') ?? '';
    const grant = grants.get(code);
    grants.delete(code);
    const verifier = request.body.get('code_verifier') ?? '';
    if (
      grant === undefined ||
      request.body.get('redirect_uri') !== grant.redirectUri ||
      createHash('sha256').update(verifier).digest('base64url') !== grant.challenge
    ) {
      return json(400, { error: 'invalid_grant', error_description: 'secret detail of the issuer' });
    }
    const accessToken = `at-${crypto.randomUUID()}`;
    accessTokens.set(accessToken, grant.user);
    const body = {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: 3600,
      id_token: await idToken(grant),
    };
    return json(200, behaviour.tokens?.(body) ?? body);
  }

  async function idToken(grant: Grant): Promise<string> {
    const nowS = Math.floor(options.now() / 1000);
    const claims: JWTPayload = {
      iss: url,
      aud: options.clientId,
      sub: grant.user.sub,
      nonce: grant.nonce,
      iat: nowS,
      exp: nowS + 300,
      ...grant.user.claims,
    };
    const signed = await sign(behaviour.claims?.(claims) ?? claims, {});
    return behaviour.idToken?.(signed) ?? signed;
  }

  async function logoutToken(ended: { sub?: string; sid?: string }): Promise<string> {
    const nowS = Math.floor(options.now() / 1000);
    const claims: JWTPayload = {
      iss: url,
      aud: options.clientId,
      jti: crypto.randomUUID(),
      iat: nowS,
      exp: nowS + 120,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      ...ended,
    };
    const typ = behaviour.logoutType === undefined ? 'logout+jwt' : behaviour.logoutType;
    const signed = await sign(behaviour.logoutClaims?.(claims) ?? claims, typ === null ? {} : { typ });
    return behaviour.logoutToken?.(signed) ?? signed;
  }

  async function sign(claims: JWTPayload, header: { typ?: string }): Promise<string> {
    const algorithm = behaviour.algorithm ?? 'ES256';
    const pair = algorithm === 'ES256' ? keys.es256 : keys.rs256;
    const kid = `${algorithm === 'ES256' ? 'es' : 'rs'}-${keys.id}`;
    return new SignJWT(claims)
      .setProtectedHeader({ ...header, alg: algorithm, ...(behaviour.namesKey === false ? {} : { kid }) })
      .sign(behaviour.signWith === 'unpublished' ? unpublished.privateKey : pair.privateKey);
  }

  function userinfo(request: RecordedRequest): Response {
    const user = accessTokens.get(request.headers.get('authorization')?.replace(/^Bearer /, '') ?? '');
    if (user === undefined) return json(401, { error: 'invalid_token' });
    return json(200, { sub: user.sub, ...behaviour.userinfo });
  }

  function push(request: RecordedRequest): Response {
    if (!isClient(request)) return json(401, { error: 'invalid_client' });
    const reference = `urn:ietf:params:oauth:request_uri:${crypto.randomUUID()}`;
    pushed.set(reference, request.body);
    return json(201, { request_uri: reference, expires_in: 60 });
  }

  function isClient(request: RecordedRequest): boolean {
    const { clientId, clientSecret } = options;
    if (clientSecret === undefined) return request.body.get('client_id') === clientId;
    const basic = `Basic ${btoa(`${formEncode(clientId)}:${formEncode(clientSecret)}`)}`;
    return (
      request.headers.get('authorization') === basic ||
      (request.body.get('client_id') === clientId && request.body.get('client_secret') === clientSecret)
    );
  }

  function authorizationRequest(authorizationUrl: string): URLSearchParams {
    const { searchParams } = new URL(authorizationUrl);
    const reference = searchParams.get('request_uri');
    return reference === null ? searchParams : (pushed.get(reference) ?? new URLSearchParams());
  }

  function callback(asked: URLSearchParams, parameters: Record<string, string>): string {
    const target = new URL(asked.get('redirect_uri') ?? '');
    for (const [name, value] of Object.entries({
      ...parameters,
      state: asked.get('state') ?? '',
      iss: url,
    })) {
      target.searchParams.set(name, value);
    }
    return target.href;
  }

  return {
    url,
    behaviour,
    requests,
    publicKeys,
    logoutToken,
    count: (path) => requests.filter((request) => request.path === path).length,
    async fetch(address, init) {
      const target = new URL(address);
      const prefix = new URL(base).pathname.replace(/\/$/, '');
      const request: RecordedRequest = {
        method: init.method ?? 'GET',
        url: address,
        path: target.pathname.slice(prefix.length),
        headers: new Headers(init.headers),
        body: init.body instanceof URLSearchParams ? init.body : new URLSearchParams(),
      };
      requests.push(request);
      return (await behaviour.intercept?.(request, init)) ?? answer(request);
    },
    approve(authorizationUrl, user) {
      const asked = authorizationRequest(authorizationUrl);
      if (asked.get('code_challenge_method') !== 'S256')
        throw new Error('The request has no S256 challenge.');
      const code = crypto.randomUUID();
      grants.set(code, {
        redirectUri: asked.get('redirect_uri') ?? '',
        challenge: asked.get('code_challenge') ?? '',
        nonce: asked.get('nonce') ?? '',
        user,
      });
      return callback(asked, { code });
    },
    refuse: (authorizationUrl, error) =>
      callback(authorizationRequest(authorizationUrl), {
        error,
        error_description: 'secret detail of the issuer',
      }),
    async rotateKeys() {
      keys = { id: crypto.randomUUID(), es256: await generateKeyPair('ES256'), rs256: keys.rs256 };
    },
  };
}

/** A token of the same claims that says `alg: none` and has no signature. */
export function withoutSignature(token: string): string {
  const header = base64url.encode(JSON.stringify({ alg: 'none' }));
  return `${header}.${token.split('.')[1] ?? ''}.`;
}

/** The same token under a signature whose first bits are wrong. */
export function withSpoiltSignature(token: string): string {
  const start = token.lastIndexOf('.') + 1;
  return `${token.slice(0, start)}${token[start] === 'A' ? 'B' : 'A'}${token.slice(start + 1)}`;
}

/** A token of the same claims, signed with HS256 and a secret of the attacker's choosing. */
export async function withHmac(token: string, secret: Uint8Array): Promise<string> {
  const claims: JWTPayload = JSON.parse(
    new TextDecoder().decode(base64url.decode(token.split('.')[1] ?? '')),
  );
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret);
}

async function makeKeys(id: string): Promise<KeyRing> {
  return { id, es256: await generateKeyPair('ES256'), rs256: await generateKeyPair('RS256') };
}

function json(status: number, body: unknown): Response {
  return Response.json(body, { status });
}

/** RFC 6749 section 2.3.1: both halves are form-encoded before they are joined. */
function formEncode(text: string): string {
  return new URLSearchParams({ v: text })
    .toString()
    .slice(2)
    .replaceAll('.', '%2E')
    .replaceAll('-', '%2D')
    .replaceAll('_', '%5F')
    .replaceAll('*', '%2A');
}
