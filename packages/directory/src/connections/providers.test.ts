import { expect, test } from 'vitest';
import { type ConnectionProvider, isLoopbackHost, makeProviderRegistry } from './providers.ts';

const oauth = {
  kind: 'oauth2',
  name: 'Calendar',
  authorizationEndpoint: 'https://calendar.example/authorize',
  tokenEndpoint: 'https://calendar.example/token',
  scopes: ['read'],
  clientId: 'freehold',
  clientSecret: 'the secret of the client',
} as const satisfies ConnectionProvider;
const keyed = { kind: 'api-key', name: 'Ledger', probe: { endpoint: 'https://ledger.example/me' } } as const;

test('a sound registry finds its providers and nothing else', () => {
  const registry = makeProviderRegistry({ calendar: oauth, ledger: keyed });
  expect(registry.find('calendar')).toEqual(oauth);
  expect(registry.find('ledger')).toEqual(keyed);
  for (const name of ['other', 'constructor', '__proto__', '']) expect(registry.find(name)).toBeUndefined();
});

test.each<[string, object, RegExp]>([
  ['plain http', { ...oauth, tokenEndpoint: 'http://calendar.example/token' }, /calendar.*tokenEndpoint/],
  [
    'credentials in an address',
    { ...oauth, tokenEndpoint: 'https://u:p@calendar.example/' },
    /tokenEndpoint/,
  ],
  ['a fragment', { ...oauth, authorizationEndpoint: 'https://calendar.example/#a' }, /authorizationEndpoint/],
  ['a file', { ...oauth, revocationEndpoint: 'file:///etc/passwd' }, /revocationEndpoint/],
  ['no endpoint', { ...oauth, tokenEndpoint: undefined }, /tokenEndpoint/],
  ['a scope with a space', { ...oauth, scopes: ['a b'] }, /scopes\.0/],
  [
    'a parameter that the round sets',
    { ...oauth, authorizationParams: { state: 'x' } },
    /authorizationParams/,
  ],
  [
    'a parameter that weakens PKCE',
    { ...oauth, authorizationParams: { code_challenge_method: 'plain' } },
    /Params/,
  ],
  [
    'a way to send a secret that is not there',
    { ...oauth, clientSecret: undefined, clientAuth: 'client_secret_post' },
    /clientAuth/,
  ],
  ['an unknown field', { ...oauth, clientsecret: 'x' }, /calendar/],
  ['an unknown kind', { ...oauth, kind: 'saml' }, /kind/],
  ['a header that is none', { ...keyed, probe: { ...keyed.probe, header: 'a b' } }, /header/],
  ['a path that is none', { ...keyed, probe: { ...keyed.probe, account: 'a..b' } }, /account/],
])('%s is refused, naming the field and no secret', (_, provider, message) => {
  const make = () => makeProviderRegistry({ calendar: provider as ConnectionProvider });
  expect(make).toThrow(message);
  expect(make).not.toThrow(/the secret of the client|u:p/);
});

test.each(['Calendar', 'a b', '1a', '', 'a/b'])('%j is not a name of a provider', (name) => {
  expect(() => makeProviderRegistry({ [name]: keyed })).toThrow(TypeError);
});

test('plain http is for this machine', () => {
  for (const host of ['localhost', 'a.localhost', '127.0.0.1', '127.9.9.9', '[::1]'])
    expect(isLoopbackHost(host)).toBe(true);
  for (const host of ['localhost.example', 'notlocalhost', '128.0.0.1', '127.0.0.1.example', '[::2]'])
    expect(isLoopbackHost(host)).toBe(false);
});
