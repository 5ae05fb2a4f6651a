/** A revocation since a backup of the directory stays when the backup is restored (requirement C-19). */
import { describe, expect, test } from 'vitest';
import { makeHostnameWorld } from '../../test/hostname-probes.ts';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform } from '../../test/platform.ts';
import { admitted, promote } from '../../test/registry.ts';
import type { BackupRecord, DirectoryRestored, HostnameRecord, ScopeRecord } from '../admin-operations.ts';

async function open() {
  const world = makeHostnameWorld();
  const platform = await openPlatform({
    backups: makeMemoryBackups(),
    hostnames: world.probes,
    connections: makeKeyProvider().options,
  });
  const backUp = async () =>
    (await platform.finish(platform.call('directory-backups.create', { body: {} }))).result as BackupRecord;
  const restore = async ({ id }: BackupRecord): Promise<DirectoryRestored> => {
    const operation = await platform.finish(platform.call('directory.restore', { body: { backup: id } }));
    expect(operation.problem).toBeNull();
    return operation.result as DirectoryRestored;
  };
  const { id: tenant } = await platform.tenant('acme');
  const scope = await platform.scope(tenant);
  return { platform, world, tenant, scope, backUp, restore };
}

const items = async <T>(platform: Platform, name: Parameters<Platform['call']>[0], params = {}, query = {}) =>
  (await platform.value<{ items: T[] }>(name, { params, query })).items;

async function register(platform: Platform) {
  const slug = 'floorplan';
  await platform.call('verticals.create', { body: { slug, name: 'Floorplan' } });
  return slug;
}

describe('a host name', () => {
  const bound = async (platform: Platform, scope: ScopeRecord, hostname = 'shop.localhost') => {
    await platform.hostname(scope, hostname);
    return hostname;
  };
  const routes = async (platform: Platform) =>
    (await platform.admin.routes()).map(({ hostname }) => hostname);

  test('that was unbound since leads nowhere, and the result, the log and the plan say so', async () => {
    const { platform, scope, backUp, restore } = await open();
    const hostname = await bound(platform, scope);
    const backup = await backUp();
    await platform.call('hostnames.delete', { params: { hostname } });
    const plan = await platform.value('directory.restore', {
      query: { dryRun: true },
      body: { backup: backup.id },
    });
    expect(plan).toMatchObject({
      keptAway: {
        count: 1,
        items: [{ action: 'hostnames.delete', tenant: scope.tenant, scope: scope.id, other: hostname }],
      },
    });
    const keptAway = [{ action: 'hostnames.delete', count: 1 }];
    expect(await restore(backup)).toMatchObject({ keptAway });
    expect(await routes(platform)).toEqual([]);
    expect(await items(platform, 'hostnames.list')).toEqual([]);
    expect((await platform.adminLog({ action: 'directory.restore' })).at(-1)?.after).toMatchObject({
      keptAway,
    });
  });

  test('that was bound again at the same scope comes back', async () => {
    const { platform, scope, backUp, restore } = await open();
    const hostname = await bound(platform, scope);
    const backup = await backUp();
    await platform.call('hostnames.delete', { params: { hostname } });
    await bound(platform, scope);
    expect((await restore(backup)).keptAway).toEqual([]);
    expect(await routes(platform)).toEqual([hostname]);
  });

  test('that was bound again at another scope does not lead to the first one', async () => {
    const { platform, tenant, scope, backUp, restore } = await open();
    const other = await platform.scope(tenant, 'second');
    const hostname = await bound(platform, scope);
    const backup = await backUp();
    await platform.call('hostnames.delete', { params: { hostname } });
    await bound(platform, other);
    await restore(backup);
    expect(await routes(platform)).toEqual([]);
  });

  test('that was switched off stays off, and one that was only claimed again has to be proven', async () => {
    const { platform, scope, backUp, restore } = await open();
    const vouch = (hostname: string, status: string) =>
      platform.call('hostnames.set-status', { body: { hostname, status } });
    for (const hostname of ['off.example', 'again.example']) {
      await bound(platform, scope, hostname);
      await vouch(hostname, 'active');
    }
    const backup = await backUp();
    await vouch('off.example', 'disabled');
    await platform.call('hostnames.delete', { params: { hostname: 'again.example' } });
    await bound(platform, scope, 'again.example');
    await restore(backup);
    const states = (await items<HostnameRecord>(platform, 'hostnames.list')).map((each) => [
      each.hostname,
      each.status,
      each.verification.method,
    ]);
    expect(states).toEqual([
      ['again.example', 'pending', null],
      ['off.example', 'disabled', 'staff'],
    ]);
  });

  test('that another tenant has proven since is not the first one’s again', async () => {
    const { platform, world, scope, backUp, restore } = await open();
    const beta = await platform.scope((await platform.tenant('beta')).id);
    const hostname = 'shop.acme.example';
    const publish = ({ verification: { challenge } }: HostnameRecord) => {
      if (!challenge) return expect.fail('there is no challenge');
      world.pages.set(challenge.http.url, new Response(challenge.http.body));
      world.txt.set(challenge.dns.name, [challenge.dns.value]);
    };
    const verify = (of: ScopeRecord, method: string) =>
      platform.value('hostnames.verify', { body: { hostname, tenant: of.tenant, method } });
    publish(await platform.hostname(scope, hostname));
    expect(await verify(scope, 'http')).toMatchObject({ verified: true });
    const backup = await backUp();
    publish(await platform.hostname(beta, hostname));
    expect(await verify(beta, 'dns')).toMatchObject({ verified: true });
    await restore(backup);
    expect(await routes(platform)).toEqual([]);
    expect(await items(platform, 'hostnames.list')).toMatchObject([
      { tenant: scope.tenant, status: 'failed', verification: { reason: 'taken_over' } },
    ]);
  });
});

