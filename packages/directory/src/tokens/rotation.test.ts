/** Service tokens over the API, and the replacement of tokens with an overlap. */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, SERVICE } from '../../test/platform.ts';
import type { PushTokenRecord, ServiceTokenRecord } from '../admin-operations.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

type Made<T = ServiceTokenRecord> = { token: T; secret: string };
type Rotated<T = ServiceTokenRecord> = Made<T> & { replaced: T };

const create = (platform: Platform, body: Record<string, unknown> = {}) =>
  platform.value<Made>('service-tokens.create', { body: { name: 'deploy', ...body } });
const rotate = (platform: Platform, token: string, body: Record<string, unknown> = {}, more = {}) =>
  platform.value<Rotated>('service-tokens.rotate', { params: { token }, body, ...more });
const list = async (platform: Platform) =>
  (await platform.value<{ items: ServiceTokenRecord[] }>('service-tokens.list')).items;
const works = async (platform: Platform, secret: string) =>
  (await platform.admin.authenticate(secret)) !== null;

/** Every row of every table, as text. */
async function everything(platform: Platform): Promise<string> {
  let text = '';
  await platform.tamper((database) => {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    text = JSON.stringify(tables.map(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all()));
  });
  return text;
}

describe('spec C-01: service tokens', () => {
  test('one that was made stands for a service, says when it was used, and its secret is nowhere', async () => {
    const platform = await openPlatform();
    const { token, secret } = await create(platform);
    expect(secret).toMatch(/^fh_svc_/);
    expect(await platform.admin.authenticate(secret)).toEqual({
      kind: 'service',
      id: token.id,
      name: 'deploy',
    });
    expect(await list(platform)).toEqual([
      { ...token, lastUsedAt: '2026-11-21T08:00:00.000Z', expiresAt: '2027-02-19T08:00:00.000Z' },
    ]);
    expect(await platform.adminLog()).toMatchObject([
      {
        action: 'service-tokens.create',
        target: { other: token.id },
        after: { kind: 'service', name: 'deploy' },
      },
    ]);
    const stored = await everything(platform);
    expect(stored).not.toContain(secret);
    expect(stored).toContain(token.id);
  });

  test('a replay is refused, names the token to revoke, and makes none', async () => {
    const platform = await openPlatform();
    const parts = { body: { name: 'deploy' }, key: 'k' };
    const { token, secret } = await platform.value<Made>('service-tokens.create', parts);
    const replay = await refusal(platform.call('service-tokens.create', parts));
    expect(replay).toMatchObject({ status: 409, reason: 'secret_shown_once' });
    expect(replay.message).toContain(token.id);
    expect(replay.message).not.toContain(secret);
    expect(await list(platform)).toHaveLength(1);
  });

  test('revoking ends it at once, also by itself; once more changes nothing', async () => {
    const platform = await openPlatform();
    const { token, secret } = await create(platform);
    const own = (await platform.admin.authenticate(secret)) ?? SERVICE;
    const revoke = (as = SERVICE) =>
      platform.call('service-tokens.revoke', { params: { token: token.id }, as });
    expect((await revoke(own)).status).toBe(204);
    expect(await works(platform, secret)).toBe(false);
    const rows = await platform.adminLog();
    expect(rows.at(-1)).toMatchObject({
      token: token.id,
      before: { revoked: false },
      after: { revoked: true },
    });
    expect((await revoke()).status).toBe(204);
    expect(await refusal(revoke(own))).toMatchObject({ status: 403, reason: 'access_ended' });
    expect(await platform.adminLog()).toEqual(rows);
  });

  test('a push token is no service token, and the other way round', async () => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    const push = await platform.value<Made<PushTokenRecord>>('push-tokens.create', {
      body: { name: 'ci', tenant },
    });
    const service = await create(platform);
    for (const [name, token] of [
      ['service-tokens.revoke', push.token.id],
      ['service-tokens.rotate', push.token.id],
      ['push-tokens.revoke', service.token.id],
      ['push-tokens.rotate', service.token.id],
    ] as const)
      expect(await refusal(platform.call(name, { params: { token }, body: {} }))).toMatchObject({
        status: 404,
        reason: 'unknown_token',
      });
    expect((await list(platform)).map(({ id }) => id)).toEqual([service.token.id]);
  });

  test.each(['operator', 'auditor'] as const)('a member of the staff who is %s makes none', async (role) => {
    const platform = await openPlatform();
    const as = { kind: 'staff', id: 'bob', name: 'Bob', role } as const;
    const call = platform.call('service-tokens.create', { body: { name: 'mine' }, as });
    expect(await refusal(call)).toMatchObject({ status: 403, reason: 'role_insufficient' });
  });
});

