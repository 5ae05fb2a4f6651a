/** The access matrix: every declared operation × every kind of actor × own, other and no tenant. */
import { makeKeyring } from '@freehold/store';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { runs } from '../../../testkit/src/index.ts';
import { makeHostnameWorld } from '../../test/hostname-probes.ts';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { type MemoryBackups, makeMemoryBackups } from '../../test/memory-backups.ts';
import { openPlatform, type Platform, refusal, SERVICE, STAFF } from '../../test/platform.ts';
import { chattyTelemetry, makeRuntimeDouble, manifestOf, openApp, quietEgress } from '../../test/registry.ts';
import { letProgramIn, staffMember, staffToken } from '../../test/staff.ts';
import { EVENT, INVOCATION } from '../../test/vertical-double.ts';
import {
  type AdminOperationName,
  adminOperations,
  type BuilderAccess,
  type IssueRecord,
  type OperationRecord,
  type PreviewMade,
  type ScopeRecord,
  type TenantRecord,
} from '../admin-operations.ts';
import type { Actor, AdminCall } from './actors.ts';

const MODULE = { name: 'index.js', mediaType: 'application/javascript+module', base64: btoa('0') };

interface Fixture {
  readonly tenant: TenantRecord;
  readonly scope: ScopeRecord;
  readonly hostname: string;
  readonly custom: string;
  readonly serviceToken: string;
  readonly token: string;
  readonly connection: string;
  readonly issue: string;
  readonly snapshot: string;
  readonly app: { readonly slug: string; readonly pending: string };
  readonly preview: string;
  readonly identity: string;
  readonly member: string;
  readonly staffToken: string;
  readonly program: string;
  /** Of the scope or, for what is about the directory, of that. Empty where the operation needs none. */
  readonly backup: string;
  /** Long work that is not finished, for what is about such. */
  readonly operation: string;
}

interface TwoTenants {
  readonly platform: Platform;
  readonly ours: Fixture;
  readonly theirs: Fixture;
}

/** Two tenants with everything a tenant can have, so that there is always something of B to be leaked to A. */
async function openFixture(
  name?: AdminOperationName,
  onEnd: (close: () => Promise<void>) => void = onTestFinished,
): Promise<TwoTenants> {
  const backups = makeMemoryBackups();
  const options = {
    backups,
    runtime: makeRuntimeDouble(),
    sealing: makeKeyring(['k'.repeat(43)]),
    egress: quietEgress,
    telemetry: chattyTelemetry,
    alertsTest: async () => [{ channel: 'mail', sent: true, detail: null }],
    connections: makeKeyProvider().options,
    hostnames: makeHostnameWorld().probes,
  };
  const platform = await openPlatform(options, onEnd);
  // A worker, and a host in this process that opens snapshots.
  platform.reach = 'both';
  await platform.admin.registerBuiltIn({ manifest: manifestOf('fieldwork', '1.0.0'), migrations: [] });
  const fixture = async (slug: string): Promise<Fixture> => {
    const tenant = await platform.tenant(slug);
    const scope = await platform.scope(tenant.id);
    const { hostname } = await platform.hostname(scope, `${slug}.localhost`);
    const { hostname: custom } = await platform.hostname(scope, `shop.${slug}.example`);
    const { token: service } = await platform.value<{ token: { id: string } }>('service-tokens.create', {
      body: { name: slug },
    });
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
    const { id: identity } = await platform.value<{ id: string }>('identities.add', {
      params: { tenant: tenant.id },
      body: { kind: 'organization', issuer: 'https://login.example.com', value: `org-${slug}` },
    });
    await platform.call('entitlements.put', {
      params: { tenant: tenant.id, key: 'seats' },
      body: { quota: 5 },
    });
    const member = await staffMember(platform, { login: slug, role: 'operator' });
    const { id: ofStaff } = await staffToken(platform, member.id);
    const { id: program } = await letProgramIn(platform, member.id);
    const app = await openApp(platform, tenant.id, `${slug}-app`);
    await platform.call('secrets.set', {
      params: { slug: app.slug, name: 'PAYMENT_KEY' },
      body: { secret: 'prepared' },
    });
    const { preview } = await platform.value<PreviewMade>('previews.create', {
      params: { slug: app.slug },
      body: { manifest: manifestOf(app.slug, '4.0.0'), modules: [MODULE] },
    });
    const { backup, operation } = await longWorkFor(name, platform, backups, at);
    return {
      app,
      preview: preview.id,
      backup,
      operation,
      member: member.id,
      staffToken: ofStaff,
      program,
      tenant,
      scope,
      hostname,
      custom,
      serviceToken: service.id,
      token: token.id,
      connection,
      issue,
      snapshot,
      identity,
    };
  };
  return { platform, ours: await fixture('ours'), theirs: await fixture('theirs') };
}

