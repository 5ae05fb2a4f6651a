/** Random histories of a directory: everything that can be taken away and given back, with backups and restores between. */
import { PlatformError } from '@freehold/contracts';
import fc from 'fast-check';
import type {
  BackupRecord,
  DirectoryRestored,
  HostnameRecord,
  ScopeRecord,
  VersionRecord,
} from '../src/admin-operations.ts';
import { type HostnameWorld, makeHostnameWorld } from './hostname-probes.ts';
import { makeKeyProvider } from './key-provider.ts';
import { makeMemoryBackups } from './memory-backups.ts';
import { openPlatform, type Platform } from './platform.ts';
import { admitted, promote } from './registry.ts';
import { invite, signIn } from './staff.ts';

/** One step: what is done, and three small numbers that choose to what. */
export interface Step {
  readonly verb: string;
  readonly pick: readonly [number, number, number];
}

/** The directory of a history, and what its steps made. */
export interface History {
  readonly platform: Platform;
  readonly world: HostnameWorld;
  readonly tenants: string[];
  readonly scopes: ScopeRecord[];
  readonly connections: { readonly tenant: string; readonly id: string }[];
  readonly versions: VersionRecord[];
  readonly tokens: string[];
  readonly serviceTokens: string[];
  readonly members: string[];
  readonly snapshots: { readonly scope: ScopeRecord; readonly id: string }[];
  readonly backups: BackupRecord[];
  readonly restored: DirectoryRestored[];
}

/** The beginning of every history, so that there is something to revoke. */
const GIVING = [
  ...['addIdentity', 'putEntitlement', 'bind', 'vouch', 'connect', 'grantConnection', 'putRole', 'grantMail'],
  ...['grantProvisioning', 'version', 'promote', 'bindVersion', 'list', 'snapshot', 'token', 'serviceToken'],
  ...['invite', 'spareVersion'],
];
/** Steps that leave little to be done after them. */
const RARE = ['reapTenant', 'reapScope', 'restoreAny'];
const VERTICALS = ['fieldwork', 'floorplan'];

export async function beginHistory(): Promise<History> {
  const world = makeHostnameWorld();
  const platform = await openPlatform({
    backups: makeMemoryBackups(),
    hostnames: world.probes,
    connections: makeKeyProvider().options,
  });
  platform.reach = 'both';
  for (const slug of VERTICALS)
    await platform.call('verticals.create', { body: { slug, name: `Vertical ${slug}` } });
  const history: History = {
    platform,
    world,
    ...{ tenants: [], scopes: [], connections: [], versions: [], tokens: [], serviceTokens: [] },
    ...{ members: [], snapshots: [], backups: [], restored: [] },
  };
  for (const verb of ['backup', 'tenant', 'tenant', 'scope', 'scope', 'scope', ...GIVING, 'backup'])
    for (const pick of verb === 'backup' ? [0] : [0, 1])
      await takeStep(history, { verb, pick: [pick, pick, pick] });
  return history;
}

/** Does one step. What the directory refuses is no step. */
export async function takeStep(history: History, { verb, pick }: Step): Promise<void> {
  history.platform.clock.ms += 61_000;
  try {
    await VERBS[verb]?.(history, pick);
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code === 'internal') throw error;
  }
}

/** Histories of so many steps. Restores and backups are as frequent as all that takes away. */
export function histories(lengthMax: number): fc.Arbitrary<Step[]> {
  const verb = fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom(...Object.keys(VERBS).filter((each) => !RARE.includes(each))) },
    { weight: 2, arbitrary: fc.constant('backup') },
    { weight: 2, arbitrary: fc.constant('restore') },
    { weight: 1, arbitrary: fc.constantFrom(...RARE) },
  );
  // Without a bias towards small numbers, which would choose the first thing of each kind most of the time.
  const small = fc.noBias(fc.nat(5));
  return fc.array(fc.record({ verb, pick: fc.tuple(small, small, small) }), {
    minLength: Math.ceil(lengthMax / 2),
    maxLength: lengthMax,
    size: 'max',
  });
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new PlatformError('not_found', 'There is none yet.');
  return item;
}

