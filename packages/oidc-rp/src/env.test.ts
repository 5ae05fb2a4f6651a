import { describe, expect, test } from 'vitest';
import { parseOidcEnv } from './env.ts';
import { OidcConfigError } from './lib/errors.ts';

const GOOD = {
  OIDC_ISSUER: 'https://issuer.example/realm',
  OIDC_CLIENT_ID: 'client-1',
  OIDC_CLIENT_SECRET: 'client secret',
  SESSION_SECRET: 'x'.repeat(32),
  BASE_URL: 'https://app.example/',
};

// spec B-02
test('the five variables make a configuration', () => {
  expect(parseOidcEnv(GOOD)).toEqual({
    issuer: 'https://issuer.example/realm',
    clientId: 'client-1',
    clientSecret: 'client secret',
    sessionSecrets: ['x'.repeat(32)],
    baseUrl: 'https://app.example',
  });
});

test('the client secret and BASE_URL may be absent or empty', () => {
  const env = parseOidcEnv({ ...GOOD, OIDC_CLIENT_SECRET: undefined, BASE_URL: '' });
  expect(env).not.toHaveProperty('clientSecret');
  expect(env).not.toHaveProperty('baseUrl');
});

test('SESSION_SECRET may be a list, in either form', () => {
  const secrets = ['a'.repeat(32), 'b'.repeat(40)];
  expect(parseOidcEnv({ ...GOOD, SESSION_SECRET: secrets.join(', ') }).sessionSecrets).toEqual(secrets);
  expect(parseOidcEnv({ ...GOOD, SESSION_SECRET: secrets }).sessionSecrets).toEqual(secrets);
});

describe('a wrong variable is refused by a sentence that names it', () => {
  test.each([
    ['OIDC_ISSUER', undefined],
    ['OIDC_ISSUER', 'issuer.example'],
    ['OIDC_ISSUER', 'ftp://issuer.example'],
    ['OIDC_ISSUER', 'http://issuer.example'],
    ['OIDC_ISSUER', 'http://127.0.0.1.evil.example'],
    ['OIDC_ISSUER', 'https://issuer.example?tenant=1'],
    ['OIDC_ISSUER', 'https://user:password@issuer.example'],
    ['OIDC_CLIENT_ID', ''],
    ['OIDC_CLIENT_ID', 7],
    ['OIDC_CLIENT_SECRET', 7],
    ['SESSION_SECRET', undefined],
    ['SESSION_SECRET', ' , '],
    ['SESSION_SECRET', 'x'.repeat(31)],
    ['SESSION_SECRET', `${'x'.repeat(32)},short`],
    ['SESSION_SECRET', ['x'.repeat(32), 5]],
    ['BASE_URL', 'app.example'],
    ['BASE_URL', 'https://app.example/path'],
    ['BASE_URL', 'javascript:alert(1)'],
  ])('%s = %j', (variable, value) => {
    const parse = (): unknown => parseOidcEnv({ ...GOOD, [variable]: value });
    expect(parse).toThrow(OidcConfigError);
    expect(parse).toThrow(new RegExp(`^${variable} `));
  });
});

test('the refusal of a secret does not repeat it', () => {
  expect(() => parseOidcEnv({ ...GOOD, SESSION_SECRET: 'tooshort' })).not.toThrow(/tooshort/);
});

test.each(['http://localhost:9000', 'http://127.0.0.1:9000', 'http://[::1]:9000', 'http://idp.localhost'])(
  'a loopback issuer may be plain http: %s',
  (issuer) => {
    expect(parseOidcEnv({ ...GOOD, OIDC_ISSUER: issuer }).issuer).toBe(issuer);
  },
);

test('any other plain-http issuer has to be allowed by name', () => {
  const record = { ...GOOD, OIDC_ISSUER: 'http://idp.lan' };
  expect(parseOidcEnv(record, { allowInsecureIssuer: true })).toMatchObject({
    issuer: 'http://idp.lan',
    allowInsecureIssuer: true,
  });
});
