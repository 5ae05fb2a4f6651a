/** The channel prod: which versions may be promoted to it, and the part of the runtime. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import {
  admitted,
  makeRuntimeDouble,
  manifestOf,
  migrationOf,
  promote,
  register,
} from '../../test/registry.ts';
import { adminOperations, type ChannelRecord } from '../admin-operations.ts';

async function openApp(options: Parameters<typeof openPlatform>[0] = {}) {
  const platform = await openPlatform(options);
  await platform.call('verticals.create', { body: { slug: 'app', name: 'App' } });
  return platform;
}

const prod = async (platform: Platform): Promise<ChannelRecord | undefined> =>
  (await platform.value<{ items: ChannelRecord[] }>('channels.list', { params: { slug: 'app' } })).items[0];

describe('spec C-15, 3.4: one channel', () => {
  test('prod is the only one listed, also before anything serves', async () => {
    const platform = await openApp();
    const { items } = await platform.value<{ items: ChannelRecord[] }>('channels.list', {
      params: { slug: 'app' },
    });
    expect(items).toMatchObject([{ channel: 'prod', version: null, promotedAt: null }]);
  });

  test.each(['staging', 'PROD', 'prod ', ''])('promoting "%s" is 400', async (channel) => {
    const platform = await openApp();
    await admitted(platform, 'app', '1.0.0');
    const call = platform.call('channels.promote', {
      params: { slug: 'app', channel },
      body: { version: '1.0.0' },
    });
    expect(await refusal(call)).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(await prod(platform)).toMatchObject({ version: null });
  });
});

describe('spec C-13: promoting', () => {
  test('by number and by id, with one row each and none for what serves already', async () => {
    const platform = await openApp();
    const [one, two] = [await admitted(platform, 'app', '1.0.0'), await admitted(platform, 'app', '2.0.0')];
    await promote(platform, 'app', { version: '1.0.0' });
    await promote(platform, 'app', { id: two.id });
    const again = await promote(platform, 'app', { version: '2.0.0' });
    expect(again.value).toMatchObject({ version: '2.0.0', id: two.id, etag: again.etag });
    expect(await platform.adminLog({ action: 'channels.promote' })).toMatchObject([
      { target: { vertical: 'app', other: one.id }, before: { version: null }, after: { version: '1.0.0' } },
      { before: { channel: 'prod', version: '1.0.0' }, after: { channel: 'prod', version: '2.0.0' } },
    ]);
  });

  test('names exactly one version', async () => {
    const platform = await openApp();
    const { id } = await admitted(platform, 'app', '1.0.0');
    for (const body of [{}, { id, version: '1.0.0' }])
      expect(await refusal(promote(platform, 'app', body))).toMatchObject({ status: 400 });
  });

  test.each(['pending', 'rejected'])('one that is %s is refused', async (state) => {
    const platform = await openApp();
    const { id } = await register(platform, 'app', '1.0.0');
    if (state === 'rejected')
      await platform.call('vertical-versions.reject', { params: { slug: 'app', id }, body: {} });
    const before = await platform.adminLog();
    expect(await refusal(promote(platform, 'app', { id }))).toMatchObject({
      status: 409,
      reason: 'version_not_admitted',
    });
    expect(await platform.adminLog()).toEqual(before);
  });

  test.each([
    ['one more migration', [migrationOf(1), migrationOf(2)]],
    ['one less', []],
    ['a changed one', [migrationOf(1, 'other')]],
  ])('%s has to be acknowledged', async (_, migrations) => {
    const platform = await openApp();
    await admitted(platform, 'app', '1.0.0', { migrations: [migrationOf(1)] });
    await admitted(platform, 'app', '2.0.0', { migrations });
    // No version served before, so that no data is migrated.
    await promote(platform, 'app', { version: '1.0.0' });
    expect(await refusal(promote(platform, 'app', { version: '2.0.0' }))).toMatchObject({
      status: 409,
      code: 'conflict',
      reason: 'migrations_changed',
    });
    expect(await prod(platform)).toMatchObject({ version: '1.0.0' });
    await promote(platform, 'app', { version: '2.0.0', acknowledgeMigrations: true });
    expect(await prod(platform)).toMatchObject({ version: '2.0.0' });
  });

  test('the same migrations need no acknowledgement', async () => {
    const platform = await openApp();
    for (const version of ['1.0.0', '2.0.0']) {
      await admitted(platform, 'app', version, { migrations: [migrationOf(1)] });
      await promote(platform, 'app', { version });
    }
    expect(await prod(platform)).toMatchObject({ version: '2.0.0' });
  });

  test('a stale tag is refused', async () => {
    const platform = await openApp();
    await admitted(platform, 'app', '1.0.0');
    await admitted(platform, 'app', '2.0.0');
    const before = await prod(platform);
    await promote(platform, 'app', { version: '1.0.0' });
    const call = platform.call('channels.promote', {
      params: { slug: 'app', channel: 'prod' },
      body: { version: '2.0.0' },
      ifMatch: `"${before?.etag}"`,
    });
    expect(await refusal(call)).toMatchObject({ status: 412 });
  });

  test('the router hears of it, and is told the version', async () => {
    const platform = await openPlatform({ versionOf: () => '0.0.0' });
    const tenant = await platform.tenant('acme');
    const scope = await platform.scope(tenant.id);
    await platform.hostname(scope, 'acme.localhost');
    expect(await platform.admin.routes()).toMatchObject([{ version: '0.0.0' }]);
    await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
    await admitted(platform, 'fieldwork', '1.0.0', { manifest: manifestOf('fieldwork', '1.0.0') });
    let told = 0;
    platform.admin.onRoutesChanged(() => {
      told += 1;
    });
    await promote(platform, 'fieldwork', { version: '1.0.0' });
    expect(told).toBe(1);
    expect(await platform.admin.routes()).toMatchObject([{ version: '1.0.0' }]);
  });
});

describe('a version that the runtime has', () => {
  const modules = [{ name: 'index.js', mediaType: 'application/javascript+module', base64: btoa('0') }];

  async function openDeployed() {
    const runtime = makeRuntimeDouble();
    const platform = await openApp({ runtime });
    await platform.call('verticals.deploy', {
      params: { slug: 'app' },
      body: { manifest: manifestOf('app', '1.0.0'), modules, admit: true },
    });
    runtime.asked.length = 0;
    return { platform, runtime };
  }

  test('is made to serve there: an intent before, the outcome after', async () => {
    const { platform, runtime } = await openDeployed();
    await promote(platform, 'app', { version: '1.0.0' });
    expect(runtime.asked).toEqual(['serve app--1.0.0 as app']);
    const rows = await platform.adminLog({ action: 'channels.promote' });
    expect(rows.map(({ outcome }) => outcome)).toEqual(['intent', 'done']);
    expect(await prod(platform)).toMatchObject({ version: '1.0.0' });
  });

  test('and when the runtime refuses, nothing serves and the tag is the old one', async () => {
    const { platform, runtime } = await openDeployed();
    const before = await prod(platform);
    runtime.fault = { of: 'serve', error: new PlatformError('unavailable', 'Full.') };
    expect(await refusal(promote(platform, 'app', { version: '1.0.0' }))).toMatchObject({ status: 503 });
    expect(await prod(platform)).toEqual(before);
    const rows = await platform.adminLog({ action: 'channels.promote' });
    expect(rows.map(({ outcome }) => outcome)).toEqual(['intent', 'failed']);
  });

  test('and when another one was promoted while the runtime was working, that one stays', async () => {
    const { platform, runtime } = await openDeployed();
    await admitted(platform, 'app', '2.0.0');
    const { serve } = runtime;
    Object.assign(runtime, {
      serve: async () => {
        Object.assign(runtime, { serve });
        await promote(platform, 'app', { version: '2.0.0' });
        throw new PlatformError('unavailable', 'Full.');
      },
    });
    expect(await refusal(promote(platform, 'app', { version: '1.0.0' }))).toMatchObject({ status: 503 });
    const rows = await platform.adminLog({ action: 'channels.promote' });
    expect(rows.map(({ outcome }) => outcome)).toEqual(['intent', 'done', 'failed']);
    expect(await prod(platform)).toMatchObject({ version: '2.0.0', etag: String(rows[1]?.sequence) });
  });

  test('and when the outcome is not known, the intent stays open, and the same call resumes it', async () => {
    const { platform, runtime } = await openDeployed();
    runtime.fault = { of: 'serve', error: new TypeError('the line is dead') };
    expect(await refusal(promote(platform, 'app', { version: '1.0.0' }))).toMatchObject({
      status: 502,
      reason: 'outcome_unknown',
    });
    expect(platform.incidents).toMatchObject([{ message: 'the line is dead' }]);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toHaveLength(1);
    runtime.fault = null;
    await promote(platform, 'app', { version: '1.0.0' });
    expect(await prod(platform)).toMatchObject({ version: '1.0.0' });
  });
});

test('the declared channel is prod and no other', () => {
  const { channel } = adminOperations['channels.promote'].input.params.shape;
  expect(channel.options).toEqual(['prod']);
});
