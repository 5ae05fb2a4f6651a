/** A credential that was taken away since a backup of the directory works in no restored one (requirement C-19). */
import { describe, expect, test } from 'vitest';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform } from '../../test/platform.ts';
import { invite, signIn } from '../../test/staff.ts';
import type { BackupRecord, ConnectionRecord, StaffRecord } from '../admin-operations.ts';

async function open() {
  const platform = await openPlatform({
    backups: makeMemoryBackups(),
    connections: makeKeyProvider().options,
  });
  const backUp = async () =>
    (await platform.finish(platform.call('directory-backups.create', { body: {} }))).result as BackupRecord;
  const restore = async ({ id }: BackupRecord) => {
    const { problem } = await platform.finish(platform.call('directory.restore', { body: { backup: id } }));
    expect(problem).toBeNull();
  };
  return { platform, backUp, restore };
}

async function connected(platform: Platform, slug: string) {
  const { id: tenant } = await platform.tenant(slug);
  const scope = await platform.scope(tenant);
  const { id: connection } = await platform.value<ConnectionRecord>('connections.create', {
    params: { tenant },
    body: { provider: 'ledger', scope: scope.id, subjectRef: 'books', apiKey: 'key-of-ada-1' },
  });
  const params = { tenant, connection };
  await platform.call('connection-grants.put', {
    params,
    body: { scope: scope.id, permission: 'order.read' },
  });
  const look = () => platform.value<ConnectionRecord>('connections.get', { params });
  const grants = async () =>
    (await platform.value<{ items: unknown[] }>('connection-grants.list', { params })).items.length;
  return { params, look, grants };
}

/** The number of credentials in the directory. */
async function credentials(platform: Platform): Promise<number> {
  let count = -1;
  await platform.tamper((database) => {
    count = (database.prepare('SELECT count(*) AS n FROM connection_credentials').get() as { n: number }).n;
  });
  return count;
}

describe('a connection', () => {
  test('that was disconnected since stays so, without credential or grants', async () => {
    const { platform, backUp, restore } = await open();
    const { params, look, grants } = await connected(platform, 'acme');
    const backup = await backUp();
    await platform.call('connections.disconnect', { params });
    await restore(backup);
    expect(await look()).toMatchObject({ state: 'disconnected', reason: 'revocation_unsupported' });
    expect(await grants()).toBe(0);
    expect(await credentials(platform)).toBe(0);
  });

  test('stays disconnected also where an earlier restore had forgotten it', async () => {
    const { platform, backUp, restore } = await open();
    const empty = await backUp();
    const { params, look } = await connected(platform, 'acme');
    const backup = await backUp();
    await platform.call('connections.disconnect', { params });
    await restore(empty);
    await restore(backup);
    expect(await look()).toMatchObject({ state: 'disconnected' });
    expect(await credentials(platform)).toBe(0);
  });

  test('keeps the credential and the grants that it has now', async () => {
    const { platform, backUp, restore } = await open();
    const { params, look, grants } = await connected(platform, 'acme');
    const backup = await backUp();
    const fingerprint = async () =>
      (await platform.value<{ fingerprint: string }>('connections.credential', { params })).fingerprint;
    const stolen = await fingerprint();
    await platform.call('connections.rotate', { params, body: { apiKey: 'key-of-ada-1-new' } });
    const fresh = await fingerprint();
    await platform.call('connection-grants.delete', { params, query: { scope: (await look()).scope } });
    await restore(backup);
    expect(fresh).not.toBe(stolen);
    expect(await fingerprint()).toBe(fresh);
    expect(await look()).toMatchObject({ state: 'active' });
    expect(await grants()).toBe(0);
  });
});

test('a token that was revoked since works in no restored directory, however it was restored', async () => {
  const { platform, backUp, restore } = await open();
  const empty = await backUp();
  const { id: tenant } = await platform.tenant('acme');
  const make = (name: string) =>
    platform.value<{ token: { id: string }; secret: string }>('push-tokens.create', {
      body: { name, tenant },
    });
  const [revoked, rotated, good] = [await make('revoked'), await make('rotated'), await make('good')];
  const backup = await backUp();
  await platform.call('push-tokens.revoke', { params: { token: revoked.token.id } });
  await platform.call('push-tokens.rotate', {
    params: { token: rotated.token.id },
    body: { overlapHours: 1 },
  });
  await restore(empty);
  await restore(backup);
  platform.clock.ms += 2 * 3_600_000;
  expect(await platform.admin.authenticate(revoked.secret)).toBeNull();
  expect(await platform.admin.authenticate(rotated.secret)).toBeNull();
  expect(await platform.admin.authenticate(good.secret)).not.toBeNull();
});

test('a member who was removed is not put back where the roster is empty', async () => {
  const { platform, backUp, restore } = await open();
  const { id: member } = await invite(platform, { login: 'eve', role: 'admin' });
  await signIn(platform, 'eve');
  const backup = await backUp();
  await platform.call('staff.remove', { params: { member } });
  await restore(backup);
  expect((await platform.value<{ items: StaffRecord[] }>('staff.list')).items).toEqual([]);
  expect(await signIn(platform, 'eve', { sid: 'sid-again' })).toEqual({ refused: 'not_on_roster' });
});

test('a member who changed sides and left is not put back as what they were before', async () => {
  const { platform, backUp, restore } = await open();
  const { id: tenant } = await platform.tenant('acme');
  await invite(platform, { login: 'eve', role: 'admin' });
  await signIn(platform, 'eve');
  const backup = await backUp();
  const { id: member } = await invite(platform, { login: 'eve', role: 'builder', tenant });
  await platform.call('staff.remove', { params: { member } });
  await restore(backup);
  expect((await platform.value<{ items: StaffRecord[] }>('staff.list')).items).toEqual([]);
  expect(await signIn(platform, 'eve', { sid: 'sid-again' })).toEqual({ refused: 'not_on_roster' });
});

test('what the directory kept of a scope that was reaped since does not come back', async () => {
  const { platform, backUp, restore } = await open();
  const { id: tenant } = await platform.tenant('acme');
  const scope = await platform.scope(tenant);
  const params = { tenant, scope: scope.id };
  await platform.call('snapshots.take', { params, body: {} });
  const backup = await backUp();
  await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
  await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
  await restore(backup);
  await platform.tamper((database) => {
    expect(database.prepare('SELECT count(*) AS n FROM snapshots').get()).toEqual({ n: 0 });
  });
});

test('scopes hear of the roles that are true now, not of those that were given since', async () => {
  const { platform, backUp, restore } = await open();
  const { id: tenant } = await platform.tenant('acme');
  await platform.scope(tenant);
  const backup = await backUp();
  await platform.call('roles.put', {
    params: { key: 'helper' },
    body: { name: 'Helper', permissions: ['order.read'] },
  });
  await restore(backup);
  const { delivery } = await platform.value<{ delivery: { pendingScopes: number } }>('roles.list');
  expect(delivery).toEqual({ pendingScopes: 1 });
});
