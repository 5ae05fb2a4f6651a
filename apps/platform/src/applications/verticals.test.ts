import { expect, test } from 'vitest';
import { bindingsOf, clientBindingsOf, demoConfigOf, newScopeSettingsOf } from './verticals.ts';

const client = { url: 'https://id.test', clientId: 'app', clientSecret: 's' };

test('hosted delivers the choice without its secret, and binds no instance to a sign-in', () => {
  expect(demoConfigOf('hosted', client)).toEqual({
    'platform:auth': '{"mode":"oidc","issuer":"https://id.test","clientId":"app"}',
    OIDC_CLIENT_SECRET: null,
  });
  expect(bindingsOf('hosted', client)).toEqual({});
});

test('the secret is bound with its issuer and client; a public client has none', () => {
  expect(clientBindingsOf(client)).toEqual({
    OIDC_ISSUER: 'https://id.test',
    OIDC_CLIENT_ID: 'app',
    OIDC_CLIENT_SECRET: 's',
  });
  expect(clientBindingsOf({ ...client, clientSecret: undefined })).toEqual({});
  expect(clientBindingsOf({ ...client, clientId: undefined })).toEqual({});
  expect(clientBindingsOf(null)).toEqual({});
});

test('every new instance is delivered the choice, and nothing where the platform has no client', () => {
  expect(Object.keys(newScopeSettingsOf('hosted', client))).toEqual(['platform:auth']);
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
  expect(bindingsOf('tokens', client)).toEqual({ AUTH_PROVIDER: 'oidc', OIDC_ISSUER: 'https://id.test' });
  expect(bindingsOf('tokens', null)).toEqual({});
  expect(bindingsOf('directory', client)).toEqual({ AUTH_PROVIDER: 'directory' });
});