const closings: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closings) await close();
});

const shared = new Map<string, Promise<TwoTenants>>();

/**
 * A fixture that several tests share. Only for calls that change nothing: a read, or one that is refused.
 * @param part names the fixture, with what `prepare` does to it once.
 */
function sharedFixture(
  name: AdminOperationName,
  part: string,
  prepare: (fixture: TwoTenants) => Promise<unknown> = async () => undefined,
): Promise<TwoTenants> {
  const needed = NEEDS_WORK.find((prefix) => name.startsWith(prefix)) ?? '';
  const key = `${part} ${needed}`;
  const open = async () => {
    const opened = await openFixture(needed === '' ? undefined : name, (close) => void closings.push(close));
    await prepare(opened);
    return opened;
  };
  const found = shared.get(key) ?? open();
  shared.set(key, found);
  return found;
}

/** A fixture for one test: its own where the operation changes something, a shared one where it reads. */
function fixtureFor(name: AdminOperationName): Promise<TwoTenants> {
  return adminOperations[name].audit === 'audit' ? openFixture(name) : sharedFixture(name, 'read');
}

type Parts = {
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: Record<string, unknown>;
  upload?: NonNullable<AdminCall['upload']>;
};

/** A good call of each operation about one house. An operation without a line here fails the test below. */
const CALLS: Readonly<Record<AdminOperationName, (fixture: Fixture) => Parts>> = {
  'tenants.list': () => ({}),
  'tenants.create': () => ({ body: { slug: 'fresh', name: 'Fresh' } }),
  'tenants.get': ({ tenant }) => ({ params: { tenant: tenant.id } }),
  'tenants.update': ({ tenant }) => ({ params: { tenant: tenant.id }, body: { name: 'Another' } }),
  'tenants.set-status': ({ tenant }) => ({ params: { tenant: tenant.id }, body: { status: 'suspended' } }),
  'tenants.reap': ({ tenant }) => ({ params: { tenant: tenant.id }, body: {} }),
  'identities.list': ({ tenant }) => ({ params: { tenant: tenant.id } }),
  'identities.add': ({ tenant }) => ({
    params: { tenant: tenant.id },
    body: { kind: 'pool', issuer: 'https://login.example.com', value: `pool-${tenant.slug}` },
  }),
  'identities.remove': ({ tenant, identity }) => ({ params: { tenant: tenant.id, identity } }),
  'entitlements.list': ({ tenant }) => ({ params: { tenant: tenant.id } }),
  'entitlements.put': ({ tenant }) => ({
    params: { tenant: tenant.id, key: 'reports' },
    body: { plan: 'pro' },
  }),
  'entitlements.delete': ({ tenant }) => ({ params: { tenant: tenant.id, key: 'seats' } }),
  'scopes.set-status': (fixture) => ({ ...inScope(fixture), body: { status: 'suspended' } }),
  'scopes.reap': (fixture) => ({ ...inScope(fixture), body: {} }),
  'scope-backups.list': inScope,
  'scope-backups.create': (fixture) => ({ ...inScope(fixture), body: {} }),
  'scope-backups.delete': ({ backup, ...fixture }) => ({ params: { ...inScope(fixture).params, backup } }),
  'imports.create': (fixture) => ({
    ...inScope(fixture),
    upload: {
      mediaType: 'application/x-ndjson',
      body: new Response('a copy').body as ReadableStream<Uint8Array>,
    },
  }),
  'directory-backups.list': () => ({}),
  'directory-backups.create': () => ({ body: {} }),
  'directory-backups.delete': ({ backup }) => ({ params: { backup } }),
  'directory.restore': ({ backup }) => ({ body: { backup } }),
  'fleet-migrations.get': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'fleet-migrations.run': () => ({ body: {} }),
  'operations.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'operations.get': ({ operation }) => ({ params: { operation } }),
  'operations.cancel': ({ operation }) => ({ params: { operation } }),
  'scopes.fleet': () => ({}),
  'scopes.list': ({ tenant }) => ({ params: { tenant: tenant.id } }),
  'scopes.provision': ({ tenant }) => ({
    params: { tenant: tenant.id },
    body: { slug: 'second', name: 'Second', vertical: 'fieldwork' },
  }),
  'scopes.get': inScope,
  'scopes.configure': (fixture) => ({ ...inScope(fixture), body: { config: { COLOUR: 'red' } } }),
  'scopes.restore': ({ snapshot, ...fixture }) => ({ ...inScope(fixture), body: { from: { snapshot } } }),
  'scopes.rewind': (fixture) => ({ ...inScope(fixture), body: { bookmark: 'bm_1' } }),
  'migrations.get': inScope,
  'bookmarks.list': inScope,
  'snapshots.list': inScope,
  'snapshots.take': (fixture) => ({ ...inScope(fixture), body: { name: 'before the audit' } }),
  'snapshots.delete': ({ snapshot, ...fixture }) => ({ params: { ...inScope(fixture).params, snapshot } }),
  'owner-seat.get': inScope,
  'owner-claim.mint': inScope,
  'session-secret.rotate': (fixture) => ({ ...inScope(fixture), body: { keepFormer: true } }),
  'owner-replacement.mint': (fixture) => ({
    ...inScope(fixture),
    body: { why: 'Ticket 17.', replace: true },
  }),
  'owner-recovery.end': (fixture) => ({ ...inScope(fixture), body: { why: 'Ticket 17.' } }),
  'owner-recovery.mint': (fixture) => ({ ...inScope(fixture), body: { why: 'Ticket 17.', recover: true } }),
  'tables.list': inScope,
  'tables.read': (fixture) => ({ params: { ...inScope(fixture).params, table: 'orders' } }),
  'query.run': (fixture) => ({ ...inScope(fixture), body: { sql: 'SELECT id FROM orders' } }),
  'scopes.export': inScope,
  'health.get': inScope,
  'history.get': (fixture) => ({ ...inScope(fixture), query: { entityType: 'order', entityId: 'ord_1' } }),
  'facets.get': inScope,
  'cause.get': (fixture) => ({ params: { ...inScope(fixture).params, event: EVENT } }),
  'effects.get': (fixture) => ({ params: { ...inScope(fixture).params, event: EVENT } }),
  'invocation.get': (fixture) => ({ params: { ...inScope(fixture).params, invocation: INVOCATION } }),
  'dead-letters.list': inScope,
  'dead-letters.retry': (fixture) => ({
    params: { ...inScope(fixture).params, event: EVENT },
    body: { subscriber: 'invoices' },
  }),
  'denials.list': inScope,
  'denials.summary': inScope,
  'scope-version.get': inScope,
  'scope-version.set': (fixture) => ({ ...inScope(fixture), body: { version: '1.0.0' } }),
  'verticals.list': () => ({}),
  'verticals.create': ({ tenant }) => ({
    body: { slug: `new-${tenant.slug}`, name: 'New', ownerTenant: tenant.id },
  }),
  'verticals.get': onApp,
  'verticals.update': (fixture) => ({ ...onApp(fixture), body: { name: 'Renamed' } }),
  'vertical-versions.list': onApp,
  'vertical-versions.register': (fixture) => ({
    ...onApp(fixture),
    body: { version: '3.0.0', digest: 'd'.repeat(64), manifest: manifestOf(fixture.app.slug, '3.0.0') },
  }),
  'vertical-versions.get': onVersion,
  'vertical-versions.admit': (fixture) => ({ ...onVersion(fixture), body: {} }),
  'vertical-versions.reject': (fixture) => ({ ...onVersion(fixture), body: { note: 'No.' } }),
  'vertical-versions.discard': onVersion,
  'channels.list': onApp,
  'channels.promote': ({ app }) => ({
    params: { slug: app.slug, channel: 'prod' },
    body: { version: '1.1.0' },
  }),
  'verticals.deploy': (fixture) => ({
    ...onApp(fixture),
    body: {
      manifest: manifestOf(fixture.app.slug, '4.0.0'),
      modules: [MODULE],
    },
  }),
  'verticals.instances': onApp,
  'listings.get': onApp,
  'listings.put': (fixture) => ({ ...onApp(fixture), body: { tier: 'private', title: 'Ours' } }),
  'listings.request-publish': (fixture) => ({ ...onApp(fixture), body: {} }),
  'install-blocks.get': onApp,
  'install-blocks.put': (fixture) => ({ ...onApp(fixture), body: { reason: 'Something else.' } }),
  'install-blocks.delete': onApp,
  'verticals.egress': onApp,
  'verticals.modules': onApp,
  'verticals.move': (fixture) => ({ ...onApp(fixture), body: {} }),
  'previews.list': onApp,
  'previews.create': (fixture) => ({
    ...onApp(fixture),
    body: { manifest: manifestOf(fixture.app.slug, '4.0.0'), modules: [MODULE] },
  }),
  'previews.open': onPreview,
  'previews.end': onPreview,
  'secrets.list': onApp,
  'secrets.set': (fixture) => ({ ...onSecret(fixture), body: { secret: 'first' } }),
  'secrets.rotate': (fixture) => ({ ...onSecret(fixture), body: { secret: 'second' } }),
  'secrets.remove': onSecret,
  'email-sender.get': onApp,
  'email-sender.put': (fixture) => ({ ...onApp(fixture), body: { note: 'newsletters' } }),
  'email-sender.delete': onApp,
  'tenant-provisioner.get': onApp,
  'tenant-provisioner.put': (fixture) => ({ ...onApp(fixture), body: { note: 'sign-up' } }),
  'tenant-provisioner.delete': onApp,
  'hostnames.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'hostnames.bind': ({ tenant, scope }) => ({
    body: { hostname: `new.${tenant.slug}.localhost`, tenant: tenant.id, scope: scope.id },
  }),
  'hostnames.set-status': ({ hostname }) => ({ body: { hostname, status: 'disabled' } }),
  'hostnames.verify': ({ custom }) => ({ body: { hostname: custom } }),
  'hostnames.delete': ({ hostname }) => ({ params: { hostname }, query: {} }),
  'subjects.shred': (fixture) => ({ params: { ...inScope(fixture).params, subject: 'rdr_ada' } }),
  'connections.list': ({ tenant }) => ({ params: { tenant: tenant.id } }),
  'connections.create': ({ tenant, scope }) => ({
    params: { tenant: tenant.id },
    body: { provider: 'ledger', scope: scope.id, subjectRef: 'second', apiKey: `key-of-${tenant.slug}-2` },
  }),
  'connections.get': onConnection,
  'connections.disconnect': onConnection,
  'connections.verify': onConnection,
  'connections.credential': onConnection,
  'connections.rotate': (fixture) => ({
    ...onConnection(fixture),
    body: { apiKey: `key-of-${fixture.tenant.slug}-1-new` },
  }),
  'connections.activity': onConnection,
  'connection-grants.list': onConnection,
  'connection-grants.put': (fixture) => ({
    ...onConnection(fixture),
    body: { scope: fixture.scope.id, permission: 'order.complete' },
  }),
  'connection-grants.delete': (fixture) => ({ ...onConnection(fixture), query: { scope: fixture.scope.id } }),
  'roles.list': () => ({}),
  'roles.put': () => ({ params: { key: 'support' }, body: { name: 'Support', permissions: ['order.read'] } }),
  'roles.delete': () => ({ params: { key: 'support' } }),
  'admin-log.list': () => ({}),
  'admin-log.verify': () => ({}),
  'access-log.list': () => ({}),
  'ops-failures.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'sweep-runs.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'issues.list': () => ({}),
  'alerts.test': () => ({}),
  'issues.set-status': ({ issue }) => ({ body: { fingerprint: issue, status: 'resolved' } }),
  'model-usage.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'meters.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'staff.list': () => ({}),
  'staff.get': ({ member }) => ({ params: { member } }),
  'staff.put': () => ({ body: { email: 'new@example.test', name: 'New', role: 'auditor' } }),
  'staff.remove': ({ member }) => ({ params: { member } }),
  'staff-tokens.list': () => ({}),
  'staff-tokens.revoke': ({ staffToken: token }) => ({ params: { token } }),
  'staff-programs.list': () => ({}),
  'staff-programs.end': ({ program }) => ({ params: { program } }),
  'program-policy.get': () => ({}),
  'program-policy.put': () => ({ body: { programs: 'any', hosts: [] } }),
  'observability.logs': () => ({}),
  'observability.metrics': () => ({}),
  'observability.metrics-series': () => ({}),
  'observability.tenant-lines': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'observability.tenant-logs': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'observability.tenant-metrics': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'observability.tenant-metrics-series': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'service-refs.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'push-tokens.list': ({ tenant }) => ({ query: { tenant: tenant.id } }),
  'push-tokens.create': ({ tenant }) => ({ body: { name: 'second', tenant: tenant.id } }),
  'push-tokens.rotate': ({ token }) => ({ params: { token }, body: {} }),
  'push-tokens.revoke': ({ token }) => ({ params: { token } }),
  'service-tokens.list': () => ({}),
  'service-tokens.create': () => ({ body: { name: 'second' } }),
  'service-tokens.rotate': ({ serviceToken: token }) => ({ params: { token }, body: {} }),
  'service-tokens.revoke': ({ serviceToken: token }) => ({ params: { token } }),
};

