import { expect, test } from 'vitest';
import { parseSettings, SettingsError } from './settings.ts';

const SECRET = 'x'.repeat(32);
const ISSUER = { OIDC_ISSUER: 'https://id.example.test', OIDC_CLIENT_ID: 'freehold' };

test('an empty environment gives the documented defaults', () => {
  expect(parseSettings({})).toMatchObject({
    port: 8787,
    issuerPort: 8788,
    host: '127.0.0.1',
    issuer: null,
    production: false,
    dataDirectory: expect.stringMatching(/\.freehold$/),
  });
});

test('an empty variable is an unset one', () => {
  expect(parseSettings({ PORT: '', PLATFORM_SECRET: '' })).toMatchObject({
    port: 8787,
    platformSecret: undefined,
  });
});

test.each([
  ['PORT', { PORT: 'eighty' }],
  ['PORT', { PORT: '70000' }],
  ['ISSUER_PORT', { ISSUER_PORT: '-1' }],
  ['PLATFORM_SECRET', { PLATFORM_SECRET: 'short' }],
  ['OIDC_ISSUER', { OIDC_ISSUER: 'not a url' }],
  ['OIDC_ISSUER', { OIDC_ISSUER: 'ftp://id.example.test', OIDC_CLIENT_ID: 'x' }],
  ['ISSUER_PORT', { PORT: '9000', ISSUER_PORT: '9000' }],
  ['FREEHOLD_ALLOWED_ISSUERS', { FREEHOLD_ALLOWED_ISSUERS: '10.0.0.0/99' }],
  ['FREEHOLD_ALLOWED_ISSUERS', { FREEHOLD_ALLOWED_ISSUERS: 'https://id.example.test' }],
  ['OIDC_CLIENT_ID', { OIDC_ISSUER: 'https://id.example.test' }],
  ['PLATFORM_SECRET', { NODE_ENV: 'production', ...ISSUER }],
  ['OIDC_ISSUER', { NODE_ENV: 'production', PLATFORM_SECRET: SECRET }],
])('a fault in %s is one sentence that names it', (name, env) => {
  const error = (() => {
    try {
      return parseSettings(env);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toBeInstanceOf(SettingsError);
  expect((error as Error).message).toMatch(new RegExp(`^${name} .+\\.$`));
  expect((error as Error).message).not.toContain('\n');
});

test('production starts with a secret and an issuer of its own', () => {
  expect(parseSettings({ NODE_ENV: 'production', PLATFORM_SECRET: SECRET, ...ISSUER })).toMatchObject({
    production: true,
    issuer: { url: 'https://id.example.test', clientId: 'freehold', clientSecret: undefined },
  });
});

test('private issuers are allowed by name, address and range', () => {
  expect(
    parseSettings({ FREEHOLD_ALLOWED_ISSUERS: 'id.corp.test, 10.1.0.0/16,fd00::/8' }).allowedIssuers,
  ).toEqual(['id.corp.test', '10.1.0.0/16', 'fd00::/8']);
});
