import { randomBytes } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import { makeKeyring } from '@freehold/store';
import { expect, test } from 'vitest';
import { type Credential, credentialOfTokens, makeCredentialVault, sealKeyOf } from './credential.ts';

const OLD = 'an old sealing key of 32 bytes and more';
const NEW = 'a new sealing key of 32 bytes and more';
const vaultWith = (...secrets: string[]) => makeCredentialVault(makeKeyring(secrets), randomBytes);
const place = { tenant: 'tnt_1', connection: 'con_1' };
const key: Credential = { kind: 'api-key', apiKey: 'sk_live_0123456789' };

function reasonOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof PlatformError) return `${error.status} ${error.reason}`;
    throw error;
  }
  return undefined;
}

test('a sealed credential opens for its own tenant and connection alone', () => {
  const vault = vaultWith(OLD);
  const { sealed } = vault.seal(place, key, null);
  expect(vault.open(place, sealed)).toEqual(key);
  expect(sealed).not.toContain('sk_live');
  for (const other of [
    { ...place, tenant: 'tnt_2' },
    { ...place, connection: 'con_2' },
  ])
    expect(reasonOf(() => vault.open(other, sealed))).toBe('503 credential_unreadable');
});

test('without a key nothing is sealed, and this shows before work begins', () => {
  expect(reasonOf(() => vaultWith().seal(place, key, null))).toBe('503 no_seal_key');
  expect(reasonOf(() => vaultWith().requireKey())).toBe('503 no_seal_key');
  expect(reasonOf(() => vaultWith(OLD).requireKey())).toBeUndefined();
});

test('after a rotation an old credential still opens, and is sealed again under the new key, once', () => {
  const { sealed } = vaultWith(OLD).seal(place, key, null);
  const rotated = vaultWith(NEW, OLD);
  const again = rotated.reseal(place, sealed);
  expect(again).not.toBeNull();
  expect(vaultWith(NEW).open(place, again as string)).toEqual(key);
  expect(sealKeyOf(again as string)).not.toBe(sealKeyOf(sealed));
  expect(rotated.reseal(place, again as string)).toBeNull();
  expect(reasonOf(() => vaultWith(NEW).open(place, sealed))).toBe('503 credential_unreadable');
});

test('a fingerprint tells keys apart, is the same for the same key, and differs between connections', () => {
  const vault = vaultWith(OLD);
  const of = (apiKey: string, connection = 'con_1') =>
    vault.seal({ tenant: 'tnt_1', connection }, { kind: 'api-key', apiKey }, null).fingerprint;
  expect(of('one-key-of-many')).toBe(of('one-key-of-many'));
  expect(of('one-key-of-many')).not.toBe(of('two-key-of-many'));
  expect(of('one-key-of-many')).not.toBe(of('one-key-of-many', 'con_2'));
  expect(of('one-key-of-many')).toMatch(/^[0-9a-f]{12}$/);
});

test('the fingerprint of a consent is that of its refresh token, and so the same after a refresh (spec C-18)', () => {
  const vault = vaultWith(OLD);
  const of = (accessToken: string, refreshToken: string | null) =>
    vault.seal(place, { kind: 'oauth2', accessToken, refreshToken }, null).fingerprint;
  expect(of('at-1', 'rt-1')).toBe(of('at-2', 'rt-1'));
  expect(of('at-1', 'rt-1')).not.toBe(of('at-1', 'rt-2'));
  expect(of('at-1', null)).not.toBe(of('at-2', null));
});

test('a refresh that brings no new refresh token means the one before (RFC 6749, section 6)', () => {
  const tokens = { accessToken: 'at', refreshToken: null, expiresInMs: null, scopes: null };
  expect(credentialOfTokens(tokens, 'rt')).toMatchObject({ refreshToken: 'rt' });
  expect(credentialOfTokens({ ...tokens, refreshToken: 'new' }, 'rt')).toMatchObject({ refreshToken: 'new' });
});