describe('a tenant and a scope', () => {
  const setTenant = (platform: Platform, tenant: string, status: string) =>
    platform.call('tenants.set-status', { params: { tenant }, body: { status } });

  test.each(['suspended', 'deleting'])('a tenant that is %s since stays so', async (status) => {
    const { platform, tenant, backUp, restore } = await open();
    const backup = await backUp();
    await setTenant(platform, tenant, status);
    expect((await restore(backup)).keptAway).toEqual([{ action: 'tenants.set-status', count: 1 }]);
    expect(await platform.value('tenants.get', { params: { tenant } })).toMatchObject({ status });
  });

  test('a tenant that was suspended and let in again since is active', async () => {
    const { platform, tenant, backUp, restore } = await open();
    const backup = await backUp();
    await setTenant(platform, tenant, 'suspended');
    await setTenant(platform, tenant, 'active');
    expect((await restore(backup)).keptAway).toEqual([]);
    expect(await platform.value('tenants.get', { params: { tenant } })).toMatchObject({ status: 'active' });
  });

  test('what the backup withholds more strictly stays as strict', async () => {
    const { platform, tenant, backUp, restore } = await open();
    await setTenant(platform, tenant, 'deleting');
    const backup = await backUp();
    await setTenant(platform, tenant, 'active');
    await setTenant(platform, tenant, 'suspended');
    await restore(backup);
    expect(await platform.value('tenants.get', { params: { tenant } })).toMatchObject({ status: 'deleting' });
  });

  test.each(['suspended', 'archived'])('a scope that is %s since stays so', async (status) => {
    const { platform, tenant, scope, backUp, restore } = await open();
    const params = { tenant, scope: scope.id };
    const backup = await backUp();
    await platform.call('scopes.set-status', { params, body: { status } });
    await restore(backup);
    expect(await platform.value('scopes.get', { params })).toMatchObject({ status });
  });

  test('a scope that was reaped stays reaped also where an earlier restore had forgotten its tenant', async () => {
    const { platform, backUp, restore } = await open();
    const empty = await backUp();
    const { id: tenant } = await platform.tenant('late');
    const scope = await platform.scope(tenant);
    const backup = await backUp();
    const params = { tenant, scope: scope.id };
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
    await restore(empty);
    await restore(backup);
    expect(await platform.value('scopes.get', { params })).toMatchObject({ status: 'reaped' });
  });
});

