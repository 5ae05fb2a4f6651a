/** The end of a tenant: what goes, what stays, and what happens when it is cut short (requirement C-03). */
import { makeKeyring } from '@freehold/store';
import { describe, expect, test } from 'vitest';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { makeMemoryRuntime } from '../../test/memory-runtime.ts';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import { manifestOf } from '../../test/registry.ts';
import { sessionOf, staffMember } from '../../test/staff.ts';
import type {
  ConnectionRecord,
  HostnameRecord,
  OperationRecord,
  PushTokenRecord,
  ScopeRecord,
  TenantRecord,
} from '../admin-operations.ts';

/** The field of the audit row with the addresses of the backups that stay. */
const KEPT = 'kept';

const SLUGS = ['main', 'second'];

async function openFixture() {
  const destroyed: string[] = [];
  const store = makeMemoryBackups();
  const runtime = makeMemoryRuntime();
  const platform = await openPlatform({
    connections: makeKeyProvider().options,
    backups: store,
    runtime,
    sealing: makeKeyring(['k'.repeat(43)]),
    destroyTenantKeys: async (tenant) => void destroyed.push(tenant),
  });
  const fixture = async (slug: string) => {
    const tenant = await platform.tenant(slug);
    const scopes: ScopeRecord[] = [];
    for (const each of SLUGS) scopes.push(await platform.scope(tenant.id, each));
    const [scope] = scopes as [ScopeRecord];
    await platform.hostname(scope, `${slug}.localhost`);
    const params = { tenant: tenant.id };
    const { secret } = await platform.value<{ secret: string }>('push-tokens.create', {
      body: { name: 'ci', tenant: tenant.id },
    });
    const { id: connection } = await platform.value<{ id: string }>('connections.create', {
      params,
      body: { provider: 'ledger', scope: scope.id, subjectRef: 'books', apiKey: `key-of-${slug}-1` },
    });
    await platform.call('connection-grants.put', {
      params: { ...params, connection },
      body: { scope: scope.id, permission: 'order.read' },
    });
    await platform.call('identities.add', {
      params,
      body: { kind: 'organization', issuer: 'https://login.example.com', value: slug },
    });
    await platform.call('entitlements.put', { params: { ...params, key: 'seats' }, body: { quota: 5 } });
    await platform.call('snapshots.take', { params: { ...params, scope: scope.id }, body: {} });
    const app = `app-of-${slug}`;
    await platform.call('verticals.create', { body: { slug: app, name: 'App', ownerTenant: tenant.id } });
    await platform.call('secrets.set', {
      params: { slug: app, name: 'PAYMENT_KEY' },
      body: { secret: `secret-of-${slug}` },
    });
    await platform.call('previews.create', {
      params: { slug: app },
      body: {
        manifest: manifestOf(app, '1.0.0'),
        modules: [{ name: 'main.js', mediaType: 'application/javascript+module', base64: btoa('0') }],
      },
    });
    await staffMember(platform, { login: `of-${slug}`, role: 'builder', tenant: tenant.id });
    return { tenant, scopes, secret, connection };
  };
  const theirs = await fixture('globex');
  const ours = await fixture('acme');
  return { platform, ours, theirs, destroyed, store, runtime, copies: store.stored };
}

const setStatus = (platform: Platform, tenant: TenantRecord, status: string) =>
  platform.call('tenants.set-status', { params: { tenant: tenant.id }, body: { status } });
const reap = (platform: Platform, tenant: TenantRecord, more: Record<string, unknown> = {}) =>
  platform.call('tenants.reap', { params: { tenant: tenant.id }, body: {}, ...more });

/** Follows the work to its end. */
async function ended(platform: Platform, { value }: { value: unknown }): Promise<OperationRecord> {
  const params = { operation: (value as OperationRecord).id };
  const look = () => platform.value<OperationRecord>('operations.get', { params });
  await expect.poll(async () => (await look()).finishedAt).not.toBeNull();
  return look();
}

const COUNTS = {
  scopes: 2,
  snapshots: 1,
  hostnames: 1,
  connections: 1,
  connectionGrants: 1,
  pushTokens: 1,
  builders: 1,
  identities: 1,
  entitlements: 1,
  secrets: 1,
  previews: 1,
  backups: 0,
};

