/** A restored directory brings no revoked state back (requirement C-03). */
import { expect, test } from 'vitest';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform } from '../../test/platform.ts';
import type { AdminOperationName, BackupRecord, OperationRecord } from '../admin-operations.ts';

test('C-03: a tenant that was reaped since stays erased, and scopes hear what is true now', async () => {
  const platform = await openPlatform({
    connections: makeKeyProvider().options,
    backups: makeMemoryBackups(),
  });
  const worked = async (name: AdminOperationName, parts: object): Promise<OperationRecord> => {
    const record = await platform.finish(platform.call(name, parts));
    expect(record.problem).toBeNull();
    return record;
  };
  const fixture = async (slug: string) => {
    const { id: tenant } = await platform.tenant(slug);
    const scope = await platform.scope(tenant);
    await platform.hostname(scope, `${slug}.localhost`);
    await platform.call('connections.create', {
      params: { tenant },
      body: { provider: 'ledger', scope: scope.id, subjectRef: 'books', apiKey: `key-of-${slug}-1` },
    });
    await platform.call('identities.add', {
      params: { tenant },
      body: { kind: 'issuer', issuer: `https://${slug}.example.com` },
    });
    await platform.call('entitlements.put', { params: { tenant, key: 'seats' }, body: { quota: 5 } });
    return { tenant, scope };
  };
  const ours = await fixture('acme');
  const theirs = await fixture('globex');
  const { result } = await worked('directory-backups.create', { body: {} });

  // Since then one tenant has ended, and another has fewer seats.
  await platform.call('tenants.set-status', {
    params: { tenant: ours.tenant },
    body: { status: 'deleting' },
  });
  await worked('tenants.reap', { params: { tenant: ours.tenant }, body: {} });
  await platform.call('entitlements.put', {
    params: { tenant: theirs.tenant, key: 'seats' },
    body: { quota: 3 },
  });
  const told = () => platform.fieldwork.entitled.get(theirs.scope.id);
  const before = told()?.revision ?? 0;
  expect(told()?.items.seats?.quota).toBe(3);

  await worked('directory.restore', { body: { backup: (result as BackupRecord).id } });
  const items = async (name: AdminOperationName, tenant: string) =>
    (
      await platform.value<{ items: unknown[] }>(
        name,
        name === 'hostnames.list' ? { query: { tenant } } : { params: { tenant } },
      )
    ).items;
  for (const name of ['connections.list', 'identities.list', 'entitlements.list', 'hostnames.list'] as const)
    expect([name, await items(name, ours.tenant), (await items(name, theirs.tenant)).length]).toEqual([
      name,
      [],
      1,
    ]);
  await platform.tamper((database) => {
    const left = database.prepare('SELECT count(*) AS n FROM connection_credentials').get() as { n: number };
    expect(left.n).toBe(1);
  });

  // The backup says five, and three stay: the scope, which has heard of three since, hears so in a newer revision.
  await platform.admin.entitlements.deliver();
  expect(told()?.items.seats?.quota).toBe(3);
  expect(told()?.revision).toBeGreaterThan(before);
});