function inScope({ tenant, scope }: Pick<Fixture, 'tenant' | 'scope'>) {
  return { params: { tenant: tenant.id, scope: scope.id } };
}

function onApp({ app }: Fixture) {
  return { params: { slug: app.slug } };
}

function onPreview({ app, preview }: Fixture) {
  return { params: { slug: app.slug, preview } };
}

function onSecret({ app }: Fixture) {
  return { params: { slug: app.slug, name: 'PAYMENT_KEY' } };
}

function onVersion({ app }: Fixture) {
  return { params: { slug: app.slug, id: app.pending } };
}

/** The operations that {@link longWorkFor} prepares something for, by the beginning of their names. */
const NEEDS_WORK = [
  'scopes.reap',
  'scope-backups.delete',
  'directory.restore',
  'directory-backups.delete',
  'operations.',
];

/** The preparations for calls about backups and long work. */
async function longWorkFor(
  name: AdminOperationName | undefined,
  platform: Platform,
  backups: MemoryBackups,
  params: { tenant: string; scope: string },
): Promise<Pick<Fixture, 'backup' | 'operation'>> {
  const make = (of: 'scope-backups.create' | 'directory-backups.create') =>
    platform.call(of, { body: {}, ...(of === 'scope-backups.create' ? { params } : {}) });
  const idOf = async (of: 'scope-backups.create' | 'directory-backups.create') =>
    ((await platform.finish(make(of))).result as { id: string }).id;
  if (name === 'scopes.reap')
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
  if (name === 'scope-backups.delete') return { backup: await idOf('scope-backups.create'), operation: '' };
  if (name === 'directory.restore' || name === 'directory-backups.delete')
    return { backup: await idOf('directory-backups.create'), operation: '' };
  if (!name?.startsWith('operations.')) return { backup: '', operation: '' };
  backups.beforePut = () => new Promise(() => undefined);
  // A builder may cancel only work that it began.
  const as = platform.builder(params.tenant);
  const { value } = await platform.call('scope-backups.create', { params, body: {}, as });
  return { backup: '', operation: (value as OperationRecord).id };
}

