/** The operations on a tenant in each of its states, and the immediate effect of suspending one (C-03). */
import { describe, expect, test } from 'vitest';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { type CallParts, openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type {
  AdminLogEntry,
  AdminOperationName,
  OperationRecord,
  ScopeRecord,
  TenantRecord,
} from '../admin-operations.ts';

type Status = TenantRecord['status'];
const STATES: readonly Status[] = ['active', 'suspended', 'deleting', 'reaped'];

interface Ready {
  readonly tenant: TenantRecord;
  /** It was active when the tenant was. */
  readonly scope: ScopeRecord;
}

interface Verb {
  readonly operation: AdminOperationName;
  readonly parts: (ready: Ready) => CallParts;
  /** Which state comes of which. From every other it is an `invalid_transition`. */
  readonly leads: Partial<Record<Status, Status>>;
  /** The outcomes of the rows that it writes. Default: of one that was done at once. */
  readonly rows?: readonly AdminLogEntry['outcome'][];
}

const BY_AN_EFFECT = ['intent', 'done'] as const;
const on = ({ id }: TenantRecord, more: Record<string, unknown> = {}) => ({
  params: { tenant: id, ...more },
});
const onScope = ({ tenant, scope }: Ready) => on(tenant, { scope: scope.id });
const stays = (...states: Status[]) => Object.fromEntries(states.map((state) => [state, state]));
const setTo = (status: Status, from: readonly Status[]): Verb => ({
  operation: 'tenants.set-status',
  parts: ({ tenant }) => ({ ...on(tenant), body: { status } }),
  leads: Object.fromEntries(from.map((state) => [state, status])),
});

const VERBS: Readonly<Record<string, Verb>> = {
  resume: setTo('active', ['suspended', 'deleting']),
  suspend: setTo('suspended', ['active']),
  'begin to delete': setTo('deleting', ['active', 'suspended']),
  reap: {
    operation: 'tenants.reap',
    parts: ({ tenant }) => ({ ...on(tenant), body: {} }),
    leads: { deleting: 'reaped' },
    rows: BY_AN_EFFECT,
  },
  'plan to reap': {
    operation: 'tenants.reap',
    parts: ({ tenant }) => ({ ...on(tenant), query: { dryRun: true }, body: {} }),
    leads: stays('deleting'),
    rows: [],
  },
  rename: {
    operation: 'tenants.update',
    parts: ({ tenant }) => ({ ...on(tenant), body: { name: 'Another' } }),
    leads: stays('active', 'suspended', 'deleting'),
  },
  'add an identity': {
    operation: 'identities.add',
    parts: ({ tenant }) => ({
      ...on(tenant),
      body: { kind: 'issuer', issuer: 'https://login.example.com' },
    }),
    leads: stays('active', 'suspended'),
  },
  'give an entitlement': {
    operation: 'entitlements.put',
    parts: ({ tenant }) => ({ ...on(tenant, { key: 'seats' }), body: { quota: 6 } }),
    leads: stays('active', 'suspended'),
  },
  'provision a scope': {
    operation: 'scopes.provision',
    parts: ({ tenant }) => ({
      ...on(tenant),
      body: { slug: 'next', name: 'Next', vertical: 'fieldwork' },
    }),
    leads: stays('active'),
    rows: BY_AN_EFFECT,
  },
  'make a push token': {
    operation: 'push-tokens.create',
    parts: ({ tenant }) => ({ body: { name: 'next', tenant: tenant.id } }),
    leads: stays('active'),
  },
  'bind a host name': {
    operation: 'hostnames.bind',
    parts: ({ tenant, scope }) => ({
      body: { hostname: 'acme.localhost', tenant: tenant.id, scope: scope.id },
    }),
    leads: stays('active'),
  },
  'make a connection': {
    operation: 'connections.create',
    parts: ({ tenant, scope }) => ({
      ...on(tenant),
      body: { provider: 'ledger', scope: scope.id, subjectRef: 'books', apiKey: 'key-of-acme-1' },
    }),
    leads: stays('active'),
  },
  'register a vertical': {
    operation: 'verticals.create',
    parts: ({ tenant }) => ({ body: { slug: 'trades', name: 'Trades', ownerTenant: tenant.id } }),
    leads: stays('active'),
  },
  // Its things are maintained also while it serves no requests.
  'suspend a scope': {
    operation: 'scopes.set-status',
    parts: (ready) => ({ ...onScope(ready), body: { status: 'suspended' } }),
    leads: stays('active', 'suspended', 'deleting'),
  },
  'configure a scope': {
    operation: 'scopes.configure',
    parts: (ready) => ({ ...onScope(ready), body: { config: { COLOUR: 'red' } } }),
    leads: stays('active', 'suspended', 'deleting'),
    rows: BY_AN_EFFECT,
  },
};

/** A tenant in a state, reached as anybody reaches it. */
async function tenantThatIs(platform: Platform, status: Status): Promise<Ready> {
  const tenant = await platform.tenant('acme');
  const scope = await platform.scope(tenant.id);
  if (status === 'active') return { tenant, scope };
  const body = { status: status === 'suspended' ? 'suspended' : 'deleting' };
  await platform.call('tenants.set-status', { ...on(tenant), body });
  if (status === 'reaped')
    await endOf(platform, await platform.call('tenants.reap', { ...on(tenant), body: {} }));
  return { tenant: await platform.value<TenantRecord>('tenants.get', on(tenant)), scope };
}

async function endOf(platform: Platform, { value }: { value: unknown }): Promise<void> {
  const params = { operation: (value as OperationRecord).id };
  const look = () => platform.value<OperationRecord>('operations.get', { params });
  await expect.poll(async () => (await look()).state).toBe('done');
}

describe.each(STATES)('C-03, C-30: a tenant that is %s', (status) => {
  for (const [name, { operation, parts, leads, rows: outcomes = ['done'] }] of Object.entries(VERBS)) {
    const next = leads[status];
    test(`${name}: ${next === undefined ? 'is refused, and nothing is written' : `is ${next} then`}`, async () => {
      const platform = await openPlatform({ connections: makeKeyProvider().options });
      const ready = await tenantThatIs(platform, status);
      const { tenant } = ready;
      expect(tenant.status).toBe(status);
      const before = await platform.adminLog();
      const call = platform.call(operation, parts(ready));
      if (next === undefined) {
        expect(await refusal(call)).toMatchObject({ status: 409, code: 'invalid_transition' });
        expect(await platform.adminLog()).toEqual(before);
        expect(await platform.value('tenants.get', on(tenant))).toEqual(tenant);
        return;
      }
      const result = await call;
      if (result.status === 202) await endOf(platform, result);
      expect((await platform.value<TenantRecord>('tenants.get', on(tenant))).status).toBe(next);
      const written = (await platform.adminLog())
        .slice(before.length)
        .filter(({ action }) => action === operation);
      expect(written.map(({ outcome }) => outcome)).toEqual(outcomes);
      for (const row of written) expect(row.target.tenant).toBe(tenant.id);
      if (next !== status)
        expect(written.at(-1)).toMatchObject({
          before: { status },
          after: { status: next },
        });
    });
  }
});

describe('C-03: renaming', () => {
  test('changes the name, is found by it, and writes one row', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const { value, etag } = await platform.call('tenants.update', {
      ...on(tenant),
      body: { name: 'Blue Whale Ltd' },
      ifMatch: `"${tenant.etag}"`,
    });
    expect(value).toEqual({ ...tenant, name: 'Blue Whale Ltd', updatedAt: expect.any(String), etag });
    const found = await platform.value<{ items: unknown[] }>('tenants.list', { query: { q: 'blue wh' } });
    expect(found.items).toEqual([value]);
    const row = (await platform.adminLog()).at(-1);
    expect(row).toMatchObject({
      action: 'tenants.update',
      before: { slug: 'acme', name: 'Tenant acme', status: 'active' },
      after: { slug: 'acme', name: 'Blue Whale Ltd', status: 'active' },
    });
    expect(etag).toBe(String(row?.sequence));
  });

  test('the same name again changes nothing; a stale tag is refused', async () => {
    const platform = await openPlatform();
    const tenant = await platform.tenant('acme');
    const rename = (name: string, ifMatch?: string) =>
      platform.call('tenants.update', { ...on(tenant), body: { name }, ...(ifMatch ? { ifMatch } : {}) });
    expect((await rename(tenant.name)).value).toEqual(tenant);
    await rename('Another');
    const before = await platform.adminLog();
    expect(await refusal(rename('A third', `"${tenant.etag}"`))).toMatchObject({ status: 412 });
    expect(await refusal(rename(''))).toMatchObject({ status: 400 });
    expect(await platform.adminLog()).toEqual(before);
  });
});

