/** oidcc-client-basic-certification-test-plan, module by module. */
import { exportJWK, generateKeyPair } from 'jose';
import { expect, test } from 'vitest';
import {
  type FakeUser,
  type RecordedRequest,
  withoutSignature,
  withSpoiltSignature,
} from '../../../testkit/src/oidc/fake-issuer.ts';
import { claiming, makeClient, type RefusedModule, refused, signedIn, signInWith, titled } from './client.ts';

/** A user whose ID token has only the subject, so that the userinfo endpoint must be asked. */
const BARE: FakeUser = { sub: 'alice-1' };
const tokenRequest = (requests: readonly RecordedRequest[]): RecordedRequest | undefined =>
  requests.find(({ path }) => path === '/token');

test('oidcc-client-test: the issuer does nothing wrong', async () => {
  const client = await makeClient();
  expect(await signInWith(client)).toEqual(signedIn());
  expect(client.browser.values('sb_oidc_flow')).toEqual([]);
});

test.each(
  titled<RefusedModule>([
    {
      module: 'oidcc-client-test-invalid-iss',
      fault: 'signs an ID token that names another issuer',
      because: 'ERR_JWT_CLAIM_VALIDATION_FAILED iss',
      behaviour: claiming({ iss: 'https://other.example' }),
    },
    {
      module: 'oidcc-client-test-missing-sub',
      fault: 'leaves the subject out of the ID token',
      because: 'ERR_JWT_CLAIM_VALIDATION_FAILED sub',
      behaviour: claiming({ sub: undefined }),
    },
    {
      module: 'oidcc-client-test-invalid-aud',
      fault: 'issues the ID token to another client',
      because: 'ERR_JWT_CLAIM_VALIDATION_FAILED aud',
      behaviour: claiming({ aud: 'client-2' }),
    },
    {
      module: 'oidcc-client-test-missing-iat',
      fault: 'leaves the time of issue out of the ID token',
      because: 'ERR_JWT_CLAIM_VALIDATION_FAILED iat',
      behaviour: claiming({ iat: undefined }),
    },
    {
      module: 'oidcc-client-test-idtoken-sig-none',
      fault: 'announces `none` and sends an unsigned ID token',
      because: 'ERR_JOSE_ALG_NOT_ALLOWED',
      behaviour: {
        metadata: { id_token_signing_alg_values_supported: ['RS256', 'none'] },
        idToken: withoutSignature,
      },
    },
    {
      module: 'oidcc-client-test-invalid-sig-rs256',
      fault: 'sends a wrong RS256 signature',
      because: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
      behaviour: { algorithm: 'RS256', idToken: withSpoiltSignature },
    },
    {
      module: 'oidcc-client-test-nonce-invalid',
      fault: 'puts another nonce in the ID token',
      because: 'The ID token has another nonce than the one sent.',
      behaviour: claiming({ nonce: 'another' }),
    },
  ]),
)('%s: the issuer %s', async (_module, _fault, { because, ...peculiarity }) => {
  const outcome = await signInWith(await makeClient(), peculiarity);
  expect(outcome).toEqual(refused('id_token_invalid', because));
});

test('oidcc-client-test-kid-absent-single-jwks: the issuer names no key, and publishes one', async () => {
  const client = await makeClient();
  const [key] = (await client.issuer.publicKeys()).keys;
  const behaviour = { namesKey: false, intercept: publishing([withoutKid(key)]) };
  expect(await signInWith(client, { behaviour })).toEqual(signedIn());
});

test('oidcc-client-test-kid-absent-multiple-jwks: the issuer names no key, and publishes two that fit', async () => {
  const client = await makeClient();
  const [key] = (await client.issuer.publicKeys()).keys;
  const second = {
    ...(await exportJWK((await generateKeyPair('ES256')).publicKey)),
    alg: 'ES256',
    use: 'sig',
  };
  const behaviour = { namesKey: false, intercept: publishing([withoutKid(key), second]) };
  // The plan also passes a client that tries all keys; ours refuses a key that must be guessed.
  expect(await signInWith(client, { behaviour })).toEqual(
    refused('id_token_invalid', 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'),
  );
});

test('oidcc-client-test-idtoken-sig-rs256: the issuer signs with RS256, as announced', async () => {
  const behaviour = {
    algorithm: 'RS256',
    metadata: { id_token_signing_alg_values_supported: ['RS256'] },
  } as const;
  expect(await signInWith(await makeClient(), { behaviour })).toEqual(signedIn());
});

test('oidcc-client-test-userinfo-invalid-sub: the issuer answers userinfo for another subject', async () => {
  const behaviour = { userinfo: { sub: 'bob-1', email: 'bob@example.org', name: 'Bob' } };
  expect(await signInWith(await makeClient(), { user: BARE, behaviour })).toEqual(
    refused('userinfo_invalid', 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'),
  );
});

test('oidcc-client-test-scope-userinfo-claims: the issuer tells the claims of the scope by userinfo only', async () => {
  const client = await makeClient();
  const login = await client.visit('/api/auth/login');
  const asked = new URL(login.headers.get('location') ?? '').searchParams;
  expect(asked.get('scope')).toBe('openid email profile');
  const behaviour = { userinfo: { email: 'alice@example.org', email_verified: false, name: 'Alice' } };
  expect(await signInWith(client, { user: BARE, behaviour })).toEqual(
    signedIn({ id: 'alice-1', email: 'alice@example.org', emailVerified: false, name: 'Alice' }),
  );
});

test('oidcc-client-test-client-secret-basic: the issuer takes the secret in the Authorization header only', async () => {
  const client = await makeClient({ clientSecret: 'plain-secret' });
  const behaviour = { metadata: { token_endpoint_auth_methods_supported: ['client_secret_basic'] } };
  expect(await signInWith(client, { behaviour })).toEqual(signedIn());
  const request = tokenRequest(client.issuer.requests);
  const [scheme, credentials = ''] = request?.headers.get('authorization')?.split(' ') ?? [];
  expect(scheme).toBe('Basic');
  expect(atob(credentials).split(':').map(decodeURIComponent)).toEqual(['client-1', 'plain-secret']);
  expect(request?.body.has('client_secret')).toBe(false);
});

function publishing(
  keys: readonly Record<string, unknown>[],
): (request: RecordedRequest) => Response | undefined {
  return ({ path }) => (path === '/jwks' ? Response.json({ keys }) : undefined);
}

function withoutKid({ kid: _, ...key }: Record<string, unknown> = {}): Record<string, unknown> {
  return key;
}
