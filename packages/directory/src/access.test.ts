/** The access matrix: every declared operation × every kind of actor × own, other and no tenant. */
import { describe, expect, test } from 'vitest';
import { makeKeyProvider } from '../test/key-provider.ts';
import { openPlatform, type Platform, refusal, SERVICE, STAFF } from '../test/platform.ts';
import { EVENT, INVOCATION } from '../test/vertical-double.ts';
import {
  type AdminOperationName,
  adminOperations,
  type BuilderAccess,
  type IssueRecord,
  type ScopeRecord,
  type TenantRecord,
} from './declarations/index.ts';

interface House {
  readonly tenant: TenantRecord;
  readonly scope: ScopeRecord;
  readonly hostname: string;
  readonly token: string;
  readonly connection: string;
  readonly issue: string;
  readonly snapshot: string;
}

/** Two tenants with everything a tenant can have, so that there is always something of B to be leaked to A. */
async function openStreet(): Promise<{ platform: Platform; ours: House; theirs: House }> {
  const platform = await openPlatform({ connections: makeKeyProvider().options });
  // A worker, and a host in this process that opens snapshots.
  platform.reach = 'both';
  const house = async (slug: string): Promise<House> => {
    const tenant = await platform.tenant(slug);
    const scope = await platform.scope(tenant.id);
    const { hostname } = await platform.hostname(scope, `${slug}.localhost`);
    const { token } = await platform.value<{ token: { id: string } }>('push-tokens.create', {
      body: { name: 'ci', tenant: tenant.id },
    });
    const { id: connection } = await platform.value<{ id: string }>('connections.create', {
      params: { tenant: tenant.id },
      body: { provider: 'ledger', scope: scope.id, subjectRef: 'first', apiKey: `key-of-${slug}-1` },
    });
    await platform.call('connection-grants.put', {
      params: { tenant: tenant.id, connection },
      body: { scope: scope.id, permission: 'order.read' },
    });
    const at = { tenant: tenant.id, scope: scope.id };
    await platform.admin.recordSweep([{ kind: 'schedule', unit: 'nightly', ...at, outcome: 'failed' }]);
    const where = { kind: 'scope-fieldwork', method: slug };
    await platform.admin.ingestIncident({ error: new TypeError('broken'), where, scope: at });
    const { items } = await platform.value<{ items: IssueRecord[] }>('issues.list');
    const issue = items.find(({ sample }) => sample.tenant === tenant.id)?.fingerprint ?? '';
    const { id: snapshot } = await platform.value<{ id: string }>('snapshots.take', {
      params: at,
      body: {},
    });
    return { tenant, scope, hostname, token: token.id, connection, issue, snapshot };
  };
  return { platform, ours: await house('ours'), theirs: await house('theirs') };
}

type Parts = {
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: Record<string, unknown>;
};

/** A good call of each operation about one house. An operation without a line here fails the test below. */
const CALLS: Readonly<Record<AdminOperationName, (house: House) => Parts>> = {
  'tenants.list': () => ({}),
  'tenants.create': () => ({ body: { slug: 'fresh', name: 'Fresh' } }),
  'tenants.get': ({ tenant }) => ({ params: { tenant: tenant.id } }),
  'tenants.set-status': ({ tenant }) => ({ params: { tenant: tenant.id }, body: { status: 'suspended' } }),
  'scopes.fleet': () => ({}),
  'scopes.list': ({ tenant }) => ({ params: { tenant: tenant.id } }),
  'scopes.provision': ({ tenant }) => ({
    params: { tenant: tenant.id },
    body: { slug: 'second', name: 'Second', vertical: 'fieldwork' },
  }),
  'scopes.get': inScope,
  'scopes.configure': (house) => ({ ...inScope(house), body: { config: { COLOUR: 'red' } } }),
  'scopes.restore': ({ snapshot, ...house }) => ({ ...inScope(house), body: { from: { snapshot } } }),
  'scopes.rewind': (house) => ({ ...inScope(house), body: { bookmark: 'bm_1' } }),
  'migrations.get': inScope,
  'bookmarks.list': inScope,
  'snapshots.list': inScope,
  'snapshots.take': (house) => ({ ...inScope(house), body: { name: 'before the audit' } }),
  'snapshots.delete': ({ snapshot, ...house }) => ({ params: { ...inScope(house).params, snapshot } }),
  'owner-seat.get': inScope,
  'owner-claim.mint': inScope,
  'tables.list': inScope,
  'tables.read': (house) => ({ params: { ...inScope(house).params, table: 'orders' } }),
  'query.run': (house) => ({ ...inScope(house), body: { sql: 'SELECT id FROM orders' } }),
  'scopes.export': inScope,
  'health.get': inScope,
  'history.get': (house) => ({ ...inScope(house), query: { entityType: 'order', entityId: 'ord_1' } }),
  'facets.get': inScope,
  'cause.get': (house) => ({ params: { ...inScope(house).params, event: EVENT } }),
  'effects.get': (house) => ({ params: { ...inScope(house).params, event: EVENT } }),
  'invocation.get': (house) => ({ params: { ...inScope(house).params, invocation: INVOCATION } }),
  'dead-letters.list': inScope,
  'denials.list': inScope,
  'denials.summary': inScope,
  'hostnames.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'hostnames.bind': ({ tenant, scope }) => ({
    body: { hostname: `new-${tenant.slug}.localhost`, tenant: tenant.id, scope: scope.id },
  }),
  'hostnames.set-status': ({ hostname }) => ({ body: { hostname, status: 'disabled' } }),
  'connections.list': ({ tenant }) => ({ params: { tenant: tenant.id } }),
  'connections.create': ({ tenant, scope }) => ({
    params: { tenant: tenant.id },
    body: { provider: 'ledger', scope: scope.id, subjectRef: 'second', apiKey: `key-of-${tenant.slug}-2` },
  }),
  'connections.get': onConnection,
  'connections.disconnect': onConnection,
  'connections.verify': onConnection,
  'connections.credential': onConnection,
  'connections.rotate': (house) => ({
    ...onConnection(house),
    body: { apiKey: `key-of-${house.tenant.slug}-1-new` },
  }),
  'connections.activity': onConnection,
  'connection-grants.list': onConnection,
  'connection-grants.put': (house) => ({
    ...onConnection(house),
    body: { scope: house.scope.id, permission: 'order.complete' },
  }),
  'connection-grants.delete': (house) => ({ ...onConnection(house), query: { scope: house.scope.id } }),
  'roles.list': () => ({}),
  'roles.put': () => ({ params: { key: 'support' }, body: { name: 'Support', permissions: ['order.read'] } }),
  'roles.delete': () => ({ params: { key: 'support' } }),
  'admin-log.list': () => ({}),
  'admin-log.verify': () => ({}),
  'access-log.list': () => ({}),
  'ops-failures.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'sweep-runs.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'issues.list': () => ({}),
  'issues.set-status': ({ issue }) => ({ body: { fingerprint: issue, status: 'resolved' } }),
  'model-usage.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'meters.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'push-tokens.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'push-tokens.create': ({ tenant }) => ({ body: { name: 'second', tenant: tenant.id } }),
  'push-tokens.revoke': ({ token }) => ({ params: { token } }),
};