/** The entries of a log that were not there before. */
function newIn<Entry extends { readonly requestId: string }>(
  now: readonly Entry[],
  before: readonly Entry[],
): Entry[] {
  const known = new Set(before.map(({ requestId }) => requestId));
  return now.filter(({ requestId }) => !known.has(requestId));
}

/** Waits until long work has ended. */
async function endOf(platform: Platform, value: unknown): Promise<void> {
  const params = { operation: (value as OperationRecord).id };
  const look = () => platform.value<OperationRecord>('operations.get', { params });
  await expect.poll(async () => (await look()).state, { timeout: 30_000 }).toBe('done');
}

function onConnection({ tenant, connection }: Fixture) {
  return { params: { tenant: tenant.id, connection } };
}

function withoutTenant({ tenant: _, ...rest }: Record<string, unknown>) {
  return rest;
}

/** The operations of a builder, listed again by hand: the declarations must agree. */
const BUILDER: Readonly<Record<AdminOperationName, BuilderAccess>> = {
  'tenants.list': 'own-tenant',
  'tenants.create': 'none',
  'tenants.get': 'own-tenant',
  'tenants.update': 'none',
  'tenants.set-status': 'none',
  'tenants.reap': 'none',
  'identities.list': 'none',
  'identities.add': 'none',
  'identities.remove': 'none',
  'entitlements.list': 'own-tenant',
  'entitlements.put': 'none',
  'entitlements.delete': 'none',
  'scopes.set-status': 'none',
  'scopes.reap': 'none',
  'scope-backups.list': 'own-tenant',
  'scope-backups.create': 'own-tenant',
  'scope-backups.delete': 'none',
  'imports.create': 'none',
  'directory-backups.list': 'none',
  'directory-backups.create': 'none',
  'directory-backups.delete': 'none',
  'directory.restore': 'none',
  'fleet-migrations.get': 'own-tenant',
  'fleet-migrations.run': 'none',
  'operations.list': 'own-tenant',
  'operations.get': 'own-tenant',
  'operations.cancel': 'own-tenant',
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
  'owner-recovery.mint': 'none',
  'owner-recovery.end': 'none',
  'owner-replacement.mint': 'none',
  'session-secret.rotate': 'none',
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
  'dead-letters.retry': 'none',
  'denials.list': 'own-tenant',
  'denials.summary': 'own-tenant',
  'scope-version.get': 'own-tenant',
  'scope-version.set': 'own-tenant',
  'verticals.list': 'own-tenant',
  'verticals.create': 'own-tenant',
  'verticals.get': 'own-tenant',
  'verticals.update': 'own-tenant',
  'vertical-versions.list': 'own-tenant',
  'vertical-versions.register': 'own-tenant',
  'vertical-versions.get': 'own-tenant',
  'vertical-versions.admit': 'own-tenant',
  'vertical-versions.reject': 'own-tenant',
  'vertical-versions.discard': 'own-tenant',
  'channels.list': 'own-tenant',
  'channels.promote': 'own-tenant',
  'verticals.deploy': 'own-tenant',
  'verticals.instances': 'own-tenant',
  'listings.get': 'own-tenant',
  'listings.put': 'own-tenant',
  'listings.request-publish': 'own-tenant',
  'install-blocks.get': 'own-tenant',
  'install-blocks.put': 'own-tenant',
  'install-blocks.delete': 'own-tenant',
  'verticals.egress': 'none',
  'verticals.modules': 'own-tenant',
  'verticals.move': 'own-tenant',
  'previews.list': 'own-tenant',
  'previews.create': 'own-tenant',
  'previews.open': 'own-tenant',
  'previews.end': 'own-tenant',
  'secrets.list': 'own-tenant',
  'secrets.set': 'own-tenant',
  'secrets.rotate': 'own-tenant',
  'secrets.remove': 'own-tenant',
  'email-sender.get': 'none',
  'email-sender.put': 'none',
  'email-sender.delete': 'none',
  'tenant-provisioner.get': 'none',
  'tenant-provisioner.put': 'none',
  'tenant-provisioner.delete': 'none',
  'hostnames.list': 'own-tenant',
  'hostnames.bind': 'own-tenant',
  'hostnames.set-status': 'own-tenant',
  'hostnames.verify': 'own-tenant',
  'hostnames.delete': 'own-tenant',
  'subjects.shred': 'none',
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
  'alerts.test': 'none',
  'issues.set-status': 'none',
  'model-usage.list': 'none',
  'meters.list': 'none',
  'staff.list': 'none',
  'staff.get': 'none',
  'staff.put': 'none',
  'staff.remove': 'none',
  'staff-tokens.list': 'own-tenant',
  'staff-tokens.revoke': 'own-tenant',
  'staff-programs.list': 'own-tenant',
  'staff-programs.end': 'own-tenant',
  'program-policy.get': 'none',
  'program-policy.put': 'none',
  'observability.logs': 'none',
  'observability.metrics': 'none',
  'observability.metrics-series': 'none',
  'observability.tenant-lines': 'own-tenant',
  'observability.tenant-logs': 'own-tenant',
  'observability.tenant-metrics': 'own-tenant',
  'observability.tenant-metrics-series': 'own-tenant',
  'service-refs.list': 'own-tenant',
  'push-tokens.list': 'own-tenant',
  'push-tokens.create': 'none',
  'push-tokens.rotate': 'own-tenant',
  'push-tokens.revoke': 'own-tenant',
  'service-tokens.list': 'none',
  'service-tokens.create': 'none',
  'service-tokens.rotate': 'none',
  'service-tokens.revoke': 'none',
};

