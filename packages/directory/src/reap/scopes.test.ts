/** A reaped scope leaves a tombstone, logs, bills and backups, and nothing else that names it (requirement C-04). */
import type { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform } from '../../test/platform.ts';
import type { BackupRecord, ConnectionRecord, ScopeRecord } from '../admin-operations.ts';

async function open() {
  const platform = await openPlatform({
    backups: makeMemoryBackups(),
    connections: makeKeyProvider().options,
  });
  platform.reach = 'local';
  const { id: tenant } = await platform.tenant('acme');
  const scope = await platform.scope(tenant);
  const other = await platform.scope(tenant, 'second');
  const connect = (of: ScopeRecord, apiKey: string, subjectRef = 'books') =>
    platform.value<ConnectionRecord>('connections.create', {
      params: { tenant },
      body: { provider: 'ledger', scope: of.id, subjectRef, apiKey },
    });
  const grant = (connection: ConnectionRecord, to: ScopeRecord) =>
    platform.call('connection-grants.put', {
      params: { tenant, connection: connection.id },
      body: { scope: to.id, permission: 'order.read' },
    });
  const reap = async (query = {}) => {
    const params = { tenant, scope: scope.id };
    if ((await platform.value<ScopeRecord>('scopes.get', { params })).status === 'active')
      await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    const called = await platform.call('scopes.reap', { params, query, body: { backup: true } });
    if (called.status === 200) return called.value;
    const { state, result } = await platform.finish(called);
    expect(state).toBe('done');
    return result;
  };
  const connections = async () =>
    (await platform.value<{ items: ConnectionRecord[] }>('connections.list', { params: { tenant } })).items;
  return { platform, tenant, scope, other, connect, grant, reap, connections };
}

/** The tables in which any column of any row holds this text. */
function mentions(database: DatabaseSync, text: string): string[] {
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .all() as { name: string }[];
  return tables
    .filter(({ name }) =>
      database
        .prepare(`SELECT * FROM "${name}"`)
        .all()
        .some((row) => Object.values(row).some((value) => typeof value === 'string' && value.includes(text))),
    )
    .map(({ name }) => name)
    .sort();
}

async function tablesWith(platform: Platform, text: string): Promise<string[]> {
  let found: string[] = [];
  await platform.tamper((database) => {
    found = mentions(database, text);
  });
  return found;
}

/** Logs, usage lines, chosen backups, and answers that are repeated for a day. */
const STAYS = [
  // The floor that says that it was reaped.
  'revocations',
  ...['scopes', 'admin_log', 'access_log', 'operations', 'operation_steps', 'backups', 'erasures'],
  ...[
    'ops_failures',
    'sweep_runs',
    'meter_days',
    'model_usage_lines',
    'model_usage_days',
    'idempotency_keys',
  ],
];

test('spec C-04: after a reap nothing but the tombstone, logs, bills and backups names the scope', async () => {
  const { platform, tenant, scope, other, connect, grant, reap } = await open();
  const params = { tenant, scope: scope.id };
  await platform.hostname(scope, 'acme.localhost');
  await platform.call('snapshots.take', { params, body: {} });
  await platform.call('entitlements.put', { params: { tenant, key: 'seats' }, body: { quota: 5 } });
  await platform.call('roles.put', {
    params: { key: 'helper' },
    body: { name: 'Helper', permissions: ['order.read'] },
  });
  await grant(await connect(scope, 'key-of-ada-1'), scope);
  const shared = await connect(scope, 'key-of-ada-2', 'shared');
  await grant(shared, scope);
  await grant(shared, other);
  await grant(await connect(other, 'key-of-ada-3', 'theirs'), scope);
  await platform.tamper((database) => {
    database
      .prepare(
        `INSERT INTO connect_rounds (id, state_hash, tenant, scope, vertical, provider, created_by, subject_ref,
           return_url, expires_at, ended_at) VALUES ('rnd_1', 'h', ?, ?, 'fieldwork', 'ledger', 'p', 's', 'u', 1, NULL)`,
      )
      .run(tenant, scope.id);
    database
      .prepare('INSERT INTO role_outbox (scope, due_at) VALUES (?, 1) ON CONFLICT DO NOTHING')
      .run(scope.id);
  });
  const before = await tablesWith(platform, scope.id);
  expect(before).toEqual(
    expect.arrayContaining(['connect_rounds', 'connection_grants', 'connections', 'hostnames', 'snapshots']),
  );
  await reap();
  expect((await tablesWith(platform, scope.id)).filter((name) => !STAYS.includes(name))).toEqual([]);
  const floors = platform.look((database) =>
    database.prepare("SELECT kind FROM revocations WHERE target || floor LIKE '%' || ? || '%'").all(scope.id),
  );
  expect(floors).toEqual([{ kind: 'scope' }]);
});

test('a connection that acts nowhere else is disconnected; one that acts in another scope belongs to that', async () => {
  const { platform, tenant, scope, other, connect, grant, reap, connections } = await open();
  const own = await connect(scope, 'key-of-ada-1');
  await grant(own, scope);
  const shared = await connect(scope, 'key-of-ada-2', 'shared');
  await grant(shared, other);
  expect(await reap({ dryRun: true })).toMatchObject({ connections: [own.id] });
  expect(await reap()).toMatchObject({ connections: { disconnected: [own.id], moved: [shared.id] } });
  expect(await connections()).toMatchObject([{ id: shared.id, scope: other.id, state: 'active' }]);
  const params = { tenant, connection: shared.id };
  expect(await platform.value('connection-grants.list', { params })).toMatchObject({
    items: [{ scope: other.id }],
  });
  await platform.tamper((database) => {
    const left = database.prepare('SELECT connection FROM connection_credentials').all();
    expect(left).toEqual([{ connection: shared.id }]);
  });
  expect((await platform.adminLog({ action: 'scopes.reap' })).at(-1)?.after).toMatchObject({
    connections: { disconnected: [own.id], moved: [shared.id] },
  });
});

test('a connection that went with its scope does not come back with the directory', async () => {
  const { platform, scope, connect, grant, reap, connections } = await open();
  await grant(await connect(scope, 'key-of-ada-1'), scope);
  const taken = await platform.finish(platform.call('directory-backups.create', { body: {} }));
  await reap();
  const { id: backup } = taken.result as BackupRecord;
  const restored = await platform.finish(platform.call('directory.restore', { body: { backup } }));
  expect(restored.problem).toBeNull();
  expect(await connections()).toEqual([]);
  expect((await tablesWith(platform, scope.id)).filter((name) => !STAYS.includes(name))).toEqual([]);
});

test('nor does one that the backup knows in another scope too, which it had left before the reap', async () => {
  const { platform, tenant, scope, other, connect, grant, reap, connections } = await open();
  const own = await connect(scope, 'key-of-ada-1');
  await grant(own, other);
  const taken = await platform.finish(platform.call('directory-backups.create', { body: {} }));
  await platform.call('connection-grants.delete', {
    params: { tenant, connection: own.id },
    query: { scope: other.id },
  });
  expect(await reap()).toMatchObject({ connections: { disconnected: [own.id], moved: [] } });
  const { id: backup } = taken.result as BackupRecord;
  await platform.finish(platform.call('directory.restore', { body: { backup } }));
  expect((await connections()).filter(({ state }) => state !== 'disconnected')).toEqual([]);
  await platform.tamper((database) => {
    expect(database.prepare('SELECT * FROM connection_credentials').all()).toEqual([]);
    expect(database.prepare('SELECT * FROM connection_grants').all()).toEqual([]);
  });
});
