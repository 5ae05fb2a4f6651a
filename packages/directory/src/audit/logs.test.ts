/** The logs: a change is written exactly once, a refused one never, a read of tenant data with its number of items. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, refusal, SERVICE, STAFF } from '../../test/platform.ts';
import type { Actor } from '../access/actors.ts';
import type { AccessLogEntry, AdminLogEntry, OperationRecord } from '../admin-operations.ts';

/** An actor as a log names it: without its rights. */
const named = ({ kind, id, name }: Actor) => ({ kind, id, name });

describe('spec C-01, C-02, C-30: the admin log', () => {
  test('names the actor, its token, the request and the change', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const builder = platform.builder(tenant.id);
    await platform.call('tenants.create', { body: { slug: 'beta', name: 'Beta' }, as: SERVICE });
    await platform.call('scopes.provision', {
      params: { tenant: tenant.id },
      body: { slug: 'main', name: 'Main', vertical: 'fieldwork' },
      as: builder,
    });
    const rows = await platform.adminLog();
    expect(rows.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
    expect(rows[0]).toMatchObject({
      actor: named(STAFF),
      token: null,
      requestId: 'req-1',
      action: 'tenants.create',
    });
    expect(rows[1]).toMatchObject({ actor: named(SERVICE), token: SERVICE.id, requestId: 'req-2' });
    for (const row of rows.slice(2))
      expect(row).toMatchObject({ actor: named(builder), token: builder.id, requestId: 'req-3' });
  });

  test('a refused change leaves no row, whether access or the state refused it', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const rows = await platform.adminLog();
    const params = { tenant: tenant.id };
    for (const call of [
      platform.call('tenants.create', { body: { slug: 'acme', name: 'Other' } }),
      platform.call('tenants.set-status', { params, body: { status: 'active' } }),
      platform.call('tenants.set-status', { params, body: { status: 'suspended' }, ifMatch: '"9"' }),
      platform.call('hostnames.bind', {
        body: { hostname: '1.2.3.4', tenant: tenant.id, scope: 'scp_01jd0000000000000000000001' },
      }),
      platform.call('roles.delete', { params: { key: 'unknown' } }),
      platform.call('push-tokens.revoke', { params: { token: 'tok_01jd0000000000000000000009' } }),
      platform.call('scopes.provision', { params, body: { slug: 's', name: 'S', vertical: 'ghost' } }),
    ])
      await refusal(call);
    expect(await platform.adminLog()).toEqual(rows);
  });

  test('a change that could not be logged did not happen', async () => {
    const platform = await openPlatform();
    expect(await platform.adminLog()).toEqual([]);
    await platform.tamper((database) =>
      database.exec(
        "CREATE TRIGGER full BEFORE INSERT ON admin_log BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
      ),
    );
    expect(await refusal(platform.tenant('acme'))).toMatchObject({ status: 500, code: 'internal' });
    expect(await platform.value('tenants.list')).toMatchObject({ items: [] });
    expect(platform.incidents).not.toEqual([]);
  });

  test('is filtered and paged, newest first', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const scope = await platform.scope(tenant.id);
    await platform.call('roles.put', {
      params: { key: 'r' },
      body: { name: 'R', permissions: [] },
      as: SERVICE,
    });
    const sequences = async (query: Record<string, unknown>) =>
      (await platform.adminLog(query)).map(({ sequence }) => sequence);
    expect(await sequences({ tenant: tenant.id })).toEqual([1, 2, 3]);
    expect(await sequences({ scope: scope.id })).toEqual([2, 3]);
    expect(await sequences({ actor: SERVICE.id })).toEqual([4]);
    expect(await sequences({ action: 'scopes.provision', outcome: 'intent' })).toEqual([2]);
    expect(await sequences({ outcome: 'unsettled' })).toEqual([]);
    const first = await platform.value<{ items: AdminLogEntry[]; nextCursor: string }>('admin-log.list', {
      query: { limit: 3 },
    });
    await platform.tenant('late');
    const rest = await platform.value<{ items: AdminLogEntry[] }>('admin-log.list', {
      query: { limit: 3, cursor: first.nextCursor },
    });
    expect([...first.items, ...rest.items].map(({ sequence }) => sequence)).toEqual([4, 3, 2, 1]);
  });
});

