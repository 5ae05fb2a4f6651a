/** The secrets of builders: sealed, never read back, given to the runtime of their own vertical alone. */
import { PlatformError } from '@freehold/contracts';
import { makeKeyring } from '@freehold/store';
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { makeMemoryRuntime } from '../../test/memory-runtime.ts';
import { openPlatform, type Platform, refusal, type STAFF } from '../../test/platform.ts';
import type { VerticalSecretRecord } from '../admin-operations.ts';

const [OLD_KEY, NEW_KEY] = ['o'.repeat(43), 'n'.repeat(43)];
const SECRET = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc';

async function open(options: Parameters<typeof openPlatform>[0] = {}) {
  const runtime = makeMemoryRuntime();
  const platform = await openPlatform({ runtime, sealing: makeKeyring([OLD_KEY]), ...options });
  const [acme, bolt] = [await platform.tenant('acme'), await platform.tenant('bolt')];
  await platform.call('verticals.create', { body: { slug: 'app', name: 'App', ownerTenant: acme.id } });
  await platform.call('verticals.create', { body: { slug: 'other', name: 'Other', ownerTenant: bolt.id } });
  const as = platform.builder(acme.id) as typeof STAFF;
  return { platform, runtime, as, outsider: platform.builder(bolt.id) as typeof STAFF };
}

const put = (
  platform: Platform,
  {
    slug = 'app',
    name = 'PAYMENT_KEY',
    secret = SECRET,
    rotate = false,
    ...more
  }: Record<string, unknown> = {},
) =>
  platform.call(rotate ? 'secrets.rotate' : 'secrets.set', {
    params: { slug, name },
    body: { secret },
    ...more,
  });

const list = async (platform: Platform, as?: typeof STAFF) =>
  (
    await platform.value<{ items: VerticalSecretRecord[] }>('secrets.list', {
      params: { slug: 'app' },
      ...(as ? { as } : {}),
    })
  ).items;

test('a restore of the directory brings back no secret that was removed, and no older one', async () => {
  const { platform, as } = await open({ backups: makeMemoryBackups() });
  await put(platform, { as });
  await put(platform, { as, name: 'OTHER' });
  const made = await platform.finish(platform.call('directory-backups.create', { body: {} }));
  await put(platform, { as, name: 'OTHER', secret: 'newer', rotate: true });
  await platform.call('secrets.remove', { params: { slug: 'app', name: 'PAYMENT_KEY' }, as });
  const { id: backup } = made.result as { id: string };
  await platform.finish(platform.call('directory.restore', { body: { backup } }));
  expect(await platform.admin.secretsOf('app')).toEqual({ OTHER: 'newer' });
});

