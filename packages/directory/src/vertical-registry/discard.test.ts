/** Discarding a version: its files go, and only where nothing could still need them. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { makeMemoryRuntime } from '../../test/memory-runtime.ts';
import { type CallParts, openPlatform, refusal } from '../../test/platform.ts';
import { manifestOf } from '../../test/registry.ts';
import type { BackupRecord, ScopeRecord, VersionRecord } from '../admin-operations.ts';

const SLUG = 'app';
const file = (name: string, text: string) => ({
  name,
  mediaType: 'application/javascript+module',
  base64: btoa(text),
});

async function open() {
  const runtime = makeMemoryRuntime();
  const platform = await openPlatform({ runtime, backups: makeMemoryBackups() });
  platform.ownVerticals.add(SLUG);
  const tenant = await platform.tenant('acme');
  await platform.call('verticals.create', { body: { slug: SLUG, name: 'App', ownerTenant: tenant.id } });
  /** Deploys a version with a file of its own, and one that all have. */
  const deploy = async (version: string, parts: object = {}): Promise<string> => {
    const body = {
      manifest: manifestOf(SLUG, version),
      modules: [file('main.js', version), file('shared.js', 'the same')],
      ...{ admit: true, promote: true, ...parts },
    };
    const made = await platform.value<{ version: VersionRecord }>('verticals.deploy', {
      params: { slug: SLUG },
      body,
    });
    return made.version.id;
  };
  const discard = (id: string, more: Partial<CallParts> = {}) =>
    platform.call('vertical-versions.discard', { params: { slug: SLUG, id }, body: {}, ...more });
  const version = (id: string) =>
    platform.value<VersionRecord>('vertical-versions.get', { params: { slug: SLUG, id } });
  const ids = [await deploy('1.0.0'), await deploy('1.1.0'), await deploy('1.2.0')] as const;
  return { platform, runtime, tenant, deploy, discard, version, ids };
}

const GONE = { status: 'pending', uploadedAt: null, reviewedBy: null };

describe('discarding a version', () => {
  test('removes the files that no other has; the row stays, and the same content is deployed again', async () => {
    const { platform, runtime, deploy, discard, version, ids } = await open();
    const [first] = ids;
    const planned = await discard(first, { query: { dryRun: true } });
    expect(planned.value).toMatchObject({ dryRun: true, version: { id: first }, files: 1, bytes: 5 });
    expect([await version(first), runtime.uploaded.has('app--1.0.0')]).toMatchObject([
      { status: 'admitted' },
      true,
    ]);
    expect((await discard(first)).value).toMatchObject({
      version: { id: first, ...GONE },
      files: 1,
      bytes: 5,
    });
    expect(runtime.uploaded.has('app--1.0.0')).toBe(false);
    const rows = await platform.adminLog({ action: 'vertical-versions.discard', outcome: 'done' });
    expect(rows).toMatchObject([
      { target: { other: first }, after: { version: '1.0.0', files: 1, bytes: 5 } },
    ]);
    const promoted = platform.call('channels.promote', {
      params: { slug: SLUG, channel: 'prod' },
      body: { id: first },
    });
    expect(await refusal(promoted)).toMatchObject({ reason: 'version_not_admitted' });
    expect(await deploy('1.0.0', { promote: false })).toBe(first);
    expect(await version(first)).toMatchObject({ status: 'admitted', uploadedAt: expect.any(String) });
  });

  test('is refused for what serves, for the one that a rollback goes to, and for what a scope is bound to or runs', async () => {
    const { platform, runtime, tenant, deploy, discard, version, ids } = await open();
    const [first, second, third] = ids;
    const scope = await platform.value<ScopeRecord>('scopes.provision', {
      params: { tenant: tenant.id },
      body: { slug: 's', name: 'Scope', vertical: SLUG },
    });
    const inUse = { status: 409, reason: 'version_in_use' };
    for (const query of [{}, { dryRun: true }])
      for (const id of [second, third]) expect(await refusal(discard(id, { query }))).toMatchObject(inUse);
    const bind = (body: Record<string, unknown>) =>
      platform.call('scope-version.set', { params: { tenant: tenant.id, scope: scope.id }, body });
    await bind({ id: first });
    expect(await refusal(discard(first))).toMatchObject(inUse);
    await bind({ channel: 'prod' });
    // A wave that did not reach it left it where it was.
    (runtime.moved as Map<string, string>).set(scope.id, 'app--1.0.0');
    const before = await version(first);
    for (const query of [{}, { dryRun: true }])
      expect(await refusal(discard(first, { query }))).toMatchObject(inUse);
    expect(await version(first)).toMatchObject({ status: before.status, uploadedAt: before.uploadedAt });
    await deploy('1.3.0');
    expect((await discard(second)).value).toMatchObject({ version: GONE });
  });

  test('a fault of the runtime leaves it open, and the version without files until it is discarded again', async () => {
    const { platform, runtime, discard, version, ids } = await open();
    const [first] = ids;
    runtime.before = async () => {
      throw new Error('the disk is full');
    };
    expect(await refusal(discard(first))).toMatchObject({ status: 502, code: 'runtime_fault' });
    expect(await version(first)).toMatchObject(GONE);
    runtime.before = async () => {
      throw new PlatformError('unavailable', 'It does not answer.');
    };
    expect(await refusal(discard(first))).toMatchObject({ status: 503 });
    runtime.before = async () => undefined;
    expect((await discard(first)).value).toMatchObject({ version: GONE, files: 1 });
    // The first one is left open no longer: its outcome says nothing any more.
    const rows = await platform.adminLog({ action: 'vertical-versions.discard' });
    const endOf = new Map(rows.map(({ intent, outcome }) => [intent, outcome]));
    const intents = rows.filter(({ outcome }) => outcome === 'intent');
    expect(intents.map(({ sequence }) => endOf.get(sequence))).toEqual(['superseded', 'failed', 'done']);
  });

  test('a rejected version stays rejected', async () => {
    const { platform, discard, version, ids } = await open();
    const [first] = ids;
    await platform.call('vertical-versions.reject', {
      params: { slug: SLUG, id: first },
      body: { note: 'No.' },
    });
    await discard(first);
    expect(await version(first)).toMatchObject({ status: 'rejected', note: 'No.', uploadedAt: null });
  });

  test('a restored directory names no files that are gone, unless they were deployed again', async () => {
    const { platform, deploy, discard, version, ids } = await open();
    const [first] = ids;
    await platform.call('channels.promote', { params: { slug: SLUG, channel: 'prod' }, body: { id: first } });
    const { result } = await platform.finish(platform.call('directory-backups.create', { body: {} }));
    const backup = result as BackupRecord;
    const restore = () =>
      platform.finish(platform.call('directory.restore', { body: { backup: backup.id } }));
    await platform.call('channels.promote', {
      params: { slug: SLUG, channel: 'prod' },
      body: { id: ids[2] },
    });
    await discard(first);
    await restore();
    expect(await version(first)).toMatchObject({ ...GONE, serving: false });
    await deploy('1.0.0', { promote: false });
    await restore();
    expect(await version(first)).toMatchObject({ status: 'admitted', serving: true });
  });
});