function inScope({ tenant, scope }: Pick<House, 'tenant' | 'scope'>) {
  return { params: { tenant: tenant.id, scope: scope.id } };
}

function onConnection({ tenant, connection }: House) {
  return { params: { tenant: tenant.id, connection } };
}

function withoutTenant({ tenant: _, ...rest }: Record<string, unknown>) {
  return rest;
}

/** What a builder may call, said a second time and by hand: the declarations must agree with it. */
const BUILDER: Readonly<Record<AdminOperationName, BuilderAccess>> = {
  'tenants.list': 'own-tenant',
  'tenants.create': 'none',
  'tenants.get': 'own-tenant',
  'tenants.set-status': 'none',
  'scopes.fleet': 'none',
  'scopes.list': 'own-tenant',
  'scopes.provision': 'own-tenant',
  'scopes.get': 'own-tenant',
  'scopes.configure': 'own-tenant',
  'scopes.restore': 'none',
  'scopes.rewind': 'none',
  'migrations.get': 'own-tenant',
  'bookmarks.list': 'own-tenant',
  'snapshots.list': 'own-tenant',
  'snapshots.take': 'own-tenant',
  'snapshots.delete': 'own-tenant',
  'owner-seat.get': 'own-tenant',
  'owner-claim.mint': 'own-tenant',
  'tables.list': 'own-tenant',
  'tables.read': 'own-tenant',
  'query.run': 'none',
  'scopes.export': 'none',
  'health.get': 'own-tenant',
  'history.get': 'own-tenant',
  'facets.get': 'own-tenant',
  'cause.get': 'own-tenant',
  'effects.get': 'own-tenant',
  'invocation.get': 'own-tenant',
  'dead-letters.list': 'own-tenant',
  'denials.list': 'own-tenant',
  'denials.summary': 'own-tenant',
  'hostnames.list': 'own-tenant',
  'hostnames.bind': 'own-tenant',
  'hostnames.set-status': 'own-tenant',
  'connections.list': 'own-tenant',
  'connections.create': 'own-tenant',
  'connections.get': 'own-tenant',
  'connections.disconnect': 'own-tenant',
  'connections.verify': 'own-tenant',
  'connections.credential': 'own-tenant',
  'connections.rotate': 'own-tenant',
  'connections.activity': 'own-tenant',
  'connection-grants.list': 'own-tenant',
  'connection-grants.put': 'own-tenant',
  'connection-grants.delete': 'own-tenant',
  'roles.list': 'none',
  'roles.put': 'none',
  'roles.delete': 'none',
  'admin-log.list': 'none',
  'admin-log.verify': 'none',
  'access-log.list': 'none',
  'ops-failures.list': 'own-tenant',
  'sweep-runs.list': 'own-tenant',
  'issues.list': 'none',
  'issues.set-status': 'none',
  'model-usage.list': 'none',
  'meters.list': 'none',
  'push-tokens.list': 'own-tenant',
  'push-tokens.create': 'none',
  'push-tokens.revoke': 'own-tenant',
};

