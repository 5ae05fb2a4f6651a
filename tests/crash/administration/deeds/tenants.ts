/** Mutations of tenants and of their records: identities, entitlements, roles of the platform, staff, tokens. */
import type { Bench, Deed } from '../bench.ts';
import { noRow, noUnit, row } from '../conditions.ts';

/** Makes a tenant. */
export async function newTenant(bench: Bench): Promise<string> {
  return (await bench.value('tenants.create', { body: { slug: bench.name('t'), name: 'Prepared' } })).id;
}

/** Makes a scope, in a new tenant unless one is named. */
export async function newScope(
  bench: Bench,
  { vertical = 'fieldwork', tenant }: { readonly vertical?: string; readonly tenant?: string } = {},
): Promise<{ readonly tenant: string; readonly scope: string }> {
  const owner = tenant ?? (await newTenant(bench));
  const { id } = await bench.value('scopes.provision', {
    params: { tenant: owner },
    body: { slug: bench.name('s'), name: 'Prepared', vertical },
  });
  return { tenant: owner, scope: id };
}

const tenant =
  (make: (bench: Bench, tenant: string) => ReturnType<Deed>): Deed =>
  async (bench) =>
    make(bench, await newTenant(bench));

const token = (
  kind: 'push' | 'service',
  make: (bench: Bench, id: string, name: string) => ReturnType<Deed>,
) => {
  const deed: Deed = async (bench) => {
    const name = bench.name('token');
    const body = kind === 'push' ? { name, tenant: await newTenant(bench) } : { name };
    const made = await bench.value<{ token: { id: string } }>(`${kind}-tokens.create`, { body });
    return make(bench, made.token.id, name);
  };
  return deed;
};

const TWO_TOKENS = 'tokens WHERE name = ? GROUP BY name HAVING count(*) = 2';

export const tenantDeeds = {
  'tenants.create': async (bench) => {
    const slug = bench.name('made');
    return { body: { slug, name: 'Made' }, effect: [row('tenants WHERE slug = ?', slug)] };
  },
  'tenants.update': tenant(async (_bench, id) => ({
    params: { tenant: id },
    body: { name: 'Renamed' },
    effect: [row(`tenants WHERE id = ? AND name = 'Renamed'`, id)],
  })),
  'tenants.set-status': tenant(async (_bench, id) => ({
    params: { tenant: id },
    body: { status: 'suspended' },
    effect: [row(`tenants WHERE id = ? AND status = 'suspended'`, id)],
  })),
  'tenants.reap': async (bench) => {
    const at = await newScope(bench);
    const { scope: library } = await newScope(bench, { vertical: 'library', tenant: at.tenant });
    const params = { tenant: at.tenant };
    await bench.value('tenants.set-status', { params, body: { status: 'deleting' } });
    return {
      params,
      body: { backup: true },
      effect: [
        row(`tenants WHERE id = ? AND status = 'reaped'`, at.tenant),
        noUnit(`scope-fieldwork/${at.scope}`),
        noUnit(`scope-library/${library}`),
      ],
    };
  },
  'identities.add': tenant(async (bench, id) => {
    const issuer = `https://${bench.name('id')}.example`;
    return {
      params: { tenant: id },
      body: { kind: 'issuer', issuer },
      effect: [row('tenant_identities WHERE tenant = ?', id)],
    };
  }),
  'identities.remove': tenant(async (bench, id) => {
    const added = await bench.value('identities.add', {
      params: { tenant: id },
      body: { kind: 'issuer', issuer: `https://${bench.name('id')}.example` },
    });
    return {
      params: { tenant: id, identity: added.id },
      effect: [noRow('tenant_identities WHERE tenant = ?', id)],
    };
  }),
  'entitlements.put': tenant(async (_bench, id) => ({
    params: { tenant: id, key: 'plan' },
    body: { plan: 'pro' },
    effect: [row(`entitlements WHERE tenant = ? AND plan = 'pro'`, id)],
  })),
  'entitlements.delete': tenant(async (bench, id) => {
    const params = { tenant: id, key: 'plan' };
    await bench.value('entitlements.put', { params, body: { plan: 'pro' } });
    return { params, effect: [noRow('entitlements WHERE tenant = ?', id)] };
  }),
  'roles.put': async (bench) => {
    const key = bench.name('r');
    return {
      params: { key },
      body: { name: 'Support', permissions: [] },
      effect: [row('roles WHERE key = ?', key)],
    };
  },
  'roles.delete': async (bench) => {
    const key = bench.name('r');
    await bench.value('roles.put', { params: { key }, body: { name: 'Support', permissions: [] } });
    return { params: { key }, effect: [noRow('roles WHERE key = ?', key)] };
  },
  'staff.put': async (bench) => {
    const email = `${bench.name('m')}@example.test`;
    return {
      body: { email, name: 'Grace', role: 'operator' },
      effect: [row('staff WHERE email = ?', email)],
    };
  },
  'staff.remove': async (bench) => {
    const email = `${bench.name('m')}@example.test`;
    const body = { email, name: 'Grace', role: 'operator' };
    const { id } = await bench.value('staff.put', { body });
    return { params: { member: id }, effect: [noRow('staff WHERE email = ?', email)] };
  },
  'push-tokens.create': tenant(async (bench, id) => ({
    body: { name: bench.name('token'), tenant: id },
    effect: [row('tokens WHERE tenant = ?', id)],
  })),
  'push-tokens.rotate': token('push', async (_bench, id, name) => ({
    params: { token: id },
    effect: [row(TWO_TOKENS, name)],
  })),
  'push-tokens.revoke': token('push', async (_bench, id) => ({
    params: { token: id },
    effect: [row('tokens WHERE id = ? AND revoked_at IS NOT NULL', id)],
  })),
  'service-tokens.create': async (bench) => {
    const name = bench.name('token');
    return { body: { name }, effect: [row('tokens WHERE name = ?', name)] };
  },
  'service-tokens.rotate': token('service', async (_bench, id, name) => ({
    params: { token: id },
    effect: [row(TWO_TOKENS, name)],
  })),
  'service-tokens.revoke': token('service', async (_bench, id) => ({
    params: { token: id },
    effect: [row('tokens WHERE id = ? AND revoked_at IS NOT NULL', id)],
  })),
} as const satisfies Readonly<Record<string, Deed>>;
