/** oidcc-client-config-certification-test-plan, module by module. */
import { expect, test } from 'vitest';
import { makeClient, refused, signedIn, signInWith } from './client.ts';

const DISCOVERY = '/.well-known/openid-configuration';

test('oidcc-client-test-discovery-openid-config: the issuer has its endpoints where only discovery tells', async () => {
  const client = await makeClient({ issuerUrl: 'https://issuer.example/realms/one' });
  client.issuer.behaviour.metadata = { authorization_endpoint: 'https://login.example/start?realm=one' };
  const login = await client.visit('/api/auth/login');
  expect(client.issuer.requests.map(({ url }) => url)).toEqual([
    `https://issuer.example/realms/one${DISCOVERY}`,
  ]);
  expect(login.headers.get('location')).toMatch(/^https:\/\/login\.example\/start\?realm=one&/);
  expect(await signInWith(client)).toEqual(signedIn());
});

test('oidcc-client-test-discovery-jwks-uri-keys: the issuer publishes its keys where only jwks_uri tells', async () => {
  const client = await makeClient();
  const keySet = await client.issuer.publicKeys();
  const outcome = await signInWith(client, {
    behaviour: {
      metadata: { jwks_uri: 'https://keys.example/set' },
      intercept: ({ url }) => (url === 'https://keys.example/set' ? Response.json(keySet) : undefined),
    },
  });
  expect(outcome).toEqual(signedIn());
  expect(client.issuer.count('/set')).toBe(1);
  expect(client.issuer.count('/jwks')).toBe(0);
});

test.each([
  ['another', 'https://other.example'],
  ['itself with a trailing slash', 'https://issuer.example/'],
])('oidcc-client-test-discovery-issuer-mismatch: the issuer describes %s', async (_, issuer) => {
  const client = await makeClient();
  client.issuer.behaviour.metadata = { issuer };
  const login = await client.visit('/api/auth/login');
  expect(client.outcomeOf(login)).toEqual(
    refused(
      'issuer_misconfigured',
      'The issuer names itself otherwise than OIDC_ISSUER does; both must be equal character for character, a trailing slash included.',
    ),
  );
  expect(login.headers.getSetCookie()).toEqual([]);
  expect(client.issuer.requests.map(({ path }) => path)).toEqual([DISCOVERY]);
});

test('oidcc-client-test-idtoken-sig-none: the issuer announces no signature but `none`', async () => {
  const client = await makeClient();
  client.issuer.behaviour.metadata = { id_token_signing_alg_values_supported: ['none'] };
  expect(client.outcomeOf(await client.visit('/api/auth/login'))).toEqual(
    refused('issuer_misconfigured', 'The issuer offers no asymmetric signature algorithm.'),
  );
});

test('oidcc-client-test-signing-key-rotation: the issuer rotates its keys between two sign-ins', async () => {
  const client = await makeClient();
  expect(await signInWith(client)).toEqual(signedIn());
  await client.visit('/api/auth/logout');
  await client.issuer.rotateKeys();
  expect(await signInWith(client)).toEqual(signedIn());
  expect(client.issuer.count('/jwks')).toBe(2);
});

test('oidcc-client-test-signing-key-rotation-just-before-signing: the issuer rotates while it redeems the code', async () => {
  const client = await makeClient();
  // The keys are cached before the rotation, as in a relying party that has been running.
  await signInWith(client);
  await client.visit('/api/auth/logout');
  const outcome = await signInWith(client, {
    behaviour: {
      async intercept({ path }) {
        if (path === '/token') await client.issuer.rotateKeys();
        return undefined;
      },
    },
  });
  expect(outcome).toEqual(signedIn());
  expect(client.issuer.count('/jwks')).toBe(2);
});