/** Operations in which no field can name another tenant: what belongs to others is left out instead. */
const NAMES_NO_PRINCIPAL: readonly AdminOperationName[] = [
  'tenants.list',
  'verticals.list',
  'staff-tokens.list',
  'staff-programs.list',
];

/** Operations on what is a person's own, of which a push token, the builder of these tests, has none. */
const OF_PERSONS: readonly AdminOperationName[] = ['staff-tokens.revoke', 'staff-programs.end'];

const NAMES = Object.keys(adminOperations) as AdminOperationName[];

const STAFF_KINDS = [
  ['staff', STAFF],
  ['service', SERVICE],
] as const;

/**
 * Which of the two kinds try an operation. A change needs a fixture of its own, so that in `npm test` one kind tries it;
 * the access matrix of the control plane has both at each operation.
 */
function kindsFor(name: AdminOperationName): [number, number] {
  if (adminOperations[name].audit !== 'audit' || runs(2, 1) === 2) return [0, 2];
  const only = NAMES.indexOf(name) % 2;
  return [only, only + 1];
}

/** True where the query or the body can say the tenant; the path always says it. */
function takesTenant(name: AdminOperationName): boolean {
  const { query, body } = adminOperations[name].input as Record<
    'query' | 'body',
    { shape?: object } | undefined
  >;
  return [query, body].some((part) => part?.shape !== undefined && 'tenant' in part.shape);
}