describe('spec C-30: the access log', () => {
  const readLog = async (platform: Awaited<ReturnType<typeof openPlatform>>, query = {}) =>
    (await platform.value<{ items: AccessLogEntry[] }>('access-log.list', { query })).items;

  test('reading it is itself logged, with how much it showed', async () => {
    const platform = await openPlatform();
    expect(await readLog(platform)).toEqual([]);
    const second = await readLog(platform);
    expect(second).toMatchObject([
      { operation: 'access-log.list', items: 0, actor: named(STAFF), token: null },
    ]);
    expect(await readLog(platform)).toMatchObject([{ items: 1 }, { items: 0 }]);
    expect(await platform.adminLog()).toEqual([]);
  });

  test('is filtered by tenant, scope, actor and operation', async () => {
    const platform = await openPlatform();
    const scope = await platform.scope((await platform.tenant('acme')).id);
    const params = { tenant: scope.tenant, scope: scope.id };
    await platform.call('denials.list', { params });
    await platform.call('denials.summary', { params, as: SERVICE });
    expect(await readLog(platform, { tenant: scope.tenant })).toHaveLength(2);
    expect(await readLog(platform, { scope: scope.id, actor: 'ada' })).toMatchObject([
      { operation: 'denials.list' },
    ]);
    expect(await readLog(platform, { operation: 'denials.summary' })).toMatchObject([{ actor: SERVICE }]);
  });

  test('a read that could not be logged shows nothing', async () => {
    const platform = await openPlatform();
    const scope = await platform.scope((await platform.tenant('acme')).id);
    await platform.tamper((database) =>
      database.exec(
        "CREATE TRIGGER full BEFORE INSERT ON access_log BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
      ),
    );
    const params = { tenant: scope.tenant, scope: scope.id };
    expect(await refusal(platform.call('denials.list', { params }))).toMatchObject({ status: 500 });
    expect(await refusal(platform.call('access-log.list'))).toMatchObject({ status: 500 });
  });
});

test('an unknown operation is not found', async () => {
  const platform = await openPlatform();
  const call = platform.admin.perform({
    operation: 'constructor',
    params: {},
    query: {},
    body: {},
    actor: STAFF,
    requestId: 'r',
  });
  expect(await refusal(call)).toMatchObject({ status: 404, reason: 'unknown_operation' });
});

/**
 * The caller stands in every row of its call, also in later ones (requirement C-01): after an answer of an
 * application, by a later call that settles it, and by work in the background.
 */
async function open() {
  const backups = makeMemoryBackups();
  const platform = await openPlatform({ backups });
  const { id: tenant } = await platform.tenant('acme');
  const { id: scope } = await platform.scope(tenant);
  const params = { tenant, scope };
  const configure = (as: Actor) =>
    platform.call('scopes.configure', { params, body: { config: { COLOUR: 'red' } }, as });
  const backUp = (as: Actor) => platform.call('scope-backups.create', { params, body: {}, as });
  return { platform, backups, params, configure, backUp, builder: platform.builder(tenant) };
}

/** The actors in the rows of one operation: `outcome kind id token`. */
async function namedIn(platform: Platform, action: string): Promise<string[]> {
  return (await platform.adminLog({ action })).map(asText);
}

const asText = ({ outcome, actor: { kind, id, name }, token }: AdminLogEntry) =>
  `${outcome}: ${kind} ${id} ${name} ${token}`;
const expected = (outcome: string, { kind, id, name }: Actor) =>
  `${outcome}: ${kind} ${id} ${name} ${kind === 'staff' ? null : id}`;

test("C-01: an application's work and its refusal stand in the name of the caller", async () => {
  const { platform, configure, builder } = await open();
  for (const as of [builder, SERVICE, STAFF]) {
    await configure(as);
    platform.fieldwork.fault = async () => problemDocument(new PlatformError('conflict', 'No.'));
    await expect(configure(as)).rejects.toThrow('No.');
    platform.fieldwork.fault = null;
  }
  expect(await namedIn(platform, 'scopes.configure')).toEqual(
    [builder, SERVICE, STAFF].flatMap((as) => [
      ...[expected('intent', as), expected('done', as)],
      ...[expected('intent', as), expected('failed', as)],
    ]),
  );
});

test('C-01: an unknown outcome stands in the name of the first caller, and its supersession in that of the later one', async () => {
  const { platform, configure, builder } = await open();
  platform.fieldwork.fault = () => Promise.reject(new TypeError('reset'));
  await expect(configure(SERVICE)).rejects.toThrow();
  platform.fieldwork.fault = null;
  await configure(builder);
  expect(await namedIn(platform, 'scopes.configure')).toEqual([
    expected('intent', SERVICE),
    ...['intent', 'done', 'superseded'].map((outcome) => expected(outcome, builder)),
  ]);
});

test.each<[string, Actor]>([
  ['a service', SERVICE],
  ['staff', STAFF],
])(
  'C-01: long work of %s that is done, that fails and that is cancelled stands in its name to the end',
  async (_, as) => {
    const { platform, backups, backUp } = await open();
    expect(await platform.finish(backUp(as))).toMatchObject({ state: 'done' });

    backups.beforePut = () => Promise.reject(new PlatformError('unavailable', 'Full.'));
    expect(await platform.finish(backUp(as))).toMatchObject({ state: 'failed' });

    const reached = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    backups.beforePut = async () => {
      reached.resolve();
      await held.promise;
    };
    const { id: operation } = (await backUp(as)).value as OperationRecord;
    await reached.promise;
    const by = as === STAFF ? SERVICE : STAFF;
    await platform.call('operations.cancel', { params: { operation }, as: by });
    held.resolve();
    const ended = await platform.value('operations.get', { params: { operation }, query: { wait: '60s' } });
    expect(ended).toMatchObject({ state: 'cancelled', startedBy: { kind: as.kind, id: as.id } });

    expect(await namedIn(platform, 'scope-backups.create')).toEqual(
      ['intent', 'done', 'intent', 'failed', 'intent', 'failed'].map((outcome) => expected(outcome, as)),
    );
    expect(await namedIn(platform, 'operations.cancel')).toEqual([expected('done', by)]);
  },
);
