/** Delivered settings and the tenant's session secret. */
import { expect, test } from 'vitest';
import { OTHER_SCOPE, openPlatform, refusal, SCOPE, TENANT_A } from '../../test/support.ts';

test('A-13: settings are merged key by key, null removes, and the answer names what is set', async () => {
  const { directory } = await openPlatform();
  expect(
    await directory.putConfig({ scopeId: SCOPE, config: { B: '2', A: '1', 'platform:auth': '{}' } }),
  ).toEqual({
    keys: ['A', 'B', 'platform:auth'],
  });
  expect(await directory.putConfig({ scopeId: SCOPE, config: { A: null, B: '3' } })).toEqual({
    keys: ['B', 'platform:auth'],
  });
  expect(await directory.getConfig({ scopeId: SCOPE })).toEqual({ B: '3', 'platform:auth': '{}' });
});

test("A-22: another scope's and another tenant's settings do not show", async () => {
  const { directory, other } = await openPlatform();
  await directory.putConfig({ scopeId: OTHER_SCOPE, config: { ELSEWHERE: 'x' } });
  expect(await directory.getConfig({ scopeId: SCOPE })).toEqual({});
  expect(await other.getConfig({ scopeId: SCOPE })).toEqual({ SECRET_OF_B: 'b' });
});

test('a setting that is too long is refused whole, and nothing of the delivery is kept', async () => {
  const { directory } = await openPlatform();
  const config = { A: '1', B: 'x'.repeat(16_385) };
  expect((await refusal(directory.putConfig({ scopeId: SCOPE, config }))).code).toBe('validation_failed');
  expect(await directory.getConfig({ scopeId: SCOPE })).toEqual({});
});

test('a key named like a member of Object is only a key', async () => {
  const { directory } = await openPlatform();
  const config = JSON.parse('{"__proto__":"p","constructor":"c"}') as Record<string, string>;
  const { keys } = await directory.putConfig({
    scopeId: SCOPE,
    config: { ...config, toString: 't' } as never,
  });
  expect(keys).toContain('constructor');
  expect(Object.hasOwn(await directory.getConfig({ scopeId: SCOPE }), 'toString')).toBe(true);
});

test('the event of a change names the keys and never a value; no change is no event', async () => {
  const { directory } = await openPlatform();
  await directory.putConfig({ scopeId: SCOPE, config: { CLIENT_SECRET: 'hush' } });
  await directory.putConfig({ scopeId: SCOPE, config: { CLIENT_SECRET: 'hush', GONE: null } });
  const { items } = await directory.listIdentityEvents({ scopeId: SCOPE });
  expect(items).toMatchObject([{ type: 'config_changed', detail: { keys: ['CLIENT_SECRET'] } }]);
  expect(JSON.stringify(items)).not.toContain('hush');
});

test('A-11: the session secret is minted once, 32 bytes, and is this tenant’s own', async () => {
  const { directory, other } = await openPlatform();
  const secret = await directory.sessionSecret();
  expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(await Promise.all([directory.sessionSecret(), directory.sessionSecret()])).toEqual([secret, secret]);
  expect(await other.sessionSecret()).not.toBe(secret);
  expect(JSON.stringify(await directory.listIdentityEvents({}))).not.toContain(secret);
});

test('the instance config answers only what the caller does not have yet', async () => {
  const { directory } = await openPlatform();
  const first = await directory.readInstanceConfig({ scopeId: SCOPE });
  expect(first).toEqual({
    changed: true,
    version: `${TENANT_A}/none`,
    tenantId: TENANT_A,
    sessionSecret: null,
    config: {},
  });
  await directory.sessionSecret();
  await directory.putConfig({ scopeId: SCOPE, config: { A: '1' } });
  const second = await directory.readInstanceConfig({ scopeId: SCOPE, knownVersion: first.version });
  expect(second).toMatchObject({ changed: true, config: { A: '1' }, sessionSecret: expect.any(String) });
  const { version } = second;
  expect(await directory.readInstanceConfig({ scopeId: SCOPE, knownVersion: version })).toEqual({
    changed: false,
    version,
  });
});