describe('a rotation with an overlap', () => {
  test('lets both work until the overlap is over, and then the new one only', async () => {
    const platform = await openPlatform();
    const first = await create(platform);
    const second = await rotate(platform, first.token.id, { overlapHours: 2, expiresInDays: 30 });
    expect(second.token).toMatchObject({ name: 'deploy', expiresAt: '2026-12-21T08:00:00.000Z' });
    expect(second.replaced).toMatchObject({ id: first.token.id, expiresAt: '2026-11-21T10:00:00.000Z' });
    expect([await works(platform, first.secret), await works(platform, second.secret)]).toEqual([true, true]);
    platform.clock.ms += 2 * HOUR_MS;
    expect([await works(platform, first.secret), await works(platform, second.secret)]).toEqual([
      false,
      true,
    ]);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'service-tokens.rotate',
      target: { other: second.token.id },
      before: { token: first.token.id, expiresAt: '2027-02-19T08:00:00.000Z' },
      after: { token: second.token.id, replaced: { expiresAt: '2026-11-21T10:00:00.000Z' } },
    });
    expect(await everything(platform)).not.toContain(second.secret);
  });

  test('never makes the old one work for longer, and can end it at once', async () => {
    const platform = await openPlatform();
    const first = await create(platform, { expiresInDays: 1 });
    platform.clock.ms += DAY_MS - HOUR_MS;
    const second = await rotate(platform, first.token.id, { overlapHours: 168 });
    expect(second.replaced.expiresAt).toBe(first.token.expiresAt);
    await rotate(platform, second.token.id, { overlapHours: 0 });
    expect(await works(platform, second.secret)).toBe(false);
  });

  test('of one that works no more is refused: there is nothing that could overlap', async () => {
    const platform = await openPlatform();
    const { token } = await create(platform, { expiresInDays: 1 });
    const revoked = await create(platform);
    await platform.call('service-tokens.revoke', { params: { token: revoked.token.id } });
    platform.clock.ms += DAY_MS;
    for (const id of [token.id, revoked.token.id])
      expect(await refusal(rotate(platform, id))).toMatchObject({ status: 409, reason: 'token_not_working' });
  });

  test('honours If-Match, and shows its secret once', async () => {
    const platform = await openPlatform();
    const { token } = await create(platform);
    expect(await refusal(rotate(platform, token.id, {}, { ifMatch: '"999"' }))).toMatchObject({
      status: 412,
    });
    const { secret } = await rotate(platform, token.id, {}, { key: 'k', ifMatch: `"${token.etag}"` });
    const replay = await refusal(rotate(platform, token.id, {}, { key: 'k', ifMatch: `"${token.etag}"` }));
    expect(replay).toMatchObject({ status: 409, reason: 'secret_shown_once' });
    expect(replay.message).not.toContain(secret);
  });

  test('spec C-29: a builder replaces its own push token, for no longer than it had', async () => {
    const platform = await openPlatform();
    const [ours, theirs] = [await platform.tenant('acme'), await platform.tenant('beta')];
    const { token, secret } = await platform.value<Made<PushTokenRecord>>('push-tokens.create', {
      body: { name: 'ci', tenant: ours.id, expiresInDays: 10 },
    });
    const replace = (as: string) =>
      platform.value<Rotated<PushTokenRecord>>('push-tokens.rotate', {
        params: { token: token.id },
        body: { expiresInDays: 365 },
        as: platform.builder(as),
      });
    expect(await refusal(replace(theirs.id))).toMatchObject({ status: 404 });
    const made = await replace(ours.id);
    expect(made.token).toMatchObject({
      tenant: ours.id,
      expiresAt: token.expiresAt,
      createdBy: platform.builder(ours.id).id,
    });
    expect(made.replaced.expiresAt).toBe('2026-11-22T08:00:00.000Z');
    expect(await platform.admin.authenticate(made.secret)).toMatchObject({
      kind: 'builder',
      tenant: ours.id,
    });
    expect(await works(platform, secret)).toBe(true);
  });

  test('spec C-29: for a suspended tenant no caller makes another push token out of one', async () => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    const { token } = await platform.value<Made<PushTokenRecord>>('push-tokens.create', {
      body: { name: 'ci', tenant },
    });
    await platform.call('tenants.set-status', { params: { tenant }, body: { status: 'suspended' } });
    const params = { token: token.id };
    expect(await refusal(platform.call('push-tokens.rotate', { params, body: {} }))).toMatchObject({
      status: 409,
      code: 'invalid_transition',
    });
    expect(await platform.value('push-tokens.list')).toMatchObject({ items: [token] });
  });
});
