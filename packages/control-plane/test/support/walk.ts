/**
 * For tests that walk every operation over the real host administration: how each is made to succeed. Most take a request
 * that is made by the names of its fields (`street.ts`); a recipe says what is beyond that, and what has to be so before.
 */
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { manifestOf } from '../../../directory/test/registry.ts';
import { type Fixture, requestAbout, type TenantFixture } from './fixture.ts';

export const OPERATIONS: readonly AdminOperation[] = Object.values(adminOperations);

/** The differences of a recipe's request. */
interface Dish {
  /** Instead of the body that would be made. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Beside the names of the house. */
  readonly names?: Readonly<Record<string, string>>;
}

type Recipe = (fixture: Fixture, tenantFixture: TenantFixture) => Dish | Promise<Dish>;

const scopeOf = ({ names }: TenantFixture) => ({ tenant: names.tenant, scope: names.scope });
/** Letters and a number, as the provider of keys takes them. */
const accountOf = ({ names }: TenantFixture): string => {
  const slug = names.hostname?.split('.')[0] ?? '';
  return `${slug.replace(/[^a-z]/g, '')}-${slug.replace(/\D/g, '') || 1}`;
};

const setStatus =
  (operation: 'tenants.set-status' | 'scopes.set-status', status: string): Recipe =>
  async ({ platform }, tenantFixture) => {
    const { tenant, scope } = scopeOf(tenantFixture);
    const params = operation === 'tenants.set-status' ? { tenant } : { tenant, scope };
    await platform.call(operation, { params, body: { status } });
    return {};
  };

/** By the name of the operation. One that no operation is called by fails a test. */
export const RECIPES: Readonly<Record<string, Recipe>> = {
  'tenants.set-status': () => ({ body: { status: 'suspended' } }),
  'tenants.reap': setStatus('tenants.set-status', 'deleting'),
  'scopes.set-status': () => ({ body: { status: 'archived' } }),
  'scopes.reap': setStatus('scopes.set-status', 'archived'),
  'scopes.restore': (_street, { names }) => ({ body: { from: { snapshot: names.snapshot } } }),
  'identities.add': (_street, { names }) => ({
    body: { kind: 'pool', issuer: 'https://login.example.com', value: `pool-${names.slug}` },
  }),
  'scope-version.set': () => ({ body: { version: '1.0.0' } }),
  'vertical-versions.register': (_street, { names }) => ({
    body: {
      version: '3.0.0',
      digest: 'd'.repeat(64),
      manifest: manifestOf(names.slug ?? '', '3.0.0'),
    },
  }),
  'channels.promote': () => ({ body: { version: '1.1.0' } }),
  'verticals.deploy': (_street, { names }) => ({
    body: {
      manifest: manifestOf(names.slug ?? '', '4.0.0'),
      modules: [{ name: 'main.js', mediaType: 'application/javascript+module', base64: btoa('export {}') }],
    },
  }),
  'previews.create': (_street, { names }) => ({
    body: {
      manifest: manifestOf(names.slug ?? '', '4.0.0'),
      modules: [{ name: 'main.js', mediaType: 'application/javascript+module', base64: btoa('export {}') }],
    },
  }),
  'hostnames.bind': (_street, tenantFixture) => ({
    body: { ...scopeOf(tenantFixture), hostname: `new-${tenantFixture.names.hostname}` },
  }),
  // A name that has still to be proven.
  'hostnames.verify': async ({ platform }, tenantFixture) => {
    const hostname = `${tenantFixture.names.hostname?.split('.')[0]}.example.com`;
    await platform.call('hostnames.bind', { body: { ...scopeOf(tenantFixture), hostname } });
    return { names: { hostname } };
  },
  'connection-grants.delete': async ({ platform }, { names }) => {
    const { tenant, connection, scope } = names;
    await platform.call('connection-grants.put', {
      params: { tenant, connection },
      body: { scope, permission: 'order.read' },
    });
    return {};
  },
  'roles.delete': async ({ platform }, { names }) => {
    const key = `role-${names.hostname?.split('.')[0]}`;
    await platform.call('roles.put', { params: { key }, body: { name: key, permissions: ['order.read'] } });
    return { names: { 'roles key': key } };
  },
  'connections.create': (_street, tenantFixture) => ({
    body: {
      provider: 'ledger',
      scope: tenantFixture.names.scope,
      subjectRef: 'second',
      apiKey: `key-of-second${accountOf(tenantFixture)}`,
    },
  }),
  'connections.rotate': (_street, tenantFixture) => ({
    body: { apiKey: `key-of-${accountOf(tenantFixture)}-new` },
  }),
  'program-policy.put': (_street, { names }) => ({
    body: { programs: 'any', hosts: [`${names.slug}.example`] },
  }),
  'staff.put': (_street, { names }) => ({
    body: { email: `new@${names.slug}.example`, name: 'New', role: 'operator' },
  }),
  'directory-backups.delete': newDirectoryBackup,
  'directory.restore': async (fixture) => {
    const { names = {} } = await newDirectoryBackup(fixture);
    return { body: { backup: names['directory backup'] } };
  },
  'operations.cancel': async ({ platform }, tenantFixture) => {
    // A copy whose bytes never come, so that there is something to call off.
    const begun = Promise.withResolvers<void>();
    platform.fieldwork.exported = () => {
      begun.resolve();
      return new ReadableStream({ pull: () => new Promise(() => undefined) });
    };
    const { id } = await platform.value<{ id: string }>('scope-backups.create', {
      params: scopeOf(tenantFixture),
      body: {},
    });
    await begun.promise;
    platform.fieldwork.exported = null;
    return { names: { operation: id } };
  },
};

async function newDirectoryBackup({ platform }: Fixture): Promise<Dish> {
  const { result } = await platform.finish(platform.call('directory-backups.create', { body: {} }));
  return { names: { 'directory backup': (result as { id: string }).id } };
}

/** The optional parts of a request. */
export interface Conditions {
  readonly key?: string;
  readonly ifMatch?: string;
}

/**
 * Makes everything ready for an operation, and answers how to ask for it: the same request each time.
 * @param seed fields that nothing is known of differ by it.
 */
export async function prepare(
  operation: AdminOperation,
  fixture: Fixture,
  { tenantFixture, seed = 1 }: { readonly tenantFixture: TenantFixture; readonly seed?: number },
): Promise<(conditions?: Conditions) => Request> {
  const { body, names = {} }: Dish = (await RECIPES[operation.name]?.(fixture, tenantFixture)) ?? {};
  const all = { ...tenantFixture.names, ...names };
  return ({ key, ifMatch } = {}) => {
    const made = requestAbout(operation, () => all, { credential: fixture.credentials.service, seed });
    const request = body === undefined ? made : new Request(made, { body: JSON.stringify(body) });
    if (key !== undefined) request.headers.set('idempotency-key', key);
    if (ifMatch !== undefined) request.headers.set('if-match', ifMatch);
    return request;
  };
}
