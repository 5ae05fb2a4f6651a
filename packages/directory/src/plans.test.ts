/**
 * Spec C-09: a plan says what the call would touch, refuses what the call would refuse, and leaves everything as it was.
 * What the plans of a restore, a rewind and an erasure learn from a scope: `test/real-scope.test.ts`.
 */
import type { DatabaseSync } from 'node:sqlite';
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeKeyProvider } from '../test/key-provider.ts';
import { makeMemoryBackups } from '../test/memory-backups.ts';
import { type CallParts, openPlatform, type Platform, refusal } from '../test/platform.ts';
import { admitted, migrationOf, openApp, promote } from '../test/registry.ts';
import { staffMember, staffToken } from '../test/staff.ts';
import type {
  AdminOperationName,
  BackupRecord,
  ConnectionRecord,
  OperationRecord,
} from './admin-operations.ts';
import { adminOperations } from './admin-operations.ts';

const DRY = { dryRun: true };
const OTHER_SCOPE = 'scp_01jd0000000000000000000009';

/** A platform with one of everything that can be taken away, and a second tenant that nothing may be said about. */
async function openWorld() {
  const store = makeMemoryBackups();
  const platform = await openPlatform({
    backups: store,
    connections: makeKeyProvider().options,
    baseDomains: ['apps.example'],
  });
  // Snapshots are deleted by a host in this process; everything else is asked of the worker.
  platform.reach = 'both';
  const { value, finish, call } = platform;
  const acme = await platform.tenant('acme');
  const other = await platform.tenant('other');
  const scope = await platform.scope(acme.id);
  const foreign = await platform.scope(other.id);
  const at = { tenant: acme.id, scope: scope.id };
  for (const name of ['a.apps.example', 'b.apps.example']) await platform.hostname(scope, name);
  await platform.hostname(foreign, 'c.apps.example');
  await call('push-tokens.create', { body: { name: 'ci', tenant: acme.id } });
  const snapshot = await value<{ id: string }>('snapshots.take', { params: at, body: {} });
  const backUp = async (name: AdminOperationName, params: Record<string, unknown> = {}) =>
    (await finish(call(name, { params, body: {} }))).result as BackupRecord;
  const backup = await backUp('scope-backups.create', at);
  platform.clock.ms += 1000;
  const directory = await backUp('directory-backups.create');
  const connect = (params: Record<string, unknown>, of: string) =>
    value<ConnectionRecord>('connections.create', {
      params,
      body: { provider: 'ledger', scope: of, subjectRef: 'the books', apiKey: 'key-of-ada-1' },
    });
  const connection = await connect({ tenant: acme.id }, scope.id);
  await call('connection-grants.put', {
    params: { tenant: acme.id, connection: connection.id },
    body: { scope: scope.id, permission: 'order.complete' },
  });
  const { id: member } = await staffMember(platform, { login: 'eve', role: 'admin' });
  await staffToken(platform, member);
  await call('service-tokens.create', {
    body: { name: 'nightly' },
    as: { kind: 'staff', id: member, name: 'eve', role: 'admin' },
  });
  await openApp(platform, acme.id, 'crm');
  await call('install-blocks.delete', { params: { slug: 'crm' }, as: platform.builder(acme.id) });
  await admitted(platform, 'crm', '1.2.0', { migrations: [migrationOf(1)] });
  return { platform, acme, other, scope, foreign, at, snapshot, backup, directory, connection, member };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** The call of each operation, and what its plan says of this world. */
const CALLS: readonly [AdminOperationName, (world: World) => CallParts, (world: World) => object][] = [
  [
    'tenants.set-status',
    ({ acme }) => ({ params: { tenant: acme.id }, body: { status: 'suspended' } }),
    ({ acme }) => ({
      tenant: acme.id,
      slug: 'acme',
      from: 'active',
      to: 'suspended',
      effect: 'stops',
      counts: { scopes: 1, hostnames: 2, pushTokens: 1, builders: 0 },
    }),
  ],
  [
    'scopes.set-status',
    ({ at }) => ({ params: at, body: { status: 'archived' } }),
    ({ scope }) => ({
      scope: scope.id,
      from: 'active',
      to: 'archived',
      effect: 'stops',
      hostnames: ['a.apps.example', 'b.apps.example'],
      connections: 1,
    }),
  ],
  [
    'scopes.restore',
    ({ at, backup }) => ({ params: at, body: { from: { backup: backup.id } } }),
    ({ scope, backup: { id, at, bytes, sha256, bookmark } }) => ({
      scope: scope.id,
      from: { kind: 'backup', id, at, bytes, format: 'ndjson', sha256, bookmark },
      since: at,
      commits: { count: 1, more: false },
      undo: true,
    }),
  ],
  [
    'scopes.rewind',
    ({ at }) => ({ params: at, body: { bookmark: 'bm_1' } }),
    ({ scope }) => ({
      scope: scope.id,
      to: { bookmark: 'bm_1' },
      seconds: 0,
      commits: { count: 0 },
      undo: true,
    }),
  ],
  [
    'snapshots.delete',
    ({ at, snapshot }) => ({ params: { ...at, snapshot: snapshot.id } }),
    ({ snapshot }) => ({ snapshot, others: 0, backups: 1 }),
  ],
  [
    'scope-backups.delete',
    ({ at, backup }) => ({ params: { ...at, backup: backup.id } }),
    ({ backup }) => ({ backup, others: 0, newest: null }),
  ],
  [
    'directory-backups.delete',
    ({ directory }) => ({ params: { backup: directory.id } }),
    ({ directory }) => ({ backup: directory, others: 0, newest: null }),
  ],
  [
    'session-secret.rotate',
    ({ at }) => ({ params: at, body: { keepFormer: false } }),
    () => ({ vertical: 'fieldwork', scopes: 1, hostnames: 2, signsOut: true }),
  ],
  [
    'subjects.shred',
    ({ at }) => ({ params: { ...at, subject: 'rdr_ada' } }),
    ({ scope }) => ({
      scope: scope.id,
      status: 'active',
      receipt: null,
      key: 'unknown',
      events: null,
      backups: 1,
      snapshots: 1,
    }),
  ],
  [
    'channels.promote',
    () => ({
      params: { slug: 'crm', channel: 'prod' },
      body: { version: '1.2.0', acknowledgeMigrations: true },
    }),
    () => ({
      channel: { version: '1.0.0' },
      version: { version: '1.2.0', status: 'admitted' },
      changes: { serving: '1.0.0', migrations: { added: [migrationOf(1)], differs: true } },
      acknowledge: true,
      instances: 0,
      bound: 0,
      uploaded: false,
    }),
  ],
  [
    'hostnames.delete',
    ({ acme }) => ({ params: { hostname: 'a.apps.example' }, query: { tenant: acme.id } }),
    () => ({ hostname: { hostname: 'a.apps.example', status: 'active' }, serves: true, others: 1 }),
  ],
  [
    'connections.disconnect',
    ({ acme, connection }) => ({ params: { tenant: acme.id, connection: connection.id } }),
    ({ connection: { id }, scope }) => ({
      connection: { id, state: 'active' },
      credential: true,
      revocable: false,
      grants: 1,
      scopes: [scope.id],
    }),
  ],
  [
    'staff.remove',
    ({ member }) => ({ params: { member } }),
    ({ member }) => ({ member: { id: member }, serviceTokens: 1, programs: 1, sessions: 1 }),
  ],
];

/** The same call, asked for its plan. */
const dry = ({ query, ...parts }: CallParts): CallParts => ({ ...parts, query: { ...query, ...DRY } });

async function contentsOf(platform: Platform): Promise<string> {
  let text = '';
  await platform.tamper((database: DatabaseSync) => {
    const tables = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .all();
    text = JSON.stringify(
      tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]),
      (_key, value) => (value instanceof Uint8Array ? [...value] : value),
    );
  });
  return text;
}

