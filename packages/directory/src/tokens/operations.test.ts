/** Tokens: shown once, stored as a hash, and worth nothing as soon as they should be. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { PushTokenRecord } from '../admin-operations.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

type Made = { token: PushTokenRecord; secret: string };

async function openWithToken(body: Record<string, unknown> = {}) {
  const platform = await openPlatform();
  const tenant = await platform.tenant('acme');
  const made = await platform.value<Made>('push-tokens.create', {
    body: { name: 'ci', tenant: tenant.id, ...body },
  });
  return { platform, tenant, ...made };
}

const list = async (platform: Platform, query = {}) =>
  (await platform.value<{ items: PushTokenRecord[] }>('push-tokens.list', { query })).items;

describe('spec C-29: push tokens', () => {
  test('a token stands for a builder of its tenant', async () => {
    const { platform, tenant, token, secret } = await openWithToken();
    expect(await platform.admin.authenticate(secret)).toEqual({
      kind: 'builder',
      id: token.id,
      name: 'ci',
      tenant: tenant.id,
      rights: { kind: 'deploy', verticals: null, scopes: null },
    });
    expect(token).toMatchObject({
      tenant: tenant.id,
      prefix: 'fh_push_',
      last4: secret.slice(-4),
      createdBy: 'ada',
      expiresAt: '2027-02-19T08:00:00.000Z',
      lastUsedAt: null,
      revokedAt: null,
    });
  });

  test('the secret is nowhere in the database, and never listed', async () => {
    const { platform, secret, token } = await openWithToken();
    expect(await list(platform)).toEqual([token]);
    await platform.tamper((database) => {
      const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
      const everything = tables.map(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all());
      expect(JSON.stringify(everything)).not.toContain(secret);
      expect(JSON.stringify(everything)).toContain(token.id);
    });
  });

  test('a replay is refused, names the token to revoke, and makes none', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const parts = { body: { name: 'ci', tenant: tenant.id }, key: 'k' };
    const { token, secret } = await platform.value<Made>('push-tokens.create', parts);
    const replay = await refusal(platform.call('push-tokens.create', parts));
    expect(replay).toMatchObject({ status: 409, code: 'conflict', reason: 'secret_shown_once' });
    expect(replay.message).toContain(token.id);
    expect(replay.message).not.toContain(secret);
    expect(await list(platform)).toHaveLength(1);
  });

  test.each([0, 366, 1.5])('%d days are refused', async (expiresInDays) => {
    expect(await refusal(openWithToken({ expiresInDays }))).toMatchObject({ status: 400 });
  });

  test('it works until it expires and not a millisecond longer', async () => {
    const { platform, secret } = await openWithToken({ expiresInDays: 1 });
    platform.clock.ms += DAY_MS - 1;
    expect(await platform.admin.authenticate(secret)).not.toBeNull();
    platform.clock.ms += 1;
    expect(await platform.admin.authenticate(secret)).toBeNull();
  });

  test('revoking ends it at once; revoking again changes nothing', async () => {
    const { platform, secret, token } = await openWithToken();
    expect(await platform.admin.authenticate(secret)).not.toBeNull();
    const revoke = () => platform.call('push-tokens.revoke', { params: { token: token.id } });
    expect(await revoke()).toMatchObject({ status: 204 });
    expect(await platform.admin.authenticate(secret)).toBeNull();
    const rows = await platform.adminLog();
    expect(rows.at(-1)).toMatchObject({ before: { revoked: false }, after: { revoked: true } });
    expect(await revoke()).toMatchObject({ status: 204 });
    expect(await platform.adminLog()).toEqual(rows);
    expect(await list(platform)).toMatchObject([{ revokedAt: '2026-11-21T08:00:00.000Z' }]);
  });

  test.each(['suspended', 'deleting'])('a tenant that is %s has no builders', async (status) => {
    const { platform, tenant, secret } = await openWithToken();
    const set = (to: string) =>
      platform.call('tenants.set-status', { params: { tenant: tenant.id }, body: { status: to } });
    await set(status);
    expect(await platform.admin.authenticate(secret)).toBeNull();
    await set('active');
    expect(await platform.admin.authenticate(secret)).not.toBeNull();
  });

  test('a token for an unknown or inactive tenant is not made', async () => {
    const { platform, tenant } = await openWithToken();
    const create = (id: string) => platform.call('push-tokens.create', { body: { name: 'x', tenant: id } });
    expect(await refusal(create('tnt_01jd0000000000000000000009'))).toMatchObject({ status: 404 });
    await platform.call('tenants.set-status', {
      params: { tenant: tenant.id },
      body: { status: 'suspended' },
    });
    expect(await refusal(create(tenant.id))).toMatchObject({ code: 'invalid_transition' });
  });

  test('a list is that of one tenant for its builder, whatever it asks for, and for staff who name one', async () => {
    const { platform, tenant, token } = await openWithToken();
    const other = await platform.tenant('beta');
    const theirs = await platform.value<Made>('push-tokens.create', {
      body: { name: 'ci', tenant: other.id },
    });
    const ids = (items: readonly PushTokenRecord[]) => items.map(({ id }) => id);
    expect(ids(await list(platform))).toEqual([token.id, theirs.token.id]);
    expect(ids(await list(platform, { tenant: other.id }))).toEqual([theirs.token.id]);
    const as = platform.builder(tenant.id);
    expect(
      ids((await platform.value<{ items: PushTokenRecord[] }>('push-tokens.list', { as })).items),
    ).toEqual([token.id]);
    const foreign = platform.call('push-tokens.list', { as, query: { tenant: other.id } });
    expect(await refusal(foreign)).toMatchObject({ status: 404 });
  });

  test('a builder revokes its own, and another tenant’s is not there and goes on working', async () => {
    const { platform, tenant, token, secret } = await openWithToken();
    const other = await platform.tenant('beta');
    const revoke = (as: string) =>
      platform.call('push-tokens.revoke', { params: { token: token.id }, as: platform.builder(as) });
    expect(await refusal(revoke(other.id))).toMatchObject({ status: 404, reason: 'unknown_token' });
    expect(await platform.admin.authenticate(secret)).not.toBeNull();
    expect((await revoke(tenant.id)).status).toBe(204);
    expect(await platform.admin.authenticate(secret)).toBeNull();
  });

  test('the time of last use is noted, and at most once a minute', async () => {
    const { platform, secret } = await openWithToken();
    const use = async () => {
      await Promise.all([platform.admin.authenticate(secret), platform.admin.authenticate(secret)]);
      return (await list(platform))[0]?.lastUsedAt;
    };
    expect(await use()).toBe('2026-11-21T08:00:00.000Z');
    platform.clock.ms += 59_999;
    expect(await use()).toBe('2026-11-21T08:00:00.000Z');
    platform.clock.ms += 1;
    expect(await use()).toBe('2026-11-21T08:01:00.000Z');
    expect((await platform.adminLog()).map(({ action }) => action)).toEqual([
      'tenants.create',
      'push-tokens.create',
    ]);
  });

  test('garbage, another kind of token and a well-formed secret that was never issued are refused', async () => {
    const { platform, secret } = await openWithToken();
    for (const text of ['', 'x', `${secret}x`, secret.toLowerCase(), secret.replace('push', 'svc')])
      expect(await platform.admin.authenticate(text)).toBeNull();
    const { secret: foreign } = await openWithToken();
    expect(await platform.admin.authenticate(foreign)).toBeNull();
  });
});

describe('service tokens of the operator', () => {
  test('the first call makes one and shows it once; the row names the platform itself', async () => {
    const platform = await openPlatform();
    const first = await platform.admin.ensureServiceToken({ name: 'cli' });
    expect(await platform.admin.authenticate(first.secret ?? '')).toEqual({
      kind: 'service',
      id: first.id,
      name: 'cli',
    });
    expect(await platform.admin.ensureServiceToken({ name: 'cli' })).toMatchObject({
      id: first.id,
      secret: null,
    });
    expect(await platform.adminLog()).toMatchObject([
      {
        action: 'service-tokens.create',
        actor: { kind: 'system', id: 'operator' },
        token: null,
        target: { other: first.id },
        after: { kind: 'service', name: 'cli', revoked: false },
      },
    ]);
  });

  test('one that expired or was revoked is replaced', async () => {
    const platform = await openPlatform();
    const first = await platform.admin.ensureServiceToken({ name: 'cli', expiresInDays: 1 });
    platform.clock.ms += DAY_MS;
    const second = await platform.admin.ensureServiceToken({ name: 'cli' });
    expect(second.id).not.toBe(first.id);
    await platform.admin.revokeServiceToken(second.id);
    expect(await platform.admin.authenticate(second.secret ?? '')).toBeNull();
    expect((await platform.admin.ensureServiceToken({ name: 'cli' })).secret).not.toBeNull();
  });

  test('minting rotates with an overlap', async () => {
    const platform = await openPlatform();
    const old = await platform.admin.mintServiceToken({ name: 'cli' });
    const fresh = await platform.admin.mintServiceToken({ name: 'cli' });
    for (const { secret } of [old, fresh]) expect(await platform.admin.authenticate(secret)).not.toBeNull();
    await platform.admin.revokeServiceToken(old.id);
    expect(await platform.admin.authenticate(old.secret)).toBeNull();
    expect(await platform.admin.authenticate(fresh.secret)).not.toBeNull();
  });

  test('it is no push token: neither listed nor revoked as one, and not for longer than a year', async () => {
    const platform = await openPlatform();
    const { id } = await platform.admin.mintServiceToken({ name: 'cli' });
    expect(await list(platform)).toEqual([]);
    expect(await refusal(platform.call('push-tokens.revoke', { params: { token: id } }))).toMatchObject({
      status: 404,
    });
    await expect(platform.admin.mintServiceToken({ name: 'cli', expiresInDays: 366 })).rejects.toThrow(
      RangeError,
    );
  });
});