describe.each(['suspended', 'deleting'] as const)('C-03: a tenant that becomes %s', (status) => {
  test('serves no requests from the next one on, and serves again when it is back', async () => {
    const platform = await openPlatform({ connections: makeKeyProvider().options });
    const tenant = await platform.tenant('acme');
    const other = await platform.tenant('globex');
    const scope = await platform.scope(tenant.id);
    await platform.hostname(scope, 'acme.localhost');
    await platform.hostname(await platform.scope(other.id), 'globex.localhost');
    const { secret } = await platform.value<{ secret: string }>('push-tokens.create', {
      body: { name: 'ci', tenant: tenant.id },
    });
    const { id: connection } = await platform.value<{ id: string }>('connections.create', {
      ...on(tenant),
      body: { provider: 'ledger', scope: scope.id, subjectRef: 'books', apiKey: 'key-of-acme-1' },
    });
    await platform.call('connection-grants.put', {
      ...on(tenant, { connection }),
      body: { scope: scope.id, permission: 'order.read' },
    });
    let rerouted = 0;
    platform.admin.onRoutesChanged(() => rerouted++);
    const serving = async () =>
      Object.fromEntries((await platform.admin.routes()).map((route) => [route.hostname, route.serving]));
    const ref = { tenant: tenant.id, connection };
    const invoke = () =>
      platform.admin.connections.invoke({
        tenantId: tenant.id,
        scopeId: scope.id,
        connection,
        operation: 'order/read',
        input: {},
      });
    expect(await serving()).toEqual({ 'acme.localhost': true, 'globex.localhost': true });

    await platform.call('tenants.set-status', { ...on(tenant), body: { status } });
    // The router is told and draws its map anew: no request, and so no session, gets further than there.
    expect(rerouted).toBe(1);
    expect(await serving()).toEqual({ 'acme.localhost': false, 'globex.localhost': true });
    // Its builder, by the token and by a session that goes on.
    expect(await platform.admin.authenticate(secret)).toBeNull();
    const as = platform.builder(tenant.id);
    expect(await refusal(platform.call('tenants.get', { ...on(tenant), as }))).toMatchObject({
      status: 403,
      reason: 'tenant_not_active',
    });
    // Deliveries from outside, and those in its name.
    expect(await refusal(invoke())).toMatchObject({ status: 403, reason: 'not_granted' });
    expect(await refusal(platform.admin.connections.use(ref))).toMatchObject({ status: 409 });

    await platform.call('tenants.set-status', { ...on(tenant), body: { status: 'active' } });
    expect(rerouted).toBe(2);
    expect(await serving()).toEqual({ 'acme.localhost': true, 'globex.localhost': true });
    expect(await platform.admin.authenticate(secret)).toMatchObject({ kind: 'builder' });
    await expect(invoke()).resolves.toBeDefined();
  });
});