describe('a plan', () => {
  test('says what the call would touch, and how much', async () => {
    const world = await openWorld();
    for (const [operation, parts, expected] of CALLS) {
      const { status, value, head, etag } = await world.platform.call(operation, dry(parts(world)));
      expect([operation, status, head, etag]).toEqual([operation, 200, undefined, undefined]);
      expect(value, operation).toMatchObject({ dryRun: true, ...expected(world) });
      const { plan } = adminOperations[operation] as { plan?: { parse(value: unknown): unknown } };
      expect(plan?.parse(value), operation).toEqual(value);
    }
    expect(world.platform.incidents).toEqual([]);
  });

  test('leaves the directory and the vertical as they were, also with an idempotency key', async () => {
    const world = await openWorld();
    const { platform } = world;
    const before = await contentsOf(platform);
    platform.fieldwork.requests.length = 0;
    for (const [operation, parts] of CALLS)
      await platform.call(operation, { ...dry(parts(world)), key: `plan-${operation}` });
    expect(await contentsOf(platform)).toBe(before);
    const asked = platform.fieldwork.requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`);
    // A query is a POST that reads.
    expect(new Set(asked)).toEqual(
      new Set(['GET /internal/bookmarks', 'POST /internal/examine-copy', 'POST /internal/query']),
    );
    // The key was not used up: the call itself may come with it.
    const [name, parts] = CALLS[1] as (typeof CALLS)[number];
    expect(await platform.call(name, { ...parts(world), key: `plan-${name}` })).toMatchObject({
      status: 200,
      replayed: false,
    });
  });

  test('is there for every operation that is declared with one, and for no other', async () => {
    // Their own tests ask for those plans.
    const elsewhere = [
      'tenants.reap',
      'scopes.reap',
      'directory.restore',
      'fleet-migrations.run',
      'verticals.move',
      'vertical-versions.discard',
      'program-policy.put',
    ];
    const declared = Object.entries(adminOperations).flatMap(([name, operation]) =>
      'plan' in operation ? [name] : [],
    );
    expect(declared.sort()).toEqual([...CALLS.map(([name]) => name), ...elsewhere].sort());
  });
});

describe('a plan refuses what the call refuses', () => {
  const refused: [string, AdminOperationName, (world: World) => CallParts][] = [
    [
      'a state that cannot follow',
      'tenants.set-status',
      ({ acme }) => ({ params: { tenant: acme.id }, body: { status: 'active' } }),
    ],
    [
      'a tenant that is not there',
      'tenants.set-status',
      () => ({ params: { tenant: 'tnt_01jd0000000000000000000009' }, body: { status: 'suspended' } }),
    ],
    [
      'another version',
      'tenants.set-status',
      ({ acme }) => ({ params: { tenant: acme.id }, body: { status: 'suspended' }, ifMatch: '"999"' }),
    ],
    [
      'a scope’s state that cannot follow',
      'scopes.set-status',
      ({ at }) => ({ params: at, body: { status: 'active' } }),
    ],
    [
      'a scope that is not there',
      'scopes.set-status',
      ({ at }) => ({ params: { ...at, scope: OTHER_SCOPE }, body: { status: 'archived' } }),
    ],
    [
      'another version of a scope',
      'scopes.set-status',
      ({ at }) => ({ params: at, body: { status: 'archived' }, ifMatch: '"999"' }),
    ],
    [
      'a backup of another scope',
      'scopes.restore',
      ({ foreign, backup }) => ({
        params: { tenant: foreign.tenant, scope: foreign.id },
        body: { from: { backup: backup.id } },
      }),
    ],
    [
      'a backup that is no export',
      'scopes.restore',
      ({ at, backup }) => ({ params: at, body: { from: { export: backup.id } } }),
    ],
    [
      'a bookmark outside of the window',
      'scopes.rewind',
      ({ at }) => ({ params: at, body: { bookmark: 'bm_0' } }),
    ],
    [
      'a snapshot that is not there',
      'snapshots.delete',
      ({ at }) => ({ params: { ...at, snapshot: 'snp_01jd0000000000000000000009' } }),
    ],
    [
      'a backup that is not there',
      'scope-backups.delete',
      ({ at, directory }) => ({ params: { ...at, backup: directory.id } }),
    ],
    [
      'a backup of something else',
      'directory-backups.delete',
      ({ backup }) => ({ params: { backup: backup.id } }),
    ],
    [
      'a person of a scope that is not there',
      'subjects.shred',
      ({ at }) => ({ params: { ...at, scope: OTHER_SCOPE, subject: 'rdr_ada' } }),
    ],
    [
      'a version that was not admitted',
      'channels.promote',
      () => ({ params: { slug: 'crm', channel: 'prod' }, body: { version: '2.0.0' } }),
    ],
    [
      'a version that is not there',
      'channels.promote',
      () => ({ params: { slug: 'crm', channel: 'prod' }, body: { version: '9.9.9' } }),
    ],
    [
      'a channel that was changed',
      'channels.promote',
      () => ({ params: { slug: 'crm', channel: 'prod' }, body: { version: '1.1.0' }, ifMatch: '"999"' }),
    ],
    [
      'a name that is not there',
      'hostnames.delete',
      () => ({ params: { hostname: 'unknown.apps.example' } }),
    ],
    [
      'a name of another tenant',
      'hostnames.delete',
      ({ platform, other }) => ({ params: { hostname: 'a.apps.example' }, as: platform.builder(other.id) }),
    ],
    [
      'a name that was changed',
      'hostnames.delete',
      () => ({ params: { hostname: 'a.apps.example' }, ifMatch: '"999"' }),
    ],
    [
      'a connection of another tenant',
      'connections.disconnect',
      ({ other, connection }) => ({ params: { tenant: other.id, connection: connection.id } }),
    ],
    [
      'a connection that was changed',
      'connections.disconnect',
      ({ acme, connection }) => ({
        params: { tenant: acme.id, connection: connection.id },
        ifMatch: '"999"',
      }),
    ],
    ['unknown', 'staff.remove', () => ({ params: { member: 'stf_01jd0000000000000000000009' } })],
    [
      'the only admin who removes themselves',
      'staff.remove',
      ({ member }) => ({ params: { member }, as: { kind: 'staff', id: member, name: 'eve', role: 'admin' } }),
    ],
    [
      'an auditor',
      'scopes.set-status',
      ({ at }) => ({
        params: at,
        body: { status: 'archived' },
        as: { kind: 'staff', id: 'bob', name: 'Bob', role: 'auditor' },
      }),
    ],
    [
      'a builder who may not',
      'subjects.shred',
      ({ platform, at }) => ({ params: { ...at, subject: 'rdr_ada' }, as: platform.builder(at.tenant) }),
    ],
  ];

  test('with the same words, and writes nothing', async () => {
    const world = await openWorld();
    const { platform } = world;
    const rows = (await platform.adminLog()).length;
    for (const [what, operation, parts] of refused) {
      const [planned, called] = [
        await refusal(platform.call(operation, dry(parts(world)))),
        await refusal(platform.call(operation, parts(world))),
      ];
      expect([what, planned.status, planned.code, planned.reason]).toEqual([
        what,
        called.status,
        called.code,
        called.reason,
      ]);
    }
    // The rewind alone went as far as the vertical: its intent, and that it failed.
    expect(await platform.adminLog()).toHaveLength(rows + 2);
  });

  test('where nothing answers for the vertical, and where there is no place for backups', async () => {
    const world = await openWorld();
    const { platform, at, backup } = world;
    platform.reach = 'none';
    for (const [operation, parts] of CALLS.filter(([name]) =>
      [
        'scopes.restore',
        'scopes.rewind',
        'snapshots.delete',
        'subjects.shred',
        'session-secret.rotate',
      ].includes(name),
    )) {
      const planned = await refusal(platform.call(operation, dry(parts(world))));
      expect([operation, planned]).toEqual([
        operation,
        await refusal(platform.call(operation, parts(world))),
      ]);
      expect(planned.status, operation).toBe(501);
    }
    const bare = await openPlatform();
    expect(
      await refusal(bare.call('scope-backups.delete', { params: { ...at, backup: backup.id }, query: DRY })),
    ).toMatchObject({
      status: 501,
      reason: 'no_backup_store',
    });
  });

  test('while other work on the scope is not finished', async () => {
    const world = await openWorld();
    const { platform, at } = world;
    const began = Promise.withResolvers<void>();
    platform.fieldwork.fault = () => {
      began.resolve();
      return new Promise(() => undefined);
    };
    const { value } = await platform.call('scope-backups.create', { params: at, body: {} });
    await began.promise;
    platform.fieldwork.fault = null;
    expect((value as OperationRecord).state).not.toBe('done');
    for (const [operation, parts] of CALLS.filter(([name]) =>
      ['scopes.restore', 'scopes.set-status'].includes(name),
    ))
      expect(await refusal(platform.call(operation, dry(parts(world)))), operation).toMatchObject({
        status: 409,
        reason: 'operation_running',
      });
  });
});

describe('what a plan tells', () => {
  test('of a promotion needs no acknowledgement, and tells a builder of its own scopes only', async () => {
    const { platform, acme } = await openWorld();
    const parts = { params: { slug: 'crm', channel: 'prod' }, body: { version: '1.2.0' } };
    expect(await refusal(promote(platform, 'crm', { version: '1.2.0' }))).toMatchObject({
      reason: 'migrations_changed',
    });
    // One scope of each tenant.
    await platform.tamper((database) => database.exec("UPDATE scopes SET vertical = 'crm'"));
    const plan = (more: Partial<CallParts> = {}) =>
      platform.value<{ instances: number }>('channels.promote', { ...dry(parts), ...more });
    expect(await plan()).toMatchObject({ acknowledge: true, instances: 2, bound: 0 });
    expect(await plan({ as: platform.builder(acme.id) })).toMatchObject({ instances: 1, bound: 0 });
  });

  test('of a state that changes nothing for anybody is that there is no effect', async () => {
    const { platform, acme, at } = await openWorld();
    await platform.call('tenants.set-status', { params: { tenant: acme.id }, body: { status: 'suspended' } });
    const scope = await platform.value(
      'scopes.set-status',
      dry({ params: at, body: { status: 'suspended' } }),
    );
    expect(scope).toMatchObject({ from: 'active', to: 'suspended', effect: 'none' });
    const tenant = (status: string) =>
      platform.value('tenants.set-status', dry({ params: { tenant: acme.id }, body: { status } }));
    expect(await tenant('deleting')).toMatchObject({ effect: 'none' });
    expect(await tenant('active')).toMatchObject({ effect: 'resumes', counts: { scopes: 1, hostnames: 2 } });
  });

  test('of an erasure that was done is its receipt, and of a disconnected connection that nothing is left', async () => {
    const { platform, acme, at, connection } = await openWorld();
    const params = { ...at, subject: 'rdr_ada' };
    const receipt = await platform.value('subjects.shred', { params });
    expect(await platform.value('subjects.shred', dry({ params }))).toMatchObject({
      receipt,
      key: 'destroyed',
      events: 0,
    });
    const one = { params: { tenant: acme.id, connection: connection.id } };
    await platform.call('connections.disconnect', one);
    expect(await platform.value('connections.disconnect', dry(one))).toMatchObject({
      connection: { state: 'disconnected' },
      credential: false,
      revocable: false,
      grants: 0,
      scopes: [],
    });
  });

  test('of a restore is where its copy comes from, and that nothing leads back where there is no history', async () => {
    const { platform, at, snapshot, scope } = await openWorld();
    const plan = (from: object) => platform.value('scopes.restore', dry({ params: at, body: { from } }));
    const known = { dryRun: true, scope: scope.id };
    expect(await plan({ snapshot: snapshot.id })).toMatchObject({
      ...known,
      from: { kind: 'snapshot', id: snapshot.id, format: null, sha256: 'abc' },
      since: '2026-11-21T08:30:00.000Z',
      commits: { count: 0, more: false },
      undo: true,
    });
    const upload = { mediaType: 'application/x-ndjson', body: new Response('a copy').body as ReadableStream };
    const { id } = await platform.value<BackupRecord>('imports.create', { params: at, upload });
    expect(await plan({ export: id })).toMatchObject({
      ...known,
      from: { kind: 'export', id, bytes: 6 },
      since: null,
      commits: null,
      undo: true,
    });
    const answering = (error: PlatformError) => async (request: Request) =>
      request.url.includes('/snapshots/') ? platform.fieldwork.served(request) : problemDocument(error);
    platform.fieldwork.fault = answering(new PlatformError('unsupported', 'There is no history here.'));
    expect(await plan({ snapshot: snapshot.id })).toMatchObject({ ...known, commits: null, undo: false });
    platform.fieldwork.fault = answering(new PlatformError('runtime_fault', 'It is broken.'));
    expect(await refusal(plan({ snapshot: snapshot.id }))).toMatchObject({ code: 'runtime_fault' });
  });

  test('of a backup among several is how many stay, and when the newest was made', async () => {
    const { platform, at, backup } = await openWorld();
    platform.clock.ms += 60_000;
    await platform.finish(platform.call('scope-backups.create', { params: at, body: {} }));
    const plan = await platform.value('scope-backups.delete', dry({ params: { ...at, backup: backup.id } }));
    expect(plan).toMatchObject({ others: 1, newest: '2026-11-21T08:01:01.000Z' });
  });
});