test('C-03: everything of the tenant goes, nothing of another, and its row stays', async () => {
  const { platform, ours, theirs, destroyed, runtime } = await openFixture();
  const { tenant, scopes, secret, connection } = ours;
  const told = runtime.resettled.length;
  await setStatus(platform, tenant, 'deleting');
  const before = await platform.adminLog();
  let rerouted = 0;
  platform.admin.onRoutesChanged(() => rerouted++);
  const begun = await reap(platform, tenant);
  expect(begun).toMatchObject({ status: 202, value: { name: 'tenants.reap', tenant: tenant.id } });
  expect(await ended(platform, begun)).toMatchObject({
    name: 'tenants.reap',
    state: 'done',
    progress: { done: 2, total: 2, unit: 'scopes' },
    result: { tenant: tenant.id, erased: COUNTS, backups: [] },
    problem: null,
  });
  expect(rerouted).toBe(1);

  // In the application, at the wiring's vault, and here.
  const ids = scopes.map(({ id }) => id);
  expect(ids.filter((id) => platform.fieldwork.provisioned.has(id))).toEqual([]);
  expect(destroyed).toEqual([tenant.id]);
  const params = { tenant: tenant.id };
  const gone = await platform.value<TenantRecord>('tenants.get', { params });
  expect(gone).toMatchObject({ slug: 'acme', status: 'reaped' });
  const items = async <T>(name: Parameters<Platform['value']>[0], parts: object) =>
    (await platform.value<{ items: T[] }>(name, parts)).items;
  expect((await items<ScopeRecord>('scopes.list', { params })).map(({ status }) => status)).toEqual([
    'reaped',
    'reaped',
  ]);
  expect(await items<HostnameRecord>('hostnames.list', { query: params })).toEqual([]);
  expect(await items<ConnectionRecord>('connections.list', { params })).toEqual([]);
  expect(await items('identities.list', { params })).toEqual([]);
  expect(await items('entitlements.list', { params })).toEqual([]);
  const [token] = await items<PushTokenRecord>('push-tokens.list', { query: params });
  expect(token?.revokedAt).not.toBeNull();
  expect(await platform.admin.authenticate(secret)).toBeNull();
  expect(await items('staff.list', { query: params })).toEqual([]);
  expect(await platform.admin.staff.session(sessionOf('of-globex'))).toMatchObject({ kind: 'builder' });
  expect((await platform.admin.routes()).map(({ hostname }) => hostname)).toEqual(['globex.localhost']);
  await platform.tamper((database) => {
    const { sealed } = database
      .prepare('SELECT count(*) AS sealed FROM connection_credentials WHERE connection = ?')
      .get(connection) as { sealed: number };
    expect(sealed).toBe(0);
  });

  expect(await platform.admin.secretsOf('app-of-acme')).toEqual({});
  expect(runtime.resettled.slice(told)).toEqual(['app-of-acme']);
  expect(runtime.previews.running.size).toBe(1);

  // The other tenant has all of it still.
  expect(await platform.admin.secretsOf('app-of-globex')).toEqual({ PAYMENT_KEY: 'secret-of-globex' });
  const other = { tenant: theirs.tenant.id };
  expect((await items<ScopeRecord>('scopes.list', { params: other })).map(({ status }) => status)).toEqual([
    'active',
    'active',
  ]);
  for (const [name, parts] of [
    ['hostnames.list', { query: other }],
    ['connections.list', { params: other }],
    ['identities.list', { params: other }],
    ['entitlements.list', { params: other }],
  ] as const)
    expect(await items(name, parts)).toHaveLength(1);
  expect(await platform.admin.authenticate(theirs.secret)).not.toBeNull();

  // The log: what was meant, and what came of it. The slug is never anybody else's.
  expect((await platform.adminLog()).slice(before.length)).toMatchObject([
    {
      action: 'tenants.reap',
      outcome: 'intent',
      target: params,
      before: { status: 'deleting' },
      after: COUNTS,
    },
    {
      action: 'tenants.reap',
      outcome: 'done',
      before: { slug: 'acme', status: 'deleting' },
      after: { slug: 'acme', status: 'reaped', ...COUNTS, [KEPT]: [] },
    },
  ]);
  expect(gone.etag).toBe(String((await platform.adminLog()).at(-1)?.sequence));
  expect(await refusal(platform.tenant('acme'))).toMatchObject({ reason: 'slug_retired' });
  expect(await platform.admin.perform(verifyCall)).toMatchObject({ value: { firstBad: null } });
  expect(platform.incidents).toEqual([]);
});

const verifyCall = {
  operation: 'admin-log.verify',
  params: {},
  query: {},
  body: {},
  actor: { kind: 'service', id: 'tok_1', name: 'cli' },
  requestId: 'req-verify',
} as const;

