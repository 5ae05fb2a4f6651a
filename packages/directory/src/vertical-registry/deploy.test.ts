/** Deploying: everything in one call, or nothing. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryRuntime } from '../../test/memory-runtime.ts';
import { openPlatform, type Platform, refusal, STAFF } from '../../test/platform.ts';
import { admitted, makeRuntimeDouble, manifestOf, migrationOf, promote } from '../../test/registry.ts';
import type { VersionRecord } from '../admin-operations.ts';

const file = (name: string, text: string) => ({
  name,
  mediaType: 'application/javascript+module',
  base64: btoa(text),
});
const MODULES = [file('index.js', 'export default 1'), file('lib/util.js', 'export const a = 2')];

async function openApp(options: Parameters<typeof openPlatform>[0] = {}) {
  const runtime = makeRuntimeDouble();
  const platform = await openPlatform({ runtime, ...options });
  const tenant = await platform.tenant('acme');
  await platform.call('verticals.create', { body: { slug: 'app', name: 'App', ownerTenant: tenant.id } });
  return { platform, runtime, owner: platform.builder(tenant.id) };
}

const deploy = (platform: Platform, parts: object = {}, more: { as?: typeof STAFF; key?: string } = {}) =>
  platform.call('verticals.deploy', {
    params: { slug: 'app' },
    body: { manifest: manifestOf('app', '1.0.0'), modules: MODULES, ...parts },
    ...more,
  });

const versions = async (platform: Platform) =>
  (await platform.value<{ items: VersionRecord[] }>('vertical-versions.list', { params: { slug: 'app' } }))
    .items;

describe('spec C-13: without a runtime', () => {
  async function openBare() {
    const platform = await openPlatform();
    const [a, b] = [await platform.tenant('a'), await platform.tenant('b')];
    await platform.call('verticals.create', { body: { slug: 'app', name: 'App', ownerTenant: a.id } });
    return { platform, owner: platform.builder(a.id), outsider: platform.builder(b.id) };
  }

  test('it is refused with a diagnosis, before anything is written', async () => {
    const { platform, owner } = await openBare();
    const before = await platform.adminLog();
    for (const as of [STAFF, owner])
      expect(await refusal(deploy(platform, {}, { as }))).toMatchObject({
        status: 501,
        code: 'unsupported',
        reason: 'no_runtime',
        message: expect.stringContaining('no runtime'),
      });
    expect(await platform.adminLog()).toEqual(before);
    expect(await versions(platform)).toEqual([]);
  });

  test("a builder of another tenant is told that there is no such vertical, and nothing about the platform's runtime", async () => {
    const { platform, outsider: anonymous } = await openBare();
    expect(await refusal(deploy(platform, {}, { as: anonymous }))).toMatchObject({ status: 404 });
  });
});

describe('spec C-13: with a runtime', () => {
  test('it registers and uploads; the version is pending, and nothing serves', async () => {
    const { platform, runtime } = await openApp();
    const { status, value } = await deploy(platform);
    expect(status).toBe(201);
    expect(value).toMatchObject({
      version: { version: '1.0.0', status: 'pending', serving: false, uploadedAt: expect.any(String) },
      promoted: false,
      changes: null,
    });
    expect(runtime.asked).toEqual(['upload app--1.0.0: index.js, lib/util.js']);
    const rows = await platform.adminLog({ action: 'verticals.deploy' });
    expect(rows.map(({ outcome }) => outcome)).toEqual(['intent', 'done']);
    expect(JSON.stringify(rows)).not.toContain(MODULES[0]?.base64);
  });

  test('a version keeps who brought it, and from which commit; the same content again changes neither', async () => {
    const { platform, owner } = await openApp();
    const source = { commit: 'a'.repeat(40), ref: 'main', dirty: true };
    await deploy(platform, { source }, { as: owner as typeof STAFF });
    const brought = { deployedBy: { kind: 'builder', id: owner.id, name: owner.name }, source };
    expect(await versions(platform)).toMatchObject([brought]);
    const [settled] = await platform.adminLog({ action: 'verticals.deploy', outcome: 'done' });
    expect(settled).toMatchObject({ after: { source } });
    const later = { commit: 'b'.repeat(40) };
    await deploy(platform, { source: later, admit: true, promote: true });
    expect(await versions(platform)).toMatchObject([{ ...brought, serving: true }]);
  });

  test.each([
    { commit: 'a'.repeat(7) },
    { commit: 'A'.repeat(40) },
    { commit: 'a'.repeat(40), author: 'x' },
    {},
  ])('a source that names no whole commit is refused: %j', async (source) => {
    const { platform } = await openApp();
    expect(await refusal(deploy(platform, { source }))).toMatchObject({ status: 400 });
    expect(await versions(platform)).toEqual([]);
  });

  test('a version that is registered without a deployment names neither', async () => {
    const { platform } = await openApp();
    await admitted(platform, 'app', '0.9.0');
    expect(await versions(platform)).toMatchObject([{ deployedBy: null, source: null }]);
  });

  test('asked for all of it, it admits and promotes too, and tells what changed', async () => {
    const { platform, runtime, owner } = await openApp();
    await admitted(platform, 'app', '0.9.0', { egress: ['old.example.com'] });
    await promote(platform, 'app', { version: '0.9.0' });
    const { value } = await deploy(platform, { admit: true, promote: true }, { as: owner as typeof STAFF });
    expect(value).toMatchObject({
      version: { status: 'admitted', reviewedBy: 'owner', serving: true },
      changes: { serving: '0.9.0', egress: { lost: ['old.example.com'] } },
      promoted: true,
    });
    expect(runtime.asked).toEqual(['upload app--1.0.0: index.js, lib/util.js', 'serve app--1.0.0 as app']);
  });

  test('the same deployment again uploads nothing and writes nothing', async () => {
    const { platform, runtime } = await openApp();
    await deploy(platform, { admit: true, promote: true });
    const before = await platform.adminLog();
    const reversed = [...MODULES].reverse();
    const again = await deploy(platform, { modules: reversed, admit: true, promote: true });
    expect(again.status).toBe(200);
    expect(again.value).toMatchObject({ promoted: true });
    expect(runtime.asked).toHaveLength(2);
    expect(await platform.adminLog()).toEqual(before);
  });

  test('other files under the same version are refused', async () => {
    const { platform, runtime } = await openApp();
    await deploy(platform);
    const other = deploy(platform, { modules: [file('index.js', 'export default 2')] });
    expect(await refusal(other)).toMatchObject({ status: 409, code: 'immutable' });
    expect(runtime.asked).toHaveLength(1);
  });

  test.each([
    ['promoting a version that is not admitted', { promote: true }, 'version_not_admitted'],
    [
      'promoting other migrations without a word',
      { admit: true, promote: true, migrations: [migrationOf(1)] },
      'migrations_changed',
    ],
  ])('%s is refused before anything is written or uploaded', async (_, parts, reason) => {
    const { platform, runtime } = await openApp();
    await admitted(platform, 'app', '0.9.0');
    await promote(platform, 'app', { version: '0.9.0' });
    const before = await platform.adminLog();
    expect(await refusal(deploy(platform, parts))).toMatchObject({ status: 409, reason });
    expect(await platform.adminLog()).toEqual(before);
    expect(await versions(platform)).toHaveLength(1);
    expect(runtime.asked).toEqual([]);
  });

  test('a builder cannot admit by deploying what it could not admit by hand', async () => {
    const { platform, owner } = await openApp();
    await admitted(platform, 'app', '0.9.0');
    await promote(platform, 'app', { version: '0.9.0' });
    await platform.call('listings.put', {
      params: { slug: 'app' },
      body: { tier: 'published', title: 'App' },
    });
    const call = deploy(platform, { admit: true, promote: true }, { as: owner as typeof STAFF });
    expect(await refusal(call)).toMatchObject({ status: 403, reason: 'staff_review_required' });
    expect(await versions(platform)).toHaveLength(1);
    // Without the verdict it is uploaded, and stays pending.
    expect((await deploy(platform, {}, { as: owner as typeof STAFF })).value).toMatchObject({
      version: { status: 'pending' },
    });
  });

  test('nor undo a verdict of staff by deploying the same again', async () => {
    const { platform, owner } = await openApp();
    const as = owner as typeof STAFF;
    await deploy(platform, {}, { as });
    const [{ id } = { id: '' }] = await versions(platform);
    const reject = (by: typeof STAFF) =>
      platform.call('vertical-versions.reject', { params: { slug: 'app', id }, body: {}, as: by });
    await reject(STAFF);
    const before = await platform.adminLog();
    const again = deploy(platform, { admit: true }, { as });
    expect(await refusal(again)).toMatchObject({ status: 403, reason: 'staff_review_required' });
    expect(await versions(platform)).toMatchObject([{ status: 'rejected', reviewedBy: 'platform' }]);
    expect(await platform.adminLog()).toEqual(before);
  });

  test.each(['../index.js', '/etc/passwd', 'a//b.js', 'a/../b.js', '.hidden', ''])(
    'a file outside of the folder is refused: %s',
    async (name) => {
      const { platform } = await openApp();
      expect(await refusal(deploy(platform, { modules: [file(name, '1')] }))).toMatchObject({ status: 400 });
    },
  );
});

test('spec C-13: the digest is that of names, media types and contents', async () => {
  const { platform } = await openApp();
  await deploy(platform);
  const [one, ...rest] = MODULES as [(typeof MODULES)[0], (typeof MODULES)[0]];
  for (const changed of [{ mediaType: 'text/plain' }, { name: 'main.js' }, { base64: btoa('2') }])
    expect(await refusal(deploy(platform, { modules: [{ ...one, ...changed }, ...rest] }))).toMatchObject({
      status: 409,
      code: 'immutable',
    });
});

test('spec C-13: the router hears of a deployment that serves, and of no other', async () => {
  const { platform } = await openApp();
  const told: unknown[] = [];
  platform.admin.onRoutesChanged((change) => told.push(change));
  await deploy(platform, { admit: true });
  expect(told).toEqual([]);
  await deploy(platform, { admit: true, promote: true });
  expect(told).toEqual([{ tenant: null, scope: null, vertical: 'app' }]);
});

describe('when the runtime fails', () => {
  test('a refusal does not take back what the same deployment uploads after it', async () => {
    const { platform, runtime } = await openApp();
    const { upload } = runtime;
    let second: Promise<unknown> = Promise.resolve();
    Object.assign(runtime, {
      upload: async () => {
        Object.assign(runtime, { upload });
        second = deploy(platform);
        const intents = () => platform.adminLog({ action: 'verticals.deploy', outcome: 'intent' });
        await expect.poll(async () => (await intents()).length).toBe(2);
        throw new PlatformError('unavailable', 'Full.');
      },
    });
    expect(await refusal(deploy(platform))).toMatchObject({ status: 503 });
    await second;
    expect(await versions(platform)).toMatchObject([{ status: 'pending', uploadedAt: expect.any(String) }]);
  });

  test('a refusal does not take back a version that a reviewer has decided about meanwhile', async () => {
    const { platform, runtime } = await openApp();
    const { upload } = runtime;
    Object.assign(runtime, {
      upload: async () => {
        const [{ id } = { id: '' }] = await versions(platform);
        await platform.call('vertical-versions.reject', { params: { slug: 'app', id }, body: {} });
        throw new PlatformError('unavailable', 'Full.');
      },
    });
    expect(await refusal(deploy(platform))).toMatchObject({ status: 503 });
    Object.assign(runtime, { upload });
    expect(await versions(platform)).toMatchObject([{ status: 'rejected', uploadedAt: null }]);
  });

  test('a refusal takes the registration back, and the number can be used again', async () => {
    const { platform, runtime } = await openApp();
    runtime.fault = { of: 'upload', error: new PlatformError('validation_failed', 'It does not compile.') };
    expect(await refusal(deploy(platform))).toMatchObject({ status: 400, message: 'It does not compile.' });
    expect(await versions(platform)).toEqual([]);
    const rows = await platform.adminLog({ action: 'verticals.deploy' });
    expect(rows.map(({ outcome }) => outcome)).toEqual(['intent', 'failed']);
    runtime.fault = null;
    const other = await deploy(platform, { modules: [file('index.js', 'fixed')] });
    expect(other.status).toBe(201);
  });

  test('a version that was registered before stays registered', async () => {
    const { platform, runtime } = await openApp();
    await deploy(platform);
    runtime.fault = { of: 'serve', error: new PlatformError('unavailable', 'Full.') };
    await refusal(deploy(platform, { admit: true, promote: true }));
    expect(await versions(platform)).toMatchObject([{ version: '1.0.0', status: 'pending', serving: false }]);
  });

  test.each([
    ['while it uploads', { of: 'upload', error: new TypeError('gone') } as const],
    // The upload was taken by then, so that a refusal proves nothing about the whole.
    ['while it serves', { of: 'serve', error: new PlatformError('unavailable', 'Full.') } as const],
  ])('%s, the outcome is not known, and the same call resumes it', async (_, fault) => {
    const { platform, runtime } = await openApp();
    runtime.fault = fault;
    const call = () => deploy(platform, { admit: true, promote: true }, { key: 'one-deployment' });
    expect(await refusal(call())).toMatchObject({ status: 502, reason: 'outcome_unknown' });
    expect(await platform.adminLog({ outcome: 'unsettled' })).toHaveLength(1);
    runtime.fault = null;
    expect((await call()).value).toMatchObject({ promoted: true, version: { status: 'admitted' } });
    expect((await call()).replayed).toBe(true);
    expect(await versions(platform)).toHaveLength(1);
  });
});

describe('spec C-13: two deployments at once', () => {
  test('are done one after the other: the directory and the runtime name the same version', async () => {
    const runtime = makeMemoryRuntime();
    const platform = await openPlatform({ runtime });
    await platform.call('verticals.create', { body: { slug: 'app', name: 'App' } });
    const { serve } = runtime;
    const served = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    // The first serves already, and its answer is on its way.
    Object.assign(runtime, {
      serve: async (choice: Parameters<typeof serve>[0]) => {
        await serve(choice);
        if (choice.version !== '1.0.0') return;
        served.resolve();
        await gate.promise;
      },
    });
    const first = deploy(platform, { manifest: manifestOf('app', '1.0.0'), admit: true, promote: true });
    await served.promise;
    const second = deploy(platform, { manifest: manifestOf('app', '2.0.0'), admit: true, promote: true });
    // Time enough for the second to end, if it did not wait.
    for (let i = 0; i < 20; i++) await platform.call('verticals.list');
    expect([...runtime.uploaded.keys()]).toEqual(['app--1.0.0']);
    gate.resolve();
    await Promise.all([first, second]);
    expect(runtime.serving.get('app')).toBe('app--2.0.0');
    expect((await versions(platform)).map(({ version, serving }) => [version, serving])).toEqual([
      ['2.0.0', true],
      ['1.0.0', false],
    ]);
  });

  test('one that fails does not keep the next from its turn; another vertical does not wait', async () => {
    const runtime = makeMemoryRuntime();
    const platform = await openPlatform({ runtime });
    for (const slug of ['app', 'other'])
      await platform.call('verticals.create', { body: { slug, name: 'App' } });
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    runtime.before = async () => {
      runtime.before = async () => undefined;
      reached.resolve();
      await gate.promise;
      throw new PlatformError('validation_failed', 'Broken.', { reason: 'bundle_broken' });
    };
    const first = refusal(deploy(platform, { manifest: manifestOf('app', '1.0.0') }));
    await reached.promise;
    const second = deploy(platform, { manifest: manifestOf('app', '2.0.0') });
    const body = { manifest: manifestOf('other', '1.0.0'), modules: MODULES };
    await platform.call('verticals.deploy', { params: { slug: 'other' }, body });
    expect([...runtime.uploaded.keys()]).toEqual(['other--1.0.0']);
    gate.resolve();
    expect(await first).toMatchObject({ reason: 'bundle_broken' });
    await second;
    expect([...runtime.uploaded.keys()]).toEqual(['other--1.0.0', 'app--2.0.0']);
  });
});