test('grants, identities, entitlements, roles and blocks are as staff left them', async () => {
  const { platform, tenant, backUp, restore } = await open();
  const slug = await register(platform);
  const put = (name: Parameters<Platform['call']>[0], params: object, body: object = {}) =>
    platform.call(name, { params: { ...params }, body: { ...body } });
  await put('email-sender.put', { slug });
  await put('tenant-provisioner.put', { slug });
  const identity = await platform.value<{ id: string }>('identities.add', {
    params: { tenant },
    body: { kind: 'issuer', issuer: 'https://acme.example.com' },
  });
  await put('entitlements.put', { tenant, key: 'seats' }, { quota: 5 });
  for (const key of ['gone', 'less'])
    await put('roles.put', { key }, { name: key, permissions: ['order.read', 'order.write'] });
  const backup = await backUp();

  await platform.call('email-sender.delete', { params: { slug } });
  await platform.call('tenant-provisioner.delete', { params: { slug } });
  await platform.call('identities.remove', { params: { tenant, identity: identity.id } });
  await platform.call('entitlements.delete', { params: { tenant, key: 'seats' } });
  await platform.call('roles.delete', { params: { key: 'gone' } });
  await put('roles.put', { key: 'less' }, { name: 'less', permissions: ['order.read'] });
  await put('install-blocks.put', { slug }, { reason: 'It loses data.' });

  expect((await restore(backup)).keptAway.map(({ action }) => action)).toEqual([
    'email-sender.delete',
    'entitlements.delete',
    'identities.remove',
    'install-blocks.put',
    'roles.delete',
    'roles.put',
    'tenant-provisioner.delete',
  ]);
  for (const grant of ['email-sender.get', 'tenant-provisioner.get'] as const)
    expect(await platform.value(grant, { params: { slug } })).toMatchObject({ granted: false });
  expect(await items(platform, 'identities.list', { tenant })).toEqual([]);
  expect(await items(platform, 'entitlements.list', { tenant })).toEqual([]);
  expect(await items(platform, 'roles.list')).toMatchObject([{ key: 'less', permissions: ['order.read'] }]);
  expect(await platform.value('install-blocks.get', { params: { slug } })).toMatchObject({
    blocked: true,
    by: 'platform',
    reason: 'It loses data.',
  });
});

test('an entitlement that was put since has no more than it has now', async () => {
  const { platform, tenant, backUp, restore } = await open();
  const [SOON, LATER] = ['2027-01-01T00:00:00.000Z', '2028-01-01T00:00:00.000Z'];
  const put = (key: string, body: object) =>
    platform.call('entitlements.put', { params: { tenant, key }, body: { ...body } });
  await put('fewer', { quota: 5 });
  await put('more', { quota: 5 });
  await put('limited', {});
  await put('sooner', { expiresAt: LATER });
  await put('unended', { expiresAt: SOON });
  await put('changed', { plan: 'pro', quota: 5 });
  const backup = await backUp();
  await put('fewer', { quota: 3 });
  await put('more', { quota: 9 });
  await put('limited', { quota: 7, expiresAt: SOON });
  await put('sooner', { expiresAt: SOON });
  await put('unended', {});
  await put('changed', { plan: 'basic', quota: 5 });
  const plan = await platform.value('directory.restore', {
    query: { dryRun: true },
    body: { backup: backup.id },
  });
  const named = ['fewer', 'limited', 'sooner', 'changed'].map((other) => ({
    action: 'entitlements.put',
    other,
  }));
  expect(plan).toMatchObject({ keptAway: { count: 4, items: named } });

  expect((await restore(backup)).keptAway).toEqual([{ action: 'entitlements.put', count: 4 }]);
  const left = await items<{ key: string; plan: string; quota: number; expiresAt: string }>(
    platform,
    'entitlements.list',
    { tenant },
  );
  expect(left.map((each) => [each.key, each.plan, each.quota, each.expiresAt])).toEqual([
    ['changed', 'basic', 5, null],
    ['fewer', null, 3, null],
    ['limited', null, 7, SOON],
    ['more', null, 5, null],
    ['sooner', null, null, SOON],
    ['unended', null, null, SOON],
  ]);
});

