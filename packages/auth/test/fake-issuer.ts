/** An OpenID Connect issuer in a function: discovery, keys, authorization, token and end-session, on a given clock. */
import { createHash } from 'node:crypto';
import {
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { DAY_MS, ISSUER, type TestClock } from './support.ts';

export interface FakeIssuer {
  readonly url: string;
  /** Stands where the application's `fetch` is. */
  readonly fetch: typeof fetch;
  /** Every request that reached it. */
  readonly requests: {
    readonly url: string;
    readonly method: string;
    readonly body: URLSearchParams;
    readonly authorization: string | null;
  }[];
  /** True: nothing answers. */
  down: boolean;
  /** The ID token's claims beside the protocol's own. */
  claims: JWTPayload;
  /** Signs in as `claims.sub` at the authorization URL, and returns the address of the redirect. */
  authorize(location: string): string;
  /** A token signed with the issuer's key. */
  sign(
    claims: JWTPayload,
    header?: { readonly typ?: string | undefined; readonly kid?: string },
  ): Promise<string>;
  /** Replaces the signing key: the old one is gone from the key set. */
  rotate(): Promise<void>;
}

/** Makes an issuer at `https://issuer.example`, or elsewhere. */
export async function makeFakeIssuer(clock: TestClock, url: string = ISSUER): Promise<FakeIssuer> {
  const codes = new Map<string, { nonce: string; challenge: string; clientId: string }>();
  let generation = 0;
  let key = await makeKey(generation);

  const seconds = () => Math.floor(clock.nowMs / 1_000);
  const sign: FakeIssuer['sign'] = (claims, header = {}) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: key.kid, typ: 'at+jwt', ...header } as JWTHeaderParameters)
      .sign(key.privateKey);

  const idToken = (code: { nonce: string; clientId: string }): Promise<string> =>
    sign(
      {
        ...issuer.claims,
        iss: url,
        aud: code.clientId,
        nonce: code.nonce,
        iat: seconds(),
        exp: seconds() + 3_600,
      },
      { typ: 'JWT' },
    );

  const answer = async (target: URL, body: URLSearchParams): Promise<Response> => {
    if (target.pathname === '/.well-known/openid-configuration') return Response.json(metadata(url));
    if (target.pathname === '/jwks') return Response.json({ keys: [key.publicJwk] });
    if (target.pathname !== '/token') return new Response('no such page', { status: 404 });
    const code = codes.get(body.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(body.get('code_verifier') ?? '')
      .digest('base64url');
    if (!code || code.challenge !== challenge)
      return Response.json({ error: 'invalid_grant' }, { status: 400 });
    codes.delete(body.get('code') ?? '');
    return Response.json({
      access_token: 'at',
      token_type: 'Bearer',
      expires_in: 300,
      id_token: await idToken(code),
    });
  };

  const issuer: FakeIssuer = {
    url,
    requests: [],
    down: false,
    claims: { sub: 'ada', email: 'ada@example.com', name: 'ada' },
    sign,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const body = new URLSearchParams(request.method === 'POST' ? await request.text() : '');
      const authorization = request.headers.get('authorization');
      issuer.requests.push({ url: request.url, method: request.method, body, authorization });
      if (issuer.down) throw new TypeError('fetch failed');
      return answer(new URL(request.url), body);
    },
    authorize: (location) => {
      const query = new URL(location).searchParams;
      const code = `code-${codes.size}-${query.get('state')?.slice(0, 8)}`;
      codes.set(code, {
        nonce: query.get('nonce') ?? '',
        challenge: query.get('code_challenge') ?? '',
        clientId: query.get('client_id') ?? '',
      });
      const back = new URL(query.get('redirect_uri') ?? '');
      back.searchParams.set('code', code);
      back.searchParams.set('state', query.get('state') ?? '');
      back.searchParams.set('iss', url);
      return back.href;
    },
    rotate: async () => {
      generation += 1;
      key = await makeKey(generation);
    },
  };
  return issuer;
}

/** Claims of an access token for a resource, valid for a day. */
export function accessClaims(clock: TestClock, more: JWTPayload = {}): JWTPayload {
  const iat = Math.floor(clock.nowMs / 1_000);
  return {
    iss: ISSUER,
    aud: 'resource',
    sub: 'ada',
    client_id: 'app',
    iat,
    exp: iat + DAY_MS / 1_000,
    ...more,
  };
}

function metadata(url: string) {
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/jwks`,
    end_session_endpoint: `${url}/end`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
    authorization_response_iss_parameter_supported: true,
  };
}

async function makeKey(generation: number): Promise<{ kid: string; privateKey: CryptoKey; publicJwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const kid = `key-${generation}`;
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } };
}
