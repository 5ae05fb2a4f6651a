/** Delivered settings and the tenant's session secret. */
import { describe, expect, test } from 'vitest';
import {
  DAY_MS,
  HOUR_MS,
  ISSUER,
  OTHER_SCOPE,
  openPlatform,
  refusal,
  SCOPE,
  TENANT_A,
} from '../../test/support.ts';

/** A delivered choice, as text. */
const choice = (issuer: string, clientId = 'app', more: object = {}) =>
  JSON.stringify({ mode: 'oidc', issuer, clientId, ...more });

test('A-13: settings are merged key by key, null removes, and the answer lists the set keys', async () => {
  const { directory } = await openPlatform();
  expect(
    await directory.putConfig({ scopeId: SCOPE, config: { B: '2', A: '1', 'platform:auth': '{}' } }),
  ).toMatchObject({
    keys: ['A', 'B', 'platform:auth'],
  });
  expect(await directory.putConfig({ scopeId: SCOPE, config: { A: null, B: '3' } })).toEqual({
    keys: ['B', 'platform:auth'],
  });
  expect(await directory.getConfig({ scopeId: SCOPE })).toEqual({ B: '3', 'platform:auth': '{}' });
});

test.each<[string, Record<string, string>, string[]]>([
  ['a choice that is no JSON', { 'platform:auth': 'oidc' }, ['sign_in_unusable']],
  [
    'a choice without a client',
    { 'platform:auth': '{"mode":"oidc","issuer":"https://i.example"}' },
    ['sign_in_unusable'],
  ],
  ['a choice whose issuer is no URL', { 'platform:auth': choice('acme') }, ['sign_in_unusable']],
  [
    'AUTH_PROVIDER beside a usable choice',
    { 'platform:auth': choice(ISSUER), AUTH_PROVIDER: 'oidc' },
    ['auth_provider_unused'],
  ],
  ['AUTH_PROVIDER alone', { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: ISSUER }, []],
  ['a usable choice alone', { 'platform:auth': choice(ISSUER) }, []],
])('a delivery is stored, and warns about settings that count for nothing: %s', async (_, config, codes) => {
  const { directory } = await openPlatform();
  const { keys, warnings = [] } = await directory.putConfig({ scopeId: SCOPE, config });
  expect(keys).toEqual(Object.keys(config).sort());
  expect(warnings.map(({ code }) => code)).toEqual(codes);
  // Other settings do not repeat it.
  expect(await directory.putConfig({ scopeId: SCOPE, config: { COLOUR: 'red' } })).not.toHaveProperty(
    'warnings',
  );
});

test("A-22: another scope's and another tenant's settings do not show", async () => {
  const { directory, other } = await openPlatform();
  await directory.putConfig({ scopeId: OTHER_SCOPE, config: { ELSEWHERE: 'x' } });
  expect(await directory.getConfig({ scopeId: SCOPE })).toEqual({});
  expect(await other.getConfig({ scopeId: SCOPE })).toEqual({ SECRET_OF_B: 'b' });
});

test('a setting that is too long is refused whole, and none of the delivery is stored', async () => {
  const { directory } = await openPlatform();
  const config = { A: '1', B: 'x'.repeat(16_385) };
  expect((await refusal(directory.putConfig({ scopeId: SCOPE, config }))).code).toBe('validation_failed');
  expect(await directory.getConfig({ scopeId: SCOPE })).toEqual({});
});

test('a scope has at most 100 settings: a delivery beyond is refused whole, by a sentence with the limit', async () => {
  const { directory } = await openPlatform();
  const many = (count: number, prefix: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, 'x']));
  const put = (config: Record<string, string | null>) => directory.putConfig({ scopeId: SCOPE, config });
  await expect(put(many(101, 'K'))).rejects.toThrow(/100/);
  expect((await refusal(put(many(101, 'K')))).code).toBe('validation_failed');
  expect(await directory.getConfig({ scopeId: SCOPE })).toEqual({});

  expect((await put(many(100, 'K'))).keys).toHaveLength(100);
  const before = await directory.listIdentityEvents({ scopeId: SCOPE });
  expect((await refusal(put({ K0: 'changed', ONE_MORE: 'x' }))).code).toBe('validation_failed');
  expect(await directory.getConfig({ scopeId: SCOPE })).toEqual(many(100, 'K'));
  expect(await directory.listIdentityEvents({ scopeId: SCOPE })).toEqual(before);
  // The settings after the delivery count, not those that it names.
  expect((await put({ K0: null, K1: 'changed', ONE_MORE: 'x' })).keys).toHaveLength(100);
  expect((await directory.putConfig({ scopeId: OTHER_SCOPE, config: many(100, 'L') })).keys).toHaveLength(
    100,
  );
});

