/** Requests to providers, and the judgement of their answers: every answer is a plain value here. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { authorizationUrl, processTokenResponse, redeemCode, refreshTokens, revokeToken } from './oauth.ts';
import {
  type ProviderAccess,
  ProviderFailure,
  type ProviderFault,
  probeKey,
  probeToken,
  processProbe,
} from './provider-exchange.ts';
import type { ApiKeyProvider, OAuthProvider } from './providers.ts';

const provider: OAuthProvider = {
  kind: 'oauth2',
  name: 'Calendar',
  authorizationEndpoint: 'https://calendar.example/authorize?tenant=all',
  tokenEndpoint: 'https://calendar.example/token',
  revocationEndpoint: 'https://calendar.example/revoke',
  scopes: ['read', 'write'],
  clientId: 'free:hold',
  clientSecret: 'se cret%',
  authorizationParams: { access_type: 'offline' },
};

const good = {
  access_token: 'at',
  token_type: 'Bearer',
  refresh_token: 'rt',
  expires_in: 3600,
  scope: 'read',
};

function provided(answer: (request: Request) => Response | Promise<Response> = () => Response.json(good)) {
  const requests: { url: string; headers: Headers; form: Record<string, string>; redirect: unknown }[] = [];
  const access: ProviderAccess = {
    deadline: () => new AbortController().signal,
    fetch: async (url, init) => {
      const form = Object.fromEntries(new URLSearchParams(String(init.body ?? '')));
      requests.push({ url, headers: new Headers(init.headers), form, redirect: init.redirect });
      return answer(new Request(url, { ...init, signal: null }));
    },
  };
  return { access, requests };
}

async function faultOf(call: Promise<unknown> | (() => unknown)): Promise<ProviderFault> {
  try {
    await (typeof call === 'function' ? call() : call);
  } catch (error) {
    if (error instanceof ProviderFailure) return error.fault;
    throw error;
  }
  throw new Error('it did not fail');
}

describe('the requests', () => {
  test('the authorization request: code, PKCE with S256, state, and the operator’s parameters', () => {
    const verifier = 'v'.repeat(43);
    const url = new URL(
      authorizationUrl(provider, { redirectUri: 'https://a.example/cb', state: 's', verifier }),
    );
    expect(url.origin + url.pathname).toBe('https://calendar.example/authorize');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      tenant: 'all',
      access_type: 'offline',
      response_type: 'code',
      client_id: 'free:hold',
      redirect_uri: 'https://a.example/cb',
      scope: 'read write',
      state: 's',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    expect(url.href).not.toContain(verifier);
  });

  test('a code is redeemed with its verifier, the client in the header, form-encoded, and no redirect followed', async () => {
    const { access, requests } = provided();
    expect(
      await redeemCode(access, provider, { code: 'c', redirectUri: 'https://a.example/cb', verifier: 'v' }),
    ).toEqual({
      accessToken: 'at',
      refreshToken: 'rt',
      expiresInMs: 3_600_000,
      scopes: ['read'],
    });
    expect(requests[0]).toMatchObject({
      url: 'https://calendar.example/token',
      form: {
        grant_type: 'authorization_code',
        code: 'c',
        redirect_uri: 'https://a.example/cb',
        code_verifier: 'v',
      },
      redirect: 'manual',
    });
    expect(requests[0]?.form).not.toHaveProperty('client_secret');
    expect(requests[0]?.headers.get('authorization')).toBe(`Basic ${btoa('free%3Ahold:se+cret%25')}`);
  });

  test('a client that sends its secret in the form, and one without any', async () => {
    const { access, requests } = provided();
    await refreshTokens(access, { ...provider, clientAuth: 'client_secret_post' }, 'rt');
    await refreshTokens(access, { ...provider, clientSecret: undefined }, 'rt');
    const form = { grant_type: 'refresh_token', refresh_token: 'rt', client_id: 'free:hold' };
    expect(requests.map((each) => each.form)).toEqual([{ ...form, client_secret: 'se cret%' }, form]);
    expect(requests.every(({ headers }) => !headers.has('authorization'))).toBe(true);
  });

  test('a revocation names the kind of token, and takes nothing but 200 for done', async () => {
    const { access, requests } = provided(() => new Response(null, { status: 200 }));
    await revokeToken(access, provider, { token: 'rt', hint: 'refresh_token' });
    expect(requests[0]?.form).toEqual({ token: 'rt', token_type_hint: 'refresh_token' });
    const failing = provided(() => new Response(null, { status: 400 })).access;
    expect(await faultOf(revokeToken(failing, provider, { token: 'rt', hint: 'access_token' }))).toBe(
      'unusable',
    );
  });
});

describe('the judgement of a token response', () => {
  test.each<[string, object, object]>([
    ['no refresh token', { ...good, refresh_token: undefined }, { refreshToken: null }],
    ['no lifetime', { ...good, expires_in: undefined }, { expiresInMs: null }],
    ['a lifetime in text', { ...good, expires_in: '60' }, { expiresInMs: 60_000 }],
    ['no scope', { ...good, scope: undefined }, { scopes: null }],
    ['a token type in another spelling', { ...good, token_type: 'bEARER' }, { accessToken: 'at' }],
  ])('%s is fine', (_, json, expected) => {
    expect(processTokenResponse({ status: 200, json })).toMatchObject(expected);
  });

  test.each<[string, number, unknown, ProviderFault]>([
    ['a refused grant', 400, { error: 'invalid_grant' }, 'refused'],
    ['a refused grant with 200', 200, { error: 'invalid_grant' }, 'refused'],
    [
      'a client that the provider does not know: our operator’s fault',
      401,
      { error: 'invalid_client' },
      'unusable',
    ],
    ['an error that is no text', 400, { error: { code: 1 } }, 'unusable'],
    ['a refusal without a word', 400, undefined, 'unusable'],
    ['a redirect', 302, undefined, 'unusable'],
    ['success and no JSON', 200, undefined, 'unusable'],
    ['a list', 200, [], 'unusable'],
    ['null', 200, null, 'unusable'],
    ['no access token', 200, { ...good, access_token: undefined }, 'unusable'],
    ['an empty access token', 200, { ...good, access_token: '' }, 'unusable'],
    ['an access token that would break a header', 200, { ...good, access_token: 'a\r\nb' }, 'unusable'],
    ['an enormous access token', 200, { ...good, access_token: 'a'.repeat(20_000) }, 'unusable'],
    ['a token of another type', 200, { ...good, token_type: 'mac' }, 'unusable'],
    ['no token type', 200, { ...good, token_type: undefined }, 'unusable'],
    ['a refresh token that is none', 200, { ...good, refresh_token: 7 }, 'unusable'],
    ['a negative lifetime', 200, { ...good, expires_in: -1 }, 'unusable'],
    ['an endless lifetime', 200, { ...good, expires_in: 1e300 }, 'unusable'],
    ['a scope that is none', 200, { ...good, scope: ['read'] }, 'unusable'],
  ])('%s', async (_, status, json, fault) => {
    expect(await faultOf(() => processTokenResponse({ status, json }))).toBe(fault);
  });

  test('a failure repeats nothing of the answer', () => {
    const json = { error: 'sk_live_secret value', access_token: 'sk_live_secret' };
    expect(() => processTokenResponse({ status: 400, json })).toThrow(/^(?!.*sk_live)/);
  });
});

describe('a provider that fails', () => {
  test.each<[string, () => Response | Promise<Response>, ProviderFault]>([
    ['is not there', () => Promise.reject(new TypeError('fetch failed')), 'unreachable'],
    ['has trouble', () => new Response('oops', { status: 500 }), 'unreachable'],
    ['asks for patience', () => new Response('', { status: 429 }), 'unreachable'],
    ['answers HTML', () => new Response('<html>'), 'unusable'],
    ['answers too much', () => new Response('x'.repeat(300 * 1024)), 'unusable'],
  ])('%s', async (_, answer, fault) => {
    expect(await faultOf(refreshTokens(provided(answer).access, provider, 'rt'))).toBe(fault);
  });

  test('a provider that never answers is given up on, also with a fetch that ignores the signal', async () => {
    const controller = new AbortController();
    const access: ProviderAccess = {
      deadline: () => controller.signal,
      fetch: () => new Promise(() => undefined),
    };
    const asked = faultOf(refreshTokens(access, provider, 'rt'));
    controller.abort(new Error('time is up'));
    expect(await asked).toBe('unreachable');
  });

  test('its answer is in no message and no cause: a parser would quote it', async () => {
    const { access } = provided(() => new Response('{"access_token":"sk_live_secret'));
    const error = await refreshTokens(access, provider, 'rt').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProviderFailure);
    expect(String((error as Error).stack) + String((error as Error).cause)).not.toContain('sk_live');
  });
});

describe('asking for the account of a credential (C-18)', () => {
  const ledger: ApiKeyProvider = {
    kind: 'api-key',
    name: 'Ledger',
    probe: { endpoint: 'https://ledger.example/me', account: 'account.id', accountName: 'account.title' },
  };
  const me = () => Response.json({ account: { id: 42, title: 'The books' } });

  test('a key travels as a bearer token, or in the header that the provider wants', async () => {
    const { access, requests } = provided(me);
    expect(await probeKey(access, ledger, 'key')).toEqual({ account: '42', accountName: 'The books' });
    await probeKey(access, { ...ledger, probe: { ...ledger.probe, header: 'x-api-key' } }, 'key');
    await probeKey(access, { ...ledger, probe: { ...ledger.probe, prefix: 'Token ' } }, 'key');
    expect(requests.map(({ headers }) => [headers.get('authorization'), headers.get('x-api-key')])).toEqual([
      ['Bearer key', null],
      [null, 'key'],
      ['Token key', null],
    ]);
  });

  test('a token is asked about by `sub`, unless the operator says otherwise', async () => {
    const { access } = provided(() => Response.json({ sub: 'ada' }));
    const probe = { endpoint: 'https://calendar.example/me' };
    expect(await probeToken(access, probe, 'at')).toEqual({ account: 'ada', accountName: null });
  });

  test('a provider that does not name the account still tells whether the key works', async () => {
    const silent = { ...ledger, probe: { ...ledger.probe, tellsAccount: false } };
    const { access } = provided(() => new Response('pong'));
    expect(await probeKey(access, silent, 'key')).toEqual({ account: null, accountName: null });
    const refusing = provided(() => new Response('', { status: 401 })).access;
    expect(await faultOf(probeKey(refusing, silent, 'key'))).toBe('refused');
  });

  test.each<[string, number, unknown, ProviderFault]>([
    ['401', 401, undefined, 'refused'],
    ['403', 403, undefined, 'refused'],
    ['400', 400, undefined, 'refused'],
    ['404', 404, undefined, 'unusable'],
    ['a redirect', 302, undefined, 'unusable'],
    ['no account', 200, { account: {} }, 'unusable'],
    ['an account that is inherited', 200, Object.create({ account: { id: 'x' } }), 'unusable'],
    ['an account of control characters', 200, { account: { id: 'a\nb' } }, 'unusable'],
    ['an enormous account', 200, { account: { id: 'a'.repeat(257) } }, 'unusable'],
    ['an account that is an object', 200, { account: { id: {} } }, 'unusable'],
  ])('%s', async (_, status, json, fault) => {
    expect(await faultOf(() => processProbe(ledger.probe, { status, json }))).toBe(fault);
  });
});
