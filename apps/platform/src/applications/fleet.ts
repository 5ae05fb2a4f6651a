/** The scopes there are, as the control plane knows them: for what the platform does by itself. */
import { type ControlPlaneClient, ControlPlaneError } from '@freehold/control-plane/client';

export interface FleetScope {
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  /** False while the tenant or the scope is suspended, archived or not there yet. */
  readonly serving: boolean;
}

/** Where the scopes are, and the tenants that have any data. Nothing is kept: each call asks anew, page by page. */
export interface Fleet {
  /** Every scope. Its cost grows with the fleet: for a start, and for what is done once a day. */
  scopes(): AsyncIterable<FleetScope>;
  /** Those of one tenant; none of one that there is not. */
  scopesOf(tenant: string): AsyncIterable<FleetScope>;
  /** One scope; null for one that is not there, or not yet, or not any more. */
  scope(ref: Pick<FleetScope, 'tenant' | 'scope'>): Promise<FleetScope | null>;
  tenants(): AsyncIterable<string>;
}

/** How many records are asked for at a time. */
const PAGE = 200;

/** @param onSeen told of each scope that is listed. */
export function makeFleet(
  client: Pick<ControlPlaneClient, 'tenants' | 'scopes'>,
  onSeen: (scope: string, tenant: string) => void = () => undefined,
): Fleet {
  const serves = async (tenant: string): Promise<boolean> =>
    (await orNull(client.tenants.get({ params: { tenant } })))?.status === 'active';
  const seen = (record: ScopeSeen, tenantServes: boolean): FleetScope | null => {
    const { id, tenant, vertical, status } = record;
    onSeen(id, tenant);
    if (status === 'reaped' || status === 'provisioning') return null;
    return { tenant, scope: id, vertical, serving: status === 'active' && tenantServes };
  };
  return {
    scopes: async function* scopes() {
      const serving = new Set<string>();
      for await (const { id, status } of client.tenants.list.iterate({ query: { limit: PAGE } }))
        if (status === 'active') serving.add(id);
      for await (const record of client.scopes.fleet.iterate({ query: { limit: PAGE } })) {
        const each = seen(record, serving.has(record.tenant));
        if (each) yield each;
      }
    },
    scopesOf: async function* scopesOf(tenant) {
      const serving = await serves(tenant);
      for await (const record of client.scopes.fleet.iterate({ query: { tenant, limit: PAGE } })) {
        const each = seen(record, serving);
        if (each) yield each;
      }
    },
    scope: async ({ tenant, scope }) => {
      const record = await orNull(client.scopes.get({ params: { tenant, scope } }));
      return record && seen(record, await serves(tenant));
    },
    tenants: async function* tenants() {
      for await (const { id, status } of client.tenants.list.iterate({ query: { limit: PAGE } }))
        if (status !== 'reaped') yield id;
    },
  };
}

interface ScopeSeen {
  readonly id: string;
  readonly tenant: string;
  readonly vertical: string;
  readonly status: string;
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ControlPlaneError && error.code === 'not_found') return null;
    throw error;
  }
}