test('C-03: a plan says what would go, and nothing does', async () => {
  const { platform, ours, destroyed } = await openFixture();
  await setStatus(platform, ours.tenant, 'deleting');
  const before = await platform.adminLog();
  const { status, value } = await reap(platform, ours.tenant, { query: { dryRun: true } });
  expect([status, value]).toEqual([
    200,
    {
      dryRun: true,
      tenant: ours.tenant.id,
      slug: 'acme',
      counts: COUNTS,
      scopes: ours.scopes.map(({ id, slug }) => ({ id, slug, vertical: 'fieldwork', status: 'active' })),
      hostnames: ['acme.localhost'],
      connections: [{ id: ours.connection, provider: 'ledger', state: 'active' }],
      pushTokens: [{ id: expect.stringMatching(/^tok_/), name: 'ci' }],
      truncated: false,
    },
  ]);
  expect(await platform.adminLog()).toEqual(before);
  expect(platform.fieldwork.provisioned.has(ours.scopes[0]?.id ?? '')).toBe(true);
  expect(destroyed).toEqual([]);
});

describe('C-03: copies', () => {
  test('by default none is left behind, and those that were made before are deleted', async () => {
    const { platform, ours, copies } = await openFixture();
    const [scope] = ours.scopes as [ScopeRecord];
    const made = await platform.call('scope-backups.create', {
      params: { tenant: ours.tenant.id, scope: scope.id },
      body: {},
    });
    expect(await ended(platform, made)).toMatchObject({ state: 'done' });
    expect(copies.size).toBe(1);
    await setStatus(platform, ours.tenant, 'deleting');
    expect(await ended(platform, await reap(platform, ours.tenant))).toMatchObject({
      state: 'done',
      result: { erased: { backups: 1 }, backups: [] },
    });
    expect([...copies.keys()]).toEqual([]);
  });

  test('those of a scope that was reaped by itself before are deleted too', async () => {
    const { platform, ours, copies } = await openFixture();
    const [, scope] = ours.scopes as [ScopeRecord, ScopeRecord];
    const params = { tenant: ours.tenant.id, scope: scope.id };
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    const reaped = await platform.call('scopes.reap', { params, body: { backup: true } });
    expect(await ended(platform, reaped)).toMatchObject({ state: 'done' });
    expect(copies.size).toBe(1);
    await setStatus(platform, ours.tenant, 'deleting');
    expect(await ended(platform, await reap(platform, ours.tenant))).toMatchObject({
      state: 'done',
      result: { erased: { backups: 1 }, backups: [] },
    });
    expect([...copies.keys()]).toEqual([]);
    await platform.tamper((database) => {
      expect(database.prepare('SELECT count(*) AS n FROM backups').get()).toEqual({ n: 0 });
    });
  });

  test('with backup every scope is copied before anything is erased', async () => {
    const { platform, ours, copies } = await openFixture();
    platform.fieldwork.copy = 'the books';
    await setStatus(platform, ours.tenant, 'deleting');
    const work = await ended(platform, await reap(platform, ours.tenant, { body: { backup: true } }));
    expect(work.state).toBe('done');
    const { backups } = work.result as { backups: { scope: string; address: string; bytes: number }[] };
    expect(backups.map(({ scope }) => scope)).toEqual(ours.scopes.map(({ id }) => id));
    expect(backups.map(({ address }) => copies.get(address))).toEqual(['the books', 'the books']);
    expect((await platform.adminLog()).at(-1)?.after).toMatchObject({
      [KEPT]: backups.map(({ address }) => address),
    });
  });

  test('when one cannot be made, nothing is erased', async () => {
    const { platform, ours, theirs, store, destroyed } = await openFixture();
    store.fault = 'put';
    await setStatus(platform, ours.tenant, 'deleting');
    const work = await ended(platform, await reap(platform, ours.tenant, { body: { backup: true } }));
    expect(work.state).toBe('failed');
    const present = [...ours.scopes, ...theirs.scopes].map(({ id }) =>
      platform.fieldwork.provisioned.has(id),
    );
    expect(present).toEqual([true, true, true, true]);
    expect(destroyed).toEqual([]);
    expect((await platform.adminLog()).at(-1)).toMatchObject({ action: 'tenants.reap', outcome: 'failed' });
    // It is as it was: it may come back.
    expect(await setStatus(platform, ours.tenant, 'active')).toMatchObject({ status: 200 });
    expect((await platform.admin.routes()).map(({ serving }) => serving)).toEqual([true, true]);
  });

  test('without a place for them they are refused, and nothing begins', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    await setStatus(platform, tenant, 'deleting');
    expect(await refusal(reap(platform, tenant, { body: { backup: true } }))).toMatchObject({
      status: 501,
      reason: 'no_backup_store',
    });
    expect(await platform.adminLog()).toHaveLength(2);
  });
});

