import { expect, test } from 'vitest';
import { bindingsOf, demoConfigOf, newScopeSettingsOf } from './verticals.ts';

const client = { url: 'https://id.test', clientId: 'app', clientSecret: 's' };

test('hosted delivers the choice and its secret, and binds nothing', () => {
  expect(demoConfigOf('hosted', client)).toEqual({
    'platform:auth': '{"mode":"oidc","issuer":"https://id.test","clientId":"app"}',
    OIDC_CLIENT_SECRET: 's',
  });
  expect(bindingsOf('hosted', client.url)).toEqual({});
});

test('every new instance is delivered the same; a public client has no secret, and a platform without a client delivers nothing', () => {
  expect(newScopeSettingsOf('hosted', client)).toEqual(demoConfigOf('hosted', client));
  expect(Object.keys(newScopeSettingsOf('hosted', { ...client, clientSecret: undefined }))).toEqual([
    'platform:auth',
  ]);
  expect(newScopeSettingsOf('hosted', { ...client, clientId: undefined })).toEqual({});
  expect(newScopeSettingsOf('hosted', null)).toEqual({});
  expect(newScopeSettingsOf('directory', client)).toEqual({});
});

test.each(['tokens', 'directory'] as const)(
  '%s removes the settings that hosted delivered, the secret too',
  (mode) => {
    expect(demoConfigOf(mode, client)).toEqual({ 'platform:auth': null, OIDC_CLIENT_SECRET: null });
  },
);

test('tokens binds the one issuer, directory none', () => {
  expect(bindingsOf('tokens', client.url)).toEqual({ AUTH_PROVIDER: 'oidc', OIDC_ISSUER: 'https://id.test' });
  expect(bindingsOf('tokens', null)).toEqual({});
  expect(bindingsOf('directory', client.url)).toEqual({ AUTH_PROVIDER: 'directory' });
});
