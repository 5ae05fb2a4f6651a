/** Spec C-04: a listener for routes learns the subject of a change, and no more than that. */
import { expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform } from '../../test/platform.ts';
import { admitted, manifestOf, promote } from '../../test/registry.ts';
import type { BackupRecord } from '../admin-operations.ts';
import type { RoutesChange } from '../index.ts';

async function open() {
  const platform = await openPlatform({ backups: makeMemoryBackups() });
  const tenant = await platform.tenant('acme');
  const heard: RoutesChange[] = [];
  platform.admin.onRoutesChanged((change) => heard.push(change));
  return { platform, tenant, heard };
}

test('a change of a scope is about that scope', async () => {
  const { platform, tenant, heard } = await open();
  const scope = await platform.scope(tenant.id);
  await platform.hostname(scope, 'acme.localhost');
  const params = { tenant: tenant.id, scope: scope.id };
  await platform.call('scopes.set-status', { params, body: { status: 'suspended' } });
  const about = { tenant: tenant.id, scope: scope.id, vertical: 'fieldwork' };
  expect(heard).toEqual([about, about, about]);
});

test('a change of a tenant is about all of its scopes, and about no other tenant', async () => {
  const { platform, tenant, heard } = await open();
  const params = { tenant: tenant.id };
  await platform.call('tenants.set-status', { params, body: { status: 'suspended' } });
  expect(heard).toEqual([{ tenant: tenant.id, scope: null, vertical: null }]);
});

test('a change of the served version is about the vertical, whatever its owner', async () => {
  const { platform, tenant, heard } = await open();
  await platform.call('verticals.create', { body: { slug: 'tools', name: 'Tools', ownerTenant: tenant.id } });
  await admitted(platform, 'tools', '1.0.0');
  await promote(platform, 'tools', { version: '1.0.0' });
  await platform.admin.registerBuiltIn({ manifest: manifestOf('fieldwork', '1.0.0'), migrations: [] });
  expect(heard).toEqual([
    { tenant: null, scope: null, vertical: 'tools' },
    { tenant: null, scope: null, vertical: 'fieldwork' },
  ]);
});

test('a restore of the directory is about everything, and work that ended is about what it was done to', async () => {
  const { platform, tenant, heard } = await open();
  const params = { tenant: tenant.id, scope: (await platform.scope(tenant.id)).id };
  await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
  heard.length = 0;
  const { result } = await platform.finish(platform.call('directory-backups.create', { body: {} }));
  await platform.finish(platform.call('scopes.reap', { params, body: {} }));
  expect(heard).toEqual([{ ...params, vertical: 'fieldwork' }]);
  await platform.finish(
    platform.call('directory.restore', { body: { backup: (result as BackupRecord).id } }),
  );
  expect(heard[1]).toEqual({ tenant: null, scope: null, vertical: null });
});

test('a change without routes reaches no listener', async () => {
  const { platform, heard } = await open();
  await platform.tenant('globex');
  expect(heard).toEqual([]);
});
