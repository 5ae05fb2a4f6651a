/** Every scope there is, as the control plane knows it: for what the platform does by itself. */
import type { ControlPlaneClient } from '@freehold/control-plane/client';

export interface FleetScope {
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  /** False while the tenant or the scope is suspended, archived or not there yet. */
  readonly serving: boolean;
}

/** Where the scopes are, and the tenants that have any data. Nothing is kept: each call asks anew. */
export interface Fleet {
  scopes(): AsyncIterable<FleetScope>;
  tenants(): AsyncIterable<string>;
}

/** How many records are asked for at a time. */
const PAGE = 200;

/** @param onSeen told of each scope that is listed. */
export function makeFleet(
  client: Pick<ControlPlaneClient, 'tenants' | 'scopes'>,
  onSeen: (scope: string, tenant: string) => void = () => undefined,
): Fleet {
  return {
    scopes: async function* scopes() {
      const serving = new Set<string>();
      for await (const { id, status } of client.tenants.list.iterate({ query: { limit: PAGE } }))
        if (status === 'active') serving.add(id);
      for await (const { id, tenant, vertical, status } of client.scopes.fleet.iterate({
        query: { limit: PAGE },
      })) {
        onSeen(id, tenant);
        if (status === 'reaped' || status === 'provisioning') continue;
        yield { tenant, scope: id, vertical, serving: status === 'active' && serving.has(tenant) };
      }
    },
    tenants: async function* tenants() {
      for await (const { id, status } of client.tenants.list.iterate({ query: { limit: PAGE } }))
        if (status !== 'reaped') yield id;
    },
  };
}