describe('a version that was rejected since', () => {
  test('runs nowhere: nothing serves until staff promote, and scopes that were bound to it are let go', async () => {
    const { platform, tenant, scope, backUp, restore } = await open();
    const slug = 'fieldwork';
    await platform.call('verticals.create', { body: { slug, name: 'Fieldwork' } });
    const first = await admitted(platform, slug, '1.0.0');
    const good = await admitted(platform, slug, '1.1.0');
    await promote(platform, slug, { version: '1.0.0' });
    const params = { tenant, scope: scope.id };
    await platform.call('scope-version.set', { params, body: { id: first.id, snapshot: false } });
    const backup = await backUp();
    await promote(platform, slug, { version: '1.1.0' });
    await platform.call('scope-version.set', { params, body: { id: good.id, snapshot: false } });
    await platform.call('vertical-versions.reject', {
      params: { slug, id: first.id },
      body: { note: 'It loses data.' },
    });
    expect((await restore(backup)).keptAway).toEqual([{ action: 'vertical-versions.reject', count: 1 }]);
    const [rejected] = await items<{ status: string; note: string }>(
      platform,
      'vertical-versions.list',
      { slug },
      { status: 'rejected' },
    );
    expect(rejected).toMatchObject({ version: '1.0.0', note: 'It loses data.' });
    expect(await items(platform, 'channels.list', { slug })).toMatchObject([{ version: null }]);
    expect(await platform.value('scope-version.get', { params })).toMatchObject({ bound: false });
  });

  test('and admitted again serves again', async () => {
    const { platform, backUp, restore } = await open();
    const slug = await register(platform);
    const { id } = await admitted(platform, slug, '1.0.0');
    await admitted(platform, slug, '1.1.0');
    await promote(platform, slug, { version: '1.0.0' });
    const backup = await backUp();
    await promote(platform, slug, { version: '1.1.0' });
    await platform.call('vertical-versions.reject', { params: { slug, id }, body: {} });
    await platform.call('vertical-versions.admit', { params: { slug, id }, body: {} });
    expect((await restore(backup)).keptAway).toEqual([]);
    expect(await items(platform, 'channels.list', { slug })).toMatchObject([{ version: '1.0.0' }]);
  });
});

test('a vertical that was made private since is not published again', async () => {
  const { platform, backUp, restore } = await open();
  const slug = await register(platform);
  await admitted(platform, slug, '1.0.0');
  await promote(platform, slug, { version: '1.0.0' });
  const listing = { title: 'Floorplan', summary: '', description: '' };
  const list = (tier: string) =>
    platform.call('listings.put', { params: { slug }, body: { ...listing, tier } });
  await list('published');
  const backup = await backUp();
  await list('private');
  await restore(backup);
  expect(await platform.value('listings.get', { params: { slug } })).toMatchObject({ tier: 'private' });
});

test('what was given back since comes back', async () => {
  const { platform, tenant, backUp, restore } = await open();
  const slug = await register(platform);
  const body = { kind: 'issuer', issuer: 'https://acme.example.com' };
  const add = () => platform.value<{ id: string }>('identities.add', { params: { tenant }, body });
  const { id } = await add();
  await platform.call('email-sender.put', { params: { slug }, body: {} });
  const backup = await backUp();
  await platform.call('identities.remove', { params: { tenant, identity: id } });
  await add();
  await platform.call('email-sender.delete', { params: { slug } });
  await platform.call('email-sender.put', { params: { slug }, body: {} });
  await platform.call('install-blocks.put', { params: { slug }, body: { reason: 'Wait.' } });
  await platform.call('install-blocks.delete', { params: { slug } });
  expect((await restore(backup)).keptAway).toEqual([]);
  expect(await items(platform, 'identities.list', { tenant })).toMatchObject([{ id }]);
  expect(await platform.value('email-sender.get', { params: { slug } })).toMatchObject({ granted: true });
});

test('what was deleted before the backup, and put again, comes back', async () => {
  const { platform, tenant, backUp, restore } = await open();
  const key = 'seats';
  const put = () => platform.call('entitlements.put', { params: { tenant, key }, body: { quota: 5 } });
  await put();
  await platform.call('entitlements.delete', { params: { tenant, key } });
  await put();
  const backup = await backUp();
  expect((await restore(backup)).keptAway).toEqual([]);
  expect(await items(platform, 'entitlements.list', { tenant })).toHaveLength(1);
});

test('a backup that was deleted is not listed again, and a snapshot neither', async () => {
  const { platform, tenant, scope, backUp, restore } = await open();
  platform.reach = 'local';
  const params = { tenant, scope: scope.id };
  const old = await backUp();
  const snapshot = await platform.value<{ id: string }>('snapshots.take', { params, body: {} });
  const backup = await backUp();
  await platform.call('directory-backups.delete', { params: { backup: old.id } });
  await platform.call('snapshots.delete', { params: { ...params, snapshot: snapshot.id } });
  await restore(backup);
  const left = (await items<BackupRecord>(platform, 'directory-backups.list')).map(({ id }) => id);
  expect(left).toEqual([backup.id]);
  expect(await items(platform, 'snapshots.list', params)).toEqual([]);
});