const PERMISSIONS = ['order.read', 'order.complete', 'order.write'];
const LISTING = { title: 'Floorplan', summary: '', description: '' };

const VERBS: Readonly<
  Record<string, (history: History, pick: readonly [number, number, number]) => Promise<unknown>>
> = {
  backup: async ({ platform, backups }) =>
    backups.push(
      (await platform.finish(platform.call('directory-backups.create', { body: {} }))).result as BackupRecord,
    ),
  restore: (history, [i]) => restore(history, at(history.backups.slice(-3), i)),
  restoreAny: (history, [i]) => restore(history, at(history.backups, i)),
  forgetBackup: async ({ platform, backups }, [i]) => {
    const { id } = at(backups.slice(1), i);
    backups.splice(
      backups.findIndex((each) => each.id === id),
      1,
    );
    await platform.call('directory-backups.delete', { params: { backup: id } });
  },
  tenant: async ({ platform, tenants }, [i]) => tenants.push((await platform.tenant(`tenant-${i}`)).id),
  scope: async ({ platform, tenants, scopes }, [i, j]) =>
    scopes.push(await platform.scope(at(tenants, i), `scope-${j}`)),
  tenantStatus: ({ platform, tenants }, [i, j]) =>
    platform.call('tenants.set-status', {
      params: { tenant: at(tenants, i) },
      body: { status: at(['suspended', 'active', 'deleting', 'active', 'suspended', 'active'], j) },
    }),
  scopeStatus: ({ platform, scopes }, [i, j]) =>
    platform.call('scopes.set-status', {
      params: paramsOf(at(scopes, i)),
      body: { status: at(['suspended', 'active', 'archived', 'active', 'suspended', 'active'], j) },
    }),
  reapScope: async ({ platform, scopes }, [i]) => {
    const params = paramsOf(at(scopes, i));
    await platform.call('scopes.set-status', { params, body: { status: 'archived' } });
    await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
  },
  reapTenant: async ({ platform, tenants }, [i, j]) => {
    if (j > 2) throw new PlatformError('conflict', 'Not this time.');
    const params = { tenant: at(tenants, i) };
    await platform.call('tenants.set-status', { params, body: { status: 'deleting' } });
    await platform.finish(platform.call('tenants.reap', { params, body: {} }));
  },
  addIdentity: ({ platform, tenants }, [i, j]) =>
    platform.call('identities.add', {
      params: { tenant: at(tenants, i) },
      body: { kind: 'issuer', issuer: `https://id-${j % 2}.example.com` },
    }),
  removeIdentity: async ({ platform, tenants }, [i, j]) => {
    const params = { tenant: at(tenants, i) };
    const { items } = await platform.value<{ items: { id: string }[] }>('identities.list', { params });
    await platform.call('identities.remove', { params: { ...params, identity: at(items, j).id } });
  },
  putEntitlement: ({ platform, tenants }, [i, j, k]) =>
    platform.call('entitlements.put', {
      params: { tenant: at(tenants, i), key: at(['seats', 'reports'], j) },
      body: { quota: k, plan: at(['basic', 'pro', null], j + k), expiresAt: at(EXPIRIES, i + k) },
    }),
  deleteEntitlement: ({ platform, tenants }, [i, j]) =>
    platform.call('entitlements.delete', {
      params: { tenant: at(tenants, i), key: at(['seats', 'reports'], j) },
    }),
  bind: ({ platform, scopes }, [i, j]) => platform.hostname(at(scopes, i), at(HOSTNAMES, j)),
  vouch: ({ platform, tenants }, [i, j, k]) =>
    platform.call('hostnames.set-status', {
      body: {
        hostname: at(HOSTNAMES, i),
        tenant: at(tenants, j),
        status: at(['active', 'disabled'], k),
      },
    }),
  prove: async ({ platform, world, tenants }, [i, j]) => {
    const [hostname, tenant] = [at(HOSTNAMES, i), at(tenants, j)];
    const { items } = await platform.value<{ items: HostnameRecord[] }>('hostnames.list', {
      query: { tenant },
    });
    const dns = items.find((each) => each.hostname === hostname)?.verification.challenge?.dns;
    if (dns) world.txt.set(dns.name, [dns.value]);
    await platform.call('hostnames.verify', { body: { hostname, tenant, method: 'dns' } });
  },
  unbind: ({ platform, tenants }, [i, j]) =>
    platform.call('hostnames.delete', {
      params: { hostname: at(HOSTNAMES, i) },
      query: { tenant: at(tenants, j) },
    }),
  connect: async ({ platform, scopes, connections }, [i, j]) => {
    const { tenant, id: scope } = at(scopes, i);
    const { id } = await platform.value<{ id: string }>('connections.create', {
      params: { tenant },
      body: { provider: 'ledger', scope, subjectRef: 'books', apiKey: `key-of-ada-${j + 1}` },
    });
    connections.push({ tenant, id });
  },
  grantConnection: ({ platform, connections, scopes }, [i, j]) =>
    platform.call('connection-grants.put', {
      params: connectionParams(at(connections, i)),
      body: { scope: at(scopes, j).id, permission: 'order.read' },
    }),
  ungrantConnection: ({ platform, connections, scopes }, [i, j]) =>
    platform.call('connection-grants.delete', {
      params: connectionParams(at(connections, i)),
      query: { scope: at(scopes, j).id },
    }),
  rotateConnection: ({ platform, connections }, [i, j, k]) =>
    platform.call('connections.rotate', {
      params: connectionParams(at(connections, i)),
      body: { apiKey: `key-of-ada-${j + 1}${k % 2 ? '-new' : ''}` },
    }),
  disconnect: ({ platform, connections }, [i]) =>
    platform.call('connections.disconnect', { params: connectionParams(at(connections, i)) }),
  putRole: ({ platform }, [i, j, k]) =>
    platform.call('roles.put', {
      params: { key: `role-${i % 2}` },
      body: { name: 'Role', permissions: PERMISSIONS.filter((_, index) => (1 + j + k) & (1 << index)) },
    }),
  deleteRole: ({ platform }, [i]) => platform.call('roles.delete', { params: { key: `role-${i % 2}` } }),
  grantMail: ({ platform }, [i]) =>
    platform.call('email-sender.put', { params: { slug: at(VERTICALS, i) }, body: {} }),
  ungrantMail: ({ platform }, [i]) =>
    platform.call('email-sender.delete', { params: { slug: at(VERTICALS, i) } }),
  grantProvisioning: ({ platform }, [i]) =>
    platform.call('tenant-provisioner.put', { params: { slug: at(VERTICALS, i) }, body: {} }),
  ungrantProvisioning: ({ platform }, [i]) =>
    platform.call('tenant-provisioner.delete', { params: { slug: at(VERTICALS, i) } }),
  block: ({ platform }, [i, j]) =>
    platform.call('install-blocks.put', {
      params: { slug: at(VERTICALS, i) },
      body: { reason: `Reason ${j}.` },
    }),
  unblock: ({ platform }, [i]) =>
    platform.call('install-blocks.delete', { params: { slug: at(VERTICALS, i) } }),
  version: async ({ platform, versions }, [i, j]) =>
    versions.push(await admitted(platform, at(VERTICALS, i), `1.${j}.0`)),
  spareVersion: async ({ platform, versions }, [i, j]) =>
    versions.push(await admitted(platform, at(VERTICALS, i), `2.${j}.0`)),
  admit: ({ platform, versions }, [i]) =>
    platform.call('vertical-versions.admit', { params: versionParams(at(versions, i)), body: {} }),
  reject: ({ platform, versions }, [i, j]) =>
    platform.call('vertical-versions.reject', {
      params: versionParams(at(versions, i)),
      body: { note: `Note ${j}.` },
    }),
  promote: ({ platform }, [i, j]) => promote(platform, at(VERTICALS, i), { version: `1.${j}.0` }),
  bindVersion: ({ platform, scopes, versions }, [i, j]) =>
    platform.call('scope-version.set', {
      params: paramsOf(at(scopes, i)),
      body: { id: at(versions, j).id, snapshot: false },
    }),
  list: ({ platform }, [i, j]) =>
    platform.call('listings.put', {
      params: { slug: at(VERTICALS, i) },
      body: { ...LISTING, tier: at(['published', 'unlisted', 'private'], j) },
    }),
  snapshot: async ({ platform, scopes, snapshots }, [i]) => {
    const scope = at(scopes, i);
    const { id } = await platform.value<{ id: string }>('snapshots.take', {
      params: paramsOf(scope),
      body: {},
    });
    snapshots.push({ scope, id });
  },
  deleteSnapshot: ({ platform, snapshots }, [i]) => {
    const { scope, id: snapshot } = at(snapshots, i);
    return platform.call('snapshots.delete', { params: { ...paramsOf(scope), snapshot } });
  },
  token: async ({ platform, tenants, tokens }, [i, j]) =>
    tokens.push(
      (
        await platform.value<{ token: { id: string } }>('push-tokens.create', {
          body: { name: `token-${j}`, tenant: at(tenants, i) },
        })
      ).token.id,
    ),
  rotateToken: ({ platform, tokens }, [i, j]) =>
    platform.call('push-tokens.rotate', {
      params: { token: at(tokens, i) },
      body: { overlapHours: j },
    }),
  revokeToken: ({ platform, tokens }, [i]) =>
    platform.call('push-tokens.revoke', { params: { token: at(tokens, i) } }),
  serviceToken: async ({ platform, serviceTokens }, [i]) =>
    serviceTokens.push(
      (
        await platform.value<{ token: { id: string } }>('service-tokens.create', {
          body: { name: `service-${i}` },
        })
      ).token.id,
    ),
  rotateServiceToken: ({ platform, serviceTokens }, [i, j]) =>
    platform.call('service-tokens.rotate', {
      params: { token: at(serviceTokens, i) },
      body: { overlapHours: j },
    }),
  revokeServiceToken: ({ platform, serviceTokens }, [i]) =>
    platform.call('service-tokens.revoke', { params: { token: at(serviceTokens, i) } }),
  invite: async ({ platform, tenants, members }, [i, j, k]) => {
    const login = `member-${i % 2}`;
    const who = k % 2 ? { role: 'admin' as const } : { role: 'builder' as const, tenant: at(tenants, j) };
    members.push((await invite(platform, { login, ...who })).id);
    await signIn(platform, login, { sid: `sid-${platform.clock.ms}` });
  },
  removeMember: ({ platform, members }, [i]) =>
    platform.call('staff.remove', { params: { member: at(members, i) } }),
};

async function restore({ platform, restored }: History, { id: backup }: BackupRecord): Promise<void> {
  await platform.value('directory.restore', { query: { dryRun: true }, body: { backup } });
  const begun = platform.call('directory.restore', { body: { backup } });
  const { result, problem } = await platform.finish(begun);
  if (problem) throw new Error(`the restore failed: ${JSON.stringify(problem)}`);
  restored.push(result as DirectoryRestored);
}

const HOSTNAMES = ['shop.example', 'one.localhost', 'store.example', 'two.localhost'];
const EXPIRIES = [null, '2027-01-01T00:00:00.000Z', '2028-01-01T00:00:00.000Z'];

const paramsOf = ({ tenant, id: scope }: ScopeRecord) => ({ tenant, scope });
const connectionParams = ({ tenant, id }: History['connections'][number]) => ({ tenant, connection: id });
const versionParams = ({ vertical, id }: VersionRecord) => ({ slug: vertical, id });