/** Operations in which no field can name another tenant: what belongs to others is left out instead. */
const NAMES_NOBODY: readonly AdminOperationName[] = ['tenants.list'];

const NAMES = Object.keys(adminOperations) as AdminOperationName[];

describe.each(NAMES)('spec C-01: %s', (name) => {
  test('the declaration says what a builder may do', () => {
    expect(adminOperations[name].builder).toBe(BUILDER[name]);
    expect(adminOperations[name].name).toBe(name);
  });

  for (const [kind, actor] of [
    ['staff', STAFF],
    ['service', SERVICE],
  ] as const) {
    test(`${kind} may, about any tenant, and it is written down as declared`, async () => {
      const { platform, theirs } = await openStreet();
      if (name === 'roles.delete') await platform.call('roles.put', CALLS['roles.put'](theirs));
      const before = await platform.adminLog();
      const { status, value } = await platform.call(name, { ...CALLS[name](theirs), as: actor });
      expect(status).toBe(adminOperations[name].success);
      expect(adminOperations[name].output.safeParse(value).error).toBeUndefined();
      // spec C-30: a change is one admin-log row (and one for its intent, if it has one), a read of tenant data
      // one access-log row, and neither is both.
      const rows = (await platform.adminLog()).slice(before.length);
      const reads = await platform.accessLog();
      const { audit } = adminOperations[name];
      expect(rows.filter(({ outcome }) => outcome !== 'intent')).toHaveLength(audit === 'audit' ? 1 : 0);
      for (const row of rows) expect(row).toMatchObject({ action: name, actor: { id: actor.id } });
      expect(reads.map(({ operation }) => operation)).toEqual(audit === 'access' ? [name] : []);
    });
  }

  if (BUILDER[name] === 'none') {
    test('a builder may not, and nothing happens', async () => {
      const { platform, ours } = await openStreet();
      const before = await platform.adminLog();
      const call = platform.call(name, { ...CALLS[name](ours), as: platform.builder(ours.tenant.id) });
      expect(await refusal(call)).toMatchObject({ status: 403, code: 'forbidden', reason: 'staff_only' });
      expect(await platform.adminLog()).toEqual(before);
    });
    return;
  }

  test('a builder may, about its own tenant, and sees nothing of another', async () => {
    const { platform, ours, theirs } = await openStreet();
    const { status, value } = await platform.call(name, {
      ...CALLS[name](ours),
      as: platform.builder(ours.tenant.id),
    });
    expect(status).toBe(adminOperations[name].success);
    expect(JSON.stringify(value)).not.toContain(theirs.tenant.id);
  });

  test('a builder that leaves the tenant out gets its own', async () => {
    const { platform, ours, theirs } = await openStreet();
    const { params = {}, query = {}, body = {} } = CALLS[name](ours);
    const { status, value } = await platform.call(name, {
      params,
      query: withoutTenant(query),
      body: withoutTenant(body),
      as: platform.builder(ours.tenant.id),
    });
    expect(status).toBe(adminOperations[name].success);
    expect(JSON.stringify(value)).not.toContain(theirs.tenant.id);
  });

  if (!NAMES_NOBODY.includes(name)) {
    test("another tenant's is not there for a builder: 404, and nothing happens", async () => {
      const { platform, ours, theirs } = await openStreet();
      const before = await platform.adminLog();
      const call = platform.call(name, { ...CALLS[name](theirs), as: platform.builder(ours.tenant.id) });
      expect(await refusal(call)).toMatchObject({ status: 404, code: 'not_found' });
      expect(await platform.adminLog()).toEqual(before);
      expect(await platform.accessLog()).toEqual([]);
    });
  }

  test('a builder of a tenant that is not active may not', async () => {
    const { platform, ours } = await openStreet();
    await platform.call('tenants.set-status', CALLS['tenants.set-status'](ours));
    const call = platform.call(name, { ...CALLS[name](ours), as: platform.builder(ours.tenant.id) });
    expect(await refusal(call)).toMatchObject({ status: 403, reason: 'tenant_not_active' });
  });
});

test("another tenant's scope under the builder's own tenant is not there either", async () => {
  const { platform, ours, theirs } = await openStreet();
  const params = { tenant: ours.tenant.id, scope: theirs.scope.id };
  for (const as of [STAFF, platform.builder(ours.tenant.id)]) {
    expect(await refusal(platform.call('scopes.get', { params, as }))).toMatchObject({ status: 404 });
    expect(await refusal(platform.call('denials.list', { params, as }))).toMatchObject({ status: 404 });
    const bind = { hostname: 'x.localhost', tenant: ours.tenant.id, scope: theirs.scope.id };
    expect(await refusal(platform.call('hostnames.bind', { body: bind, as }))).toMatchObject({ status: 404 });
  }
});

test('an actor of a kind that nobody knows may do nothing', async () => {
  const { platform, ours } = await openStreet();
  const as = { kind: 'root', id: 'x', name: 'x', tenant: ours.tenant.id } as never;
  expect(await refusal(platform.call('tenants.list', { as }))).toMatchObject({ status: 403 });
});