describe('spec C-27: a secret', () => {
  test('reaches the runtime of its vertical, and no answer, log or row in clear', async () => {
    const { platform, runtime, as } = await open();
    const { value } = await put(platform, { as });
    expect(value).toMatchObject({ vertical: 'app', name: 'PAYMENT_KEY', setBy: { id: as.id } });
    expect(await platform.admin.secretsOf('app')).toEqual({ PAYMENT_KEY: SECRET });
    expect(await platform.admin.secretsOf('other')).toEqual({});
    expect(runtime.resettled).toEqual(['app']);
    const rows = await platform.adminLog({ action: 'secrets.set' });
    expect(rows).toMatchObject([{ outcome: 'done', after: { name: 'PAYMENT_KEY' } }]);
    const stored = platform.look((database) =>
      database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .all()
        .flatMap(({ name }) => database.prepare(`SELECT * FROM ${name}`).all()),
    );
    expect(JSON.stringify(stored)).toContain('PAYMENT_KEY');
    for (const shown of [value, await list(platform, as), rows, stored])
      expect(JSON.stringify(shown)).not.toContain(SECRET);
  });

  test('is replaced by set and by rotate; rotate makes none', async () => {
    const { platform, runtime, as } = await open();
    expect(await refusal(put(platform, { as, rotate: true }))).toMatchObject({ reason: 'unknown_secret' });
    await put(platform, { as });
    await put(platform, { as, secret: 'second' });
    platform.clock.ms += 1_000;
    await put(platform, { as, secret: 'third', rotate: true });
    expect(await platform.admin.secretsOf('app')).toEqual({ PAYMENT_KEY: 'third' });
    const [{ createdAt, updatedAt } = { createdAt: '', updatedAt: '' }, ...more] = await list(platform);
    expect(more).toEqual([]);
    expect(updatedAt > createdAt).toBe(true);
    expect(runtime.resettled).toHaveLength(3);
  });

  test('is gone when it is removed, and a second removal finds none', async () => {
    const { platform, runtime, as } = await open();
    await put(platform, { as });
    const remove = () =>
      platform.call('secrets.remove', { params: { slug: 'app', name: 'PAYMENT_KEY' }, as });
    expect(await remove()).toMatchObject({ status: 204 });
    expect(await platform.admin.secretsOf('app')).toEqual({});
    expect(runtime.resettled).toHaveLength(2);
    expect(await refusal(remove())).toMatchObject({ status: 404, reason: 'unknown_secret' });
  });

  test('is not there for another builder, whatever it asks', async () => {
    const { platform, as, outsider } = await open();
    await put(platform, { as });
    const params = { slug: 'app', name: 'PAYMENT_KEY' };
    for (const call of [
      put(platform, { as: outsider }),
      put(platform, { as: outsider, rotate: true }),
      platform.call('secrets.remove', { params, as: outsider }),
      platform.call('secrets.list', { params: { slug: 'app' }, as: outsider }),
    ])
      expect(await refusal(call)).toMatchObject({ status: 404 });
    expect(await platform.admin.secretsOf('app')).toEqual({ PAYMENT_KEY: SECRET });
  });

  test('sealed text that is moved to another name or vertical does not open', async () => {
    const { platform, as } = await open();
    await put(platform, { as });
    await platform.tamper((database) => void database.exec("UPDATE vertical_secrets SET name = 'OTHER_KEY'"));
    expect(await refusal(platform.admin.secretsOf('app'))).toMatchObject({
      status: 503,
      reason: 'secret_unreadable',
    });
  });

  test.each([
    ...['payment_key', '1KEY', 'A-B', 'A'.repeat(65), ''],
    ...['FREEHOLD_MODEL', 'AUTH_PROVIDER', 'OIDC_ISSUER', 'CONTROL_PLANE_URL'],
  ])('of the name %j is refused', async (name) => {
    const { platform, as } = await open();
    expect(await refusal(put(platform, { as, name }))).toMatchObject({ status: 400 });
  });

  test('beyond the 64th is refused, and one of them can still be replaced', async () => {
    const { platform, as } = await open();
    for (let i = 0; i < 64; i++) await put(platform, { as, name: `KEY_${i}` });
    expect(await refusal(put(platform, { as }))).toMatchObject({ status: 409, reason: 'too_many_secrets' });
    expect(await put(platform, { as, name: 'KEY_0', secret: 'new' })).toMatchObject({ status: 200 });
  });
});

describe('where it cannot be kept', () => {
  test('without a key nothing is stored', async () => {
    const { platform, as } = await open({ sealing: makeKeyring([]) });
    expect(await refusal(put(platform, { as }))).toMatchObject({ status: 503, reason: 'no_seal_key' });
    expect(await list(platform)).toEqual([]);
  });

  test('without a runtime it is refused: no version would get it', async () => {
    const platform = await openPlatform({ sealing: makeKeyring([OLD_KEY]) });
    await platform.call('verticals.create', { body: { slug: 'app', name: 'App' } });
    expect(await refusal(put(platform))).toMatchObject({ status: 501, reason: 'no_runtime' });
  });

  test('instances that could not be told are an incident, and the secret is stored', async () => {
    const { platform, runtime, as } = await open();
    runtime.before = async () => {
      throw new PlatformError('unavailable', 'Hangs.');
    };
    await put(platform, { as });
    expect(platform.incidents).toHaveLength(1);
    expect(await platform.admin.secretsOf('app')).toEqual({ PAYMENT_KEY: SECRET });
  });
});

test('after the sealing key was replaced, secrets are sealed under the new one, and what no key opens is counted', async () => {
  const keys = { present: makeKeyring([OLD_KEY]) };
  const sealing: ReturnType<typeof makeKeyring> = {
    seal: (...args) => keys.present.seal(...args),
    open: (...args) => keys.present.open(...args),
    isStale: (...args) => keys.present.isStale(...args),
  };
  const { platform, as } = await open({ sealing });
  await put(platform, { as });
  await put(platform, { slug: 'other', name: 'TOKEN', secret: 'of bolt' });
  keys.present = makeKeyring([NEW_KEY]);
  expect(await platform.admin.resealSecrets()).toEqual({ left: 2 });
  keys.present = makeKeyring([NEW_KEY, OLD_KEY]);
  expect(await platform.admin.resealSecrets()).toEqual({ left: 0 });
  keys.present = makeKeyring([NEW_KEY]);
  expect(await platform.admin.secretsOf('app')).toEqual({ PAYMENT_KEY: SECRET });
  expect(await platform.admin.secretsOf('other')).toEqual({ TOKEN: 'of bolt' });
});
