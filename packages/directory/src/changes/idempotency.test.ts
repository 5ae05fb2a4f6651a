/** Idempotency keys, as a caller meets them. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, SERVICE } from '../../test/platform.ts';

const HOUR_MS = 60 * 60 * 1000;
const ACME = { slug: 'acme', name: 'Acme' };

describe('a change inside the directory', () => {
  test('a replay gets the first answer, does nothing, and carries the present head', async () => {
    const platform = await openPlatform();
    const first = await platform.call('tenants.create', { body: ACME, key: 'k' });
    const params = { tenant: (first.value as { id: string }).id };
    const { head } = await platform.call('tenants.set-status', { params, body: { status: 'suspended' } });
    const replay = await platform.call('tenants.create', { body: ACME, key: 'k' });
    expect(replay).toEqual({ ...first, head, replayed: true });
    expect(first.replayed).toBe(false);
    expect(await platform.adminLog()).toHaveLength(2);
  });

  test('the replay of a step that cannot be taken twice is the first answer, not a refusal', async () => {
    const platform = await openPlatform();
    const { id, etag } = await platform.tenant('acme');
    const step = () =>
      platform.call('tenants.set-status', {
        params: { tenant: id },
        body: { status: 'suspended' },
        key: 'k',
        ifMatch: `"${etag}"`,
      });
    const first = await step();
    expect(await step()).toEqual({ ...first, replayed: true });
  });

  test.each([
    ['another body', { body: { ...ACME, name: 'Other' } }],
    ['another If-Match', { body: ACME, ifMatch: '*' }],
  ])('the same key with %s is a conflict', async (_, parts) => {
    const platform = await openPlatform();
    await platform.call('tenants.create', { body: ACME, key: 'k' });
    expect(await refusal(platform.call('tenants.create', { ...parts, key: 'k' }))).toMatchObject({
      status: 409,
      code: 'conflict',
      reason: 'idempotency_key_reused',
    });
  });

  test('a key belongs to one actor and one operation', async () => {
    const platform = await openPlatform();
    await platform.call('tenants.create', { body: ACME, key: 'k' });
    const other = { slug: 'beta', name: 'Beta' };
    expect(await platform.call('tenants.create', { body: other, key: 'k', as: SERVICE })).toMatchObject({
      status: 201,
      replayed: false,
    });
    const role = { params: { key: 'support' }, body: { name: 'S', permissions: [] } };
    expect(await platform.call('roles.put', { ...role, key: 'k' })).toMatchObject({ replayed: false });
  });

  test('a failure is not kept: the same key may try again', async () => {
    const platform = await openPlatform();
    await platform.tenant('acme');
    const clash = { body: { slug: 'acme', name: 'Other' }, key: 'k' };
    for (let i = 0; i < 2; i++)
      expect(await refusal(platform.call('tenants.create', clash))).toMatchObject({ reason: 'slug_taken' });
    const { status } = await platform.call('tenants.create', { body: { slug: 'beta', name: 'B' }, key: 'k' });
    expect(status).toBe(201);
  });

  test('an answer is kept for 24 hours, and expired ones are cleared away', async () => {
    const platform = await openPlatform();
    const role = (name: string) => ({
      params: { key: 'support' },
      body: { name, permissions: [] },
      key: 'k',
    });
    await platform.call('roles.put', role('One'));
    platform.clock.ms += 24 * HOUR_MS - 1;
    expect(await platform.call('roles.put', role('One'))).toMatchObject({ replayed: true });
    platform.clock.ms += 1;
    expect(await platform.call('roles.put', role('Two'))).toMatchObject({ replayed: false });
    platform.clock.ms += 24 * HOUR_MS;
    await platform.call('roles.put', { ...role('Three'), key: 'other' });
    await platform.tamper((database) => {
      expect(database.prepare('SELECT key FROM idempotency_keys').all()).toMatchObject([{ key: 'other' }]);
    });
  });

  test('an expired answer is not given out, also when more expired than one change clears away', async () => {
    const platform = await openPlatform();
    for (let i = 0; i < 20; i++)
      await platform.call('tenants.create', { body: { slug: `t${i}`, name: 'T' }, key: `k${i}` });
    platform.clock.ms += 24 * HOUR_MS;
    const fresh = await platform.call('tenants.create', { body: ACME, key: 'k19' });
    expect(fresh).toMatchObject({ status: 201, replayed: false });
  });

  test('the fingerprint of an input is keyed: it says nothing outside this directory, and survives a restart', async () => {
    const fingerprintIn = async (platform: Platform) => {
      await platform.call('tenants.create', { body: ACME, key: 'k' });
      let fingerprint: unknown;
      await platform.tamper((database) => {
        fingerprint = database.prepare('SELECT fingerprint FROM idempotency_keys').get()?.fingerprint;
      });
      return fingerprint;
    };
    const [one, two] = [await openPlatform(), await openPlatform()];
    const fingerprint = await fingerprintIn(one);
    const input = canonicalJson({ params: {}, query: {}, body: ACME, ifMatch: undefined });
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(fingerprint).not.toBe(createHash('sha256').update(input).digest('hex'));
    expect(await fingerprintIn(two)).not.toBe(fingerprint);
    expect(await one.call('tenants.create', { body: ACME, key: 'k' })).toMatchObject({ replayed: true });
  });

  test('a directory of before the keyed fingerprints is taken over without the old ones', async () => {
    const platform = await openPlatform();
    await platform.call('tenants.create', { body: ACME, key: 'k' });
    await platform.tamper((database) =>
      database.exec(
        `DROP TABLE meta; ALTER TABLE open_intents DROP COLUMN running_until;
         DELETE FROM _spine_migrations WHERE version > 7; UPDATE idempotency_keys SET fingerprint = 'unkeyed'`,
      ),
    );
    expect(await platform.call('tenants.create', { body: ACME, key: 'k' })).toMatchObject({
      status: 200,
      replayed: false,
    });
    await platform.tamper((database) => {
      const rows = database.prepare('SELECT fingerprint FROM idempotency_keys').all();
      expect(JSON.stringify(rows)).not.toContain('unkeyed');
    });
  });

  test('two calls with one key at the same time make one thing', async () => {
    const platform = await openPlatform();
    const make = () => platform.call('tenants.create', { body: ACME, key: 'k' });
    const [first, second] = await Promise.all([make(), make()]);
    expect(second).toEqual({ ...first, replayed: true });
  });
});

describe('a change with an effect elsewhere', () => {
  const body = { slug: 'main', name: 'Main', vertical: 'fieldwork' };

  test('while it runs its key is taken; afterwards a replay gets its answer', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const provision = () =>
      platform.call('scopes.provision', { params: { tenant: tenant.id }, body, key: 'k' });
    const { fetch } = platform.fieldwork.bound;
    let meanwhile: unknown;
    platform.fieldwork.fault = async (request) => {
      platform.fieldwork.fault = null;
      meanwhile = await refusal(provision());
      return fetch(request);
    };
    const first = await provision();
    expect(meanwhile).toMatchObject({ status: 409, code: 'conflict', reason: 'idempotency_in_progress' });
    expect(await provision()).toEqual({ ...first, replayed: true });
    expect(platform.fieldwork.requests).toHaveLength(1);
  });

  test('an answer that comes after its lease ran out does not overwrite what took its place', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const provision = () =>
      platform.call('scopes.provision', { params: { tenant: tenant.id }, body, key: 'k' });
    const { fetch } = platform.fieldwork.bound;
    let second: unknown;
    platform.fieldwork.fault = async (request) => {
      platform.fieldwork.fault = null;
      platform.clock.ms += 2 * 60 * 1000;
      second = await provision();
      return fetch(request);
    };
    await provision();
    const { value, etag } = second as { value: unknown; etag: string };
    expect(await provision()).toMatchObject({ value, etag, replayed: true });
  });

  test('after an unknown outcome the key belongs to its call: another input is refused, the same one goes on', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const provision = (slug: string) =>
      platform.call('scopes.provision', { params: { tenant: tenant.id }, body: { ...body, slug }, key: 'k' });
    const { fetch } = platform.fieldwork.bound;
    platform.fieldwork.fault = async (request) => {
      platform.fieldwork.fault = null;
      await fetch(request);
      throw new TypeError('the connection broke');
    };
    expect(await refusal(provision('first'))).toMatchObject({ reason: 'outcome_unknown' });
    expect(await refusal(provision('second'))).toMatchObject({
      status: 409,
      reason: 'idempotency_key_reused',
    });
    expect(await provision('first')).toMatchObject({ status: 201, replayed: false });
  });
});