describe('C-03: cut short', () => {
  test('a vertical that fails for one scope keeps no other from being erased, and a second call finishes', async () => {
    const { platform, ours, destroyed } = await openFixture();
    const [first, second] = ours.scopes as [ScopeRecord, ScopeRecord];
    await setStatus(platform, ours.tenant, 'deleting');
    const { fetch } = platform.fieldwork.bound;
    const answer = async (request: Request): Promise<Response> => {
      const { scopeId } = (await request.clone().json()) as { scopeId: string };
      if (scopeId === first.id) throw new TypeError('connection refused');
      platform.fieldwork.fault = null;
      const response = await fetch(request);
      platform.fieldwork.fault = answer;
      return response;
    };
    platform.fieldwork.fault = answer;
    const work = await ended(platform, await reap(platform, ours.tenant));
    expect(work).toMatchObject({ state: 'failed', problem: { reason: 'outcome_unknown' } });
    const has = ({ id }: ScopeRecord) => platform.fieldwork.provisioned.has(id);
    expect([has(first), has(second), destroyed]).toEqual([true, false, []]);
    expect(
      await platform.value<TenantRecord>('tenants.get', { params: { tenant: ours.tenant.id } }),
    ).toMatchObject({ status: 'deleting' });

    platform.fieldwork.fault = null;
    expect(await ended(platform, await reap(platform, ours.tenant))).toMatchObject({
      state: 'done',
      result: { erased: { scopes: 1, connections: 0 } },
    });
    expect([has(first), destroyed]).toEqual([false, [ours.tenant.id]]);
    // The unknown outcome of the first attempt matters no more, and the log says so.
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
    const rows = (await platform.adminLog()).slice(-4);
    expect(rows.map(({ action, outcome }) => [action, outcome])).toEqual(
      ['intent', 'intent', 'superseded', 'done'].map((outcome) => ['tenants.reap', outcome]),
    );
    expect(
      await platform.value<TenantRecord>('tenants.get', { params: { tenant: ours.tenant.id } }),
    ).toMatchObject({
      status: 'reaped',
      etag: String(rows.at(-1)?.sequence),
    });
  });

  test('a process that dies between two scopes is followed by one that finishes', async () => {
    const { platform, ours, destroyed } = await openFixture();
    const [first, second] = ours.scopes as [ScopeRecord, ScopeRecord];
    await setStatus(platform, ours.tenant, 'deleting');
    const reached = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const { fetch } = platform.fieldwork.bound;
    platform.fieldwork.fault = async (request) => {
      platform.fieldwork.fault = null;
      const response = await fetch(request);
      reached.resolve();
      await answered.promise;
      return response;
    };
    const { value } = await reap(platform, ours.tenant);
    await reached.promise;
    // The first scope is gone from the application, and the process ends before the directory records it.
    const closing = platform.tamper(() => undefined);
    answered.resolve();
    await closing;
    expect(platform.fieldwork.provisioned.has(first.id)).toBe(false);
    expect(platform.fieldwork.provisioned.has(second.id)).toBe(true);

    // While it is unfinished the tenant does not come back, and is not reaped a second time.
    expect(await refusal(setStatus(platform, ours.tenant, 'active'))).toMatchObject({
      status: 409,
      reason: 'being_reaped',
    });
    expect(await refusal(reap(platform, ours.tenant))).toMatchObject({ status: 409, code: 'conflict' });

    await platform.admin.resumeLongWork();
    expect(await ended(platform, { value })).toMatchObject({ state: 'done' });
    expect(platform.fieldwork.provisioned.has(second.id)).toBe(false);
    expect(destroyed).toEqual([ours.tenant.id]);
  });

  test('a scope that its vertical does not know is erased', async () => {
    const { platform, ours } = await openFixture();
    platform.fieldwork.provisioned.delete(ours.scopes[0]?.id ?? '');
    await setStatus(platform, ours.tenant, 'deleting');
    expect(await ended(platform, await reap(platform, ours.tenant))).toMatchObject({ state: 'done' });
  });

  test('a vertical that cannot be reached is refused before anything begins', async () => {
    const { platform, ours } = await openFixture();
    await setStatus(platform, ours.tenant, 'deleting');
    platform.reach = 'none';
    const before = await platform.adminLog();
    expect(await refusal(reap(platform, ours.tenant))).toMatchObject({ status: 501, reason: 'no_vertical' });
    expect(await platform.adminLog()).toEqual(before);
  });
});

test('C-03: the same call with the same key answers the work that it began', async () => {
  const { platform, ours } = await openFixture();
  await setStatus(platform, ours.tenant, 'deleting');
  const first = await reap(platform, ours.tenant, { key: 'once' });
  const again = await reap(platform, ours.tenant, { key: 'once' });
  expect((again.value as OperationRecord).id).toBe((first.value as OperationRecord).id);
  await ended(platform, first);
});