/** A builder looks only into scopes of verticals that its tenant owns. */
const looksInside = (name: AdminOperationName) =>
  adminOperations[name].audit === 'access' && BUILDER[name] === 'own-tenant';

async function moveToOwnVertical({ platform, ours }: TwoTenants): Promise<void> {
  await platform.tamper((database) =>
    database.prepare("UPDATE verticals SET owner_tenant = ? WHERE slug = 'fieldwork'").run(ours.tenant.id),
  );
}

describe.each(NAMES)('spec C-01: %s', (name) => {
  test('the declaration says what a builder may do', () => {
    expect(adminOperations[name].builder).toBe(BUILDER[name]);
    expect(adminOperations[name].name).toBe(name);
  });

  for (const [kind, actor] of STAFF_KINDS.slice(...kindsFor(name))) {
    test(`${kind} may, about any tenant, and it is written down as declared`, async () => {
      const { platform, theirs } = await fixtureFor(name);
      if (name === 'roles.delete') await platform.call('roles.put', CALLS['roles.put'](theirs));
      if (name === 'tenants.reap')
        await platform.call('tenants.set-status', {
          params: { tenant: theirs.tenant.id },
          body: { status: 'deleting' },
        });
      const before = await platform.adminLog();
      const readBefore = await platform.accessLog();
      const { status, value } = await platform.call(name, { ...CALLS[name](theirs), as: actor });
      expect(status).toBe(adminOperations[name].success);
      if (status === 202) await endOf(platform, value);
      expect(adminOperations[name].output.safeParse(value).error).toBeUndefined();
      // spec C-30: a change is one admin-log row (and one for its intent, if it has one), a read of tenant data
      // one access-log row, and neither is both.
      const rows = newIn(await platform.adminLog(), before);
      // The look before the call is a read of the log itself.
      const [, ...reads] = newIn(await platform.accessLog(), readBefore);
      const { audit } = adminOperations[name];
      expect(rows.filter(({ outcome }) => outcome !== 'intent')).toHaveLength(audit === 'audit' ? 1 : 0);
      for (const row of rows) expect(row).toMatchObject({ action: name, actor: { id: actor.id } });
      expect(reads.map(({ operation }) => operation)).toEqual(audit === 'access' ? [name] : []);
    });
  }

  if (BUILDER[name] === 'none') {
    test('a builder may not, and nothing happens', async () => {
      const { platform, ours } = await sharedFixture(name, 'refused');
      const before = await platform.adminLog();
      const call = platform.call(name, { ...CALLS[name](ours), as: platform.builder(ours.tenant.id) });
      expect(await refusal(call)).toMatchObject({ status: 403, code: 'forbidden', reason: 'staff_only' });
      expect(await platform.adminLog()).toEqual(before);
    });
    return;
  }

  if (!OF_PERSONS.includes(name))
    test('a builder may, about its own tenant, and sees nothing of another', async () => {
      const { platform, ours, theirs } = await (looksInside(name)
        ? sharedFixture(name, 'own', moveToOwnVertical)
        : fixtureFor(name));
      const { status, value } = await platform.call(name, {
        ...CALLS[name](ours),
        as: platform.builder(ours.tenant.id),
      });
      expect(status).toBe(adminOperations[name].success);
      expect(JSON.stringify(value)).not.toContain(theirs.tenant.id);
    });

  if (takesTenant(name))
    test('a builder that leaves the tenant out gets its own', async () => {
      const { platform, ours, theirs } = await fixtureFor(name);
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

  if (!NAMES_NO_PRINCIPAL.includes(name)) {
    test("another tenant's is not there for a builder: 404, and nothing happens", async () => {
      const { platform, ours, theirs } = await sharedFixture(name, 'refused');
      const before = await platform.adminLog();
      const read = await platform.accessLog();
      const call = platform.call(name, { ...CALLS[name](theirs), as: platform.builder(ours.tenant.id) });
      expect(await refusal(call)).toMatchObject({ status: 404, code: 'not_found' });
      expect(await platform.adminLog()).toEqual(before);
      expect(newIn(await platform.accessLog(), read).map(({ operation }) => operation)).toEqual([
        'access-log.list',
      ]);
    });
  }

  test('a builder of a tenant that is not active may not', async () => {
    const { platform, ours } = await sharedFixture(name, 'suspended', (opened) =>
      opened.platform.call('tenants.set-status', CALLS['tenants.set-status'](opened.ours)),
    );
    const call = platform.call(name, { ...CALLS[name](ours), as: platform.builder(ours.tenant.id) });
    expect(await refusal(call)).toMatchObject({ status: 403, reason: 'tenant_not_active' });
  });
});

test("another tenant's scope under the builder's own tenant is not there either", async () => {
  const { platform, ours, theirs } = await openFixture();
  const params = { tenant: ours.tenant.id, scope: theirs.scope.id };
  for (const as of [STAFF, platform.builder(ours.tenant.id)]) {
    expect(await refusal(platform.call('scopes.get', { params, as }))).toMatchObject({ status: 404 });
    expect(await refusal(platform.call('denials.list', { params, as }))).toMatchObject({ status: 404 });
    const bind = { hostname: 'x.localhost', tenant: ours.tenant.id, scope: theirs.scope.id };
    expect(await refusal(platform.call('hostnames.bind', { body: bind, as }))).toMatchObject({ status: 404 });
  }
});

test('C-21: a vertical may do what a grant says that it may, and nothing else, whatever it was granted', async () => {
  const { platform, ours } = await openFixture();
  const { slug } = ours.app;
  const as: Actor = { kind: 'vertical', id: slug, name: slug };
  const before = await platform.adminLog();
  const none = { params: {}, query: {}, body: {}, actor: as, requestId: 'req-vertical' };
  for (const name of NAMES.filter((each) => each !== 'tenants.create'))
    expect(await refusal(platform.admin.perform({ ...none, operation: name })), name).toMatchObject({
      status: 403,
      reason: 'not_for_verticals',
    });
  expect(await platform.adminLog()).toEqual(before);
  expect(await platform.accessLog()).toEqual([]);
  expect(await platform.call('tenants.create', { ...CALLS['tenants.create'](ours), as })).toMatchObject({
    status: 201,
  });
});

test('an actor of an unknown kind may do nothing', async () => {
  const { platform, ours } = await openFixture();
  const as = { kind: 'root', id: 'x', name: 'x', tenant: ours.tenant.id } as never;
  expect(await refusal(platform.call('tenants.list', { as }))).toMatchObject({ status: 403 });
});