test.each(['__proto__', 'constructor', 'prototype'])(
  'a key named %s, which a careless reader would take for a part of its object, is refused',
  async (key) => {
    const { directory } = await openPlatform();
    const config = JSON.parse(`{"A":"1","${key}":"p"}`) as Record<string, string>;
    expect((await refusal(directory.putConfig({ scopeId: SCOPE, config }))).code).toBe('validation_failed');
    expect(await directory.getConfig({ scopeId: SCOPE })).toEqual({});
  },
);

test('a key named like another member of Object is only a key, and removing an absent key is no change', async () => {
  const { directory } = await openPlatform();
  await directory.putConfig({ scopeId: SCOPE, config: { toString: null } as never });
  expect((await directory.listIdentityEvents({ scopeId: SCOPE })).items).toEqual([]);
  await directory.putConfig({ scopeId: SCOPE, config: { toString: 't' } as never });
  expect(Object.hasOwn(await directory.getConfig({ scopeId: SCOPE }), 'toString')).toBe(true);
});

describe('a delivered client secret belongs to one issuer and client', () => {
  const WITH_SECRET = { 'platform:auth': choice(ISSUER), OIDC_CLIENT_SECRET: 'hush' };

  test.each<[string, string]>([
    ['another issuer', choice('https://evil.example')],
    ['another client', choice(ISSUER, 'other')],
    ['the same issuer with a slash', choice(`${ISSUER}/`)],
    ['nothing usable', '{}'],
  ])('a choice of %s removes it, in the same delivery', async (_, next) => {
    const { directory } = await openPlatform();
    await directory.putConfig({ scopeId: SCOPE, config: WITH_SECRET });
    const answer = await directory.putConfig({
      scopeId: SCOPE,
      config: { 'platform:auth': next, GREETING: 'hello' },
    });
    expect(answer.keys).toEqual(['GREETING', 'platform:auth']);
    expect(await directory.getConfig({ scopeId: SCOPE })).not.toHaveProperty('OIDC_CLIENT_SECRET');
    const { items } = await directory.listIdentityEvents({ scopeId: SCOPE });
    expect(items[0]?.detail.keys).toEqual(['platform:auth', 'GREETING', 'OIDC_CLIENT_SECRET']);
  });

  test('removing the choice and giving another in a second delivery removes it too', async () => {
    const { directory } = await openPlatform();
    await directory.putConfig({ scopeId: SCOPE, config: WITH_SECRET });
    expect(await directory.putConfig({ scopeId: SCOPE, config: { 'platform:auth': null } })).toEqual({
      keys: [],
    });
    await directory.putConfig({
      scopeId: SCOPE,
      config: { 'platform:auth': choice('https://evil.example') },
    });
    expect(await directory.getConfig({ scopeId: SCOPE })).not.toHaveProperty('OIDC_CLIENT_SECRET');
  });

  test('one that was delivered before any choice does not go to the first choice', async () => {
    const { directory } = await openPlatform();
    await directory.putConfig({ scopeId: SCOPE, config: { OIDC_CLIENT_SECRET: 'hush' } });
    await directory.putConfig({
      scopeId: SCOPE,
      config: { 'platform:auth': choice('https://evil.example') },
    });
    expect(await directory.getConfig({ scopeId: SCOPE })).not.toHaveProperty('OIDC_CLIENT_SECRET');
  });

  test('it stays with its own pair in any spelling of the choice, and a new one comes with a new pair', async () => {
    const { directory } = await openPlatform();
    await directory.putConfig({ scopeId: SCOPE, config: WITH_SECRET });
    const same = { 'platform:auth': choice(ISSUER, 'app', { note: 'x' }), GREETING: 'hello' };
    expect((await directory.putConfig({ scopeId: SCOPE, config: same })).keys).toContain(
      'OIDC_CLIENT_SECRET',
    );
    const moved = { 'platform:auth': choice('https://new.example'), OIDC_CLIENT_SECRET: 'hush' };
    expect((await directory.putConfig({ scopeId: SCOPE, config: moved })).keys).toContain(
      'OIDC_CLIENT_SECRET',
    );
  });
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
    version: `${TENANT_A}/none/none`,
    resealDue: false,
    tenantId: TENANT_A,
    sessionSecret: null,
    sessionSecrets: [],
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

describe('replacing the session secret', () => {
  /** The secrets that verify, the one that signs first. */
  async function openRotating() {
    const platform = await openPlatform();
    const { directory } = platform;
    const secrets = async () => {
      const read = await directory.readInstanceConfig({ scopeId: SCOPE });
      if (!read.changed) throw new Error('nothing was read');
      expect(read.sessionSecret).toBe(read.sessionSecrets[0] ?? null);
      return read.sessionSecrets;
    };
    const first = await directory.sessionSecret();
    return { ...platform, secrets, first };
  }

  test('a new one signs, and the former verifies for eight days: a session’s seven and one for the clocks', async () => {
    const { directory, secrets, first, clock } = await openRotating();
    const replacedAtMs = clock.nowMs;
    expect(await directory.rotateSessionSecret({})).toEqual({
      formerValidUntilMs: replacedAtMs + 8 * DAY_MS,
    });
    const second = await directory.sessionSecret();
    expect(second).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(second).not.toBe(first);
    expect(await secrets()).toEqual([second, first]);
    clock.nowMs += HOUR_MS;
    await directory.rotateSessionSecret({});
    const third = await directory.sessionSecret();
    expect(await secrets()).toEqual([third, second, first]);
    clock.nowMs = replacedAtMs + 8 * DAY_MS - 1;
    expect(await secrets()).toEqual([third, second, first]);
    clock.nowMs += 1;
    expect(await secrets()).toEqual([third, second]);
    clock.nowMs += HOUR_MS;
    expect(await secrets()).toEqual([third]);
  });

  test('the version changes with it in every scope, and again when the former secret expires', async () => {
    const { directory, clock } = await openRotating();
    const read = async (scopeId: string, knownVersion?: string) =>
      directory.readInstanceConfig({ scopeId, ...(knownVersion ? { knownVersion } : {}) });
    const versions = [(await read(OTHER_SCOPE)).version];
    const step = async (): Promise<void> => {
      const last = versions.at(-1) ?? '';
      const next = await read(OTHER_SCOPE, last);
      expect(next.changed).toBe(true);
      versions.push(next.version);
      expect(await read(OTHER_SCOPE, next.version)).toEqual({ changed: false, version: next.version });
    };
    await directory.rotateSessionSecret({});
    await step();
    await directory.rotateSessionSecret({});
    await step();
    clock.nowMs += 8 * DAY_MS;
    await step();
    expect(new Set(versions).size).toBe(4);
  });

  test('five former ones verify: a sixth rotation is refused, changes nothing, and is possible once one has expired', async () => {
    const { directory, secrets, clock } = await openRotating();
    for (let i = 0; i < 5; i++) {
      await directory.rotateSessionSecret({});
      clock.nowMs += HOUR_MS;
    }
    const full = await secrets();
    expect(full).toHaveLength(6);
    expect(await refusal(directory.rotateSessionSecret({}))).toEqual({
      code: 'conflict',
      reason: 'rotated_too_often',
    });
    expect(await secrets()).toEqual(full);
    clock.nowMs += 8 * DAY_MS - 5 * HOUR_MS;
    await directory.rotateSessionSecret({});
    expect(await secrets()).toEqual([await directory.sessionSecret(), ...full.slice(0, 5)]);
  });

  test('a leaked secret ends at once, with all before it, however often', async () => {
    const { directory, secrets } = await openRotating();
    for (let i = 0; i < 5; i++) await directory.rotateSessionSecret({});
    expect(await directory.rotateSessionSecret({ keepFormer: false })).toEqual({ formerValidUntilMs: null });
    expect(await secrets()).toEqual([await directory.sessionSecret()]);
  });

  test('a tenant without a secret gets its first', async () => {
    const { directory } = await openPlatform();
    expect(await directory.rotateSessionSecret({ by: 'prn_1' })).toEqual({ formerValidUntilMs: null });
    const secret = await directory.sessionSecret();
    expect(await directory.readInstanceConfig({ scopeId: SCOPE })).toMatchObject({
      sessionSecrets: [secret],
    });
  });

  test('is an event with the actor and the fate of the former, and without a secret; another tenant keeps its own', async () => {
    const { directory, other, first } = await openRotating();
    const neighbours = await other.sessionSecret();
    await directory.rotateSessionSecret({ by: 'prn_1' });
    await directory.rotateSessionSecret({ keepFormer: false });
    const { items } = await directory.listIdentityEvents({});
    expect(items).toMatchObject([
      { type: 'session_secret_rotated', actor: null, scopeId: null, detail: { former: 'ended' } },
      { type: 'session_secret_rotated', actor: 'prn_1', detail: { former: 'kept' } },
      { type: 'session_secret_minted' },
    ]);
    const read = JSON.stringify([items, (await directory.readInstanceConfig({ scopeId: SCOPE })).version]);
    for (const secret of [first, await directory.sessionSecret()]) expect(read).not.toContain(secret);
    expect(await other.sessionSecret()).toBe(neighbours);
  });

  test('many at once take turns, and none of their secrets is lost', async () => {
    const { directory, secrets, first } = await openRotating();
    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, () => directory.rotateSessionSecret({})),
    );
    expect(answers.filter((each) => each.status === 'fulfilled')).toHaveLength(5);
    const left = await secrets();
    expect(new Set(left).size).toBe(6);
    expect(left.at(-1)).toBe(first);
  });
});
