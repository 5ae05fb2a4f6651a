/**
 * The platform as its own operator: a token in the data directory, a client of the control plane that uses it, the fleet
 * as that client lists it, and the demo tenant of the first start.
 */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ControlPlaneClient,
  ControlPlaneError,
  makeControlPlaneClient,
} from '@freehold/control-plane/client';
import type { DirectoryHostAdmin } from '@freehold/directory';
import { writePrivately } from '../storage/secrets.ts';

export interface Operator {
  /** The file with the token, readable by its owner only. */
  readonly tokenFile: string;
  readonly client: ControlPlaneClient;
}

export interface OperatorOptions {
  readonly hostAdmin: Pick<DirectoryHostAdmin, 'authenticate' | 'mintServiceToken'>;
  readonly dataDirectory: string;
  readonly apiUrl: string;
  /** The control plane, called in this process. */
  readonly fetch: (request: Request) => Promise<Response>;
}

/** Opens a client with the token of the data directory, or with a new token when that one is not valid. */
export async function openOperator(options: OperatorOptions): Promise<Operator> {
  const { hostAdmin, dataDirectory, apiUrl, fetch } = options;
  const tokenFile = join(dataDirectory, 'service-token');
  const read = (): string => readFileSync(tokenFile, 'utf8').trim();
  const isValid = existsSync(tokenFile) && (await hostAdmin.authenticate(read())) !== null;
  if (!isValid) {
    const { secret } = await hostAdmin.mintServiceToken({ name: 'local operator' });
    writePrivately(tokenFile, `${secret}\n`);
  }
  return { tokenFile, client: makeControlPlaneClient({ baseUrl: apiUrl, token: read(), fetch }) };
}

export interface FleetScope {
  readonly tenant: string;
  readonly scope: string;
  readonly vertical: string;
  /** False while the tenant or the scope is suspended, archived or not there yet. */
  readonly serving: boolean;
}

/** The scopes of the control plane, and the tenants that have data. Nothing is cached: each call asks, page by page. */
export interface Fleet {
  /** Every scope. Its cost grows with the fleet: for a start, and for daily work. */
  scopes(): AsyncIterable<FleetScope>;
  /** The scopes of one tenant; none for an unknown tenant. */
  scopesOf(tenant: string): AsyncIterable<FleetScope>;
  /** The scopes of one vertical. */
  scopesOfVertical(vertical: string): AsyncIterable<Pick<FleetScope, 'tenant' | 'scope'>>;
  /** One scope; null for one that does not exist, not yet or not any more. */
  scope(ref: Pick<FleetScope, 'tenant' | 'scope'>): Promise<FleetScope | null>;
  tenants(): AsyncIterable<string>;
}

/** Records per page. */
const PAGE = 200;

/** @param onSeen receives each scope that is listed. */
export function makeFleet(
  client: Pick<ControlPlaneClient, 'tenants' | 'scopes'>,
  onSeen: (scope: string, tenant: string) => void = () => undefined,
): Fleet {
  const serves = async (tenant: string): Promise<boolean> =>
    (await orNull(client.tenants.get({ params: { tenant } })))?.status === 'active';
  const seen = (
    record: {
      readonly id: string;
      readonly tenant: string;
      readonly vertical: string;
      readonly status: string;
    },
    tenantServes: boolean,
  ): FleetScope | null => {
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
    scopesOfVertical: async function* scopesOfVertical(vertical) {
      for await (const record of client.scopes.fleet.iterate({ query: { vertical, limit: PAGE } })) {
        const each = seen(record, false);
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

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ControlPlaneError && error.code === 'not_found') return null;
    throw error;
  }
}

const DEMO_TENANT = { slug: 'acme', name: 'Acme Trades' };
const DEMO_SCOPE = { slug: 'fieldwork', name: 'Acme Trades', vertical: 'fieldwork' };
const DEMO_ADMIN = { email: 'ada@example.test', name: 'Ada Lovelace', role: 'admin' } as const;

export interface DemoOptions {
  readonly dataDirectory: string;
  readonly client: ControlPlaneClient;
  readonly hostname: string;
  /** The settings to deliver to the demo, from `demoConfigOf`. */
  readonly config: Readonly<Record<string, string | null>>;
}

export interface Demo {
  readonly hostname: string;
  readonly tenant: string;
  readonly scope: string;
  /** The reason why the owner seat is pending; null when it is claimed. */
  readonly seatPending: string | null;
}

/** Makes the demo tenant on the first start, by the calls an operator would make; later the same calls find it. */
export async function ensureDemo({ dataDirectory, client, config, hostname }: DemoOptions): Promise<Demo> {
  const tenant = await client.tenants.create({ body: DEMO_TENANT });
  const provisioned = await client.scopes.provision.response({
    params: { tenant: tenant.id },
    body: { ...DEMO_SCOPE, config },
  });
  const params = { tenant: tenant.id, scope: provisioned.value.id };
  // Settings that an operator changed by hand stay: the demo's are delivered again only when they differ from the last.
  const path = join(dataDirectory, 'demo-issuer');
  const digest = createHash('sha256').update(JSON.stringify(config)).digest('hex');
  if (!existsSync(path) || readFileSync(path, 'utf8').trim() !== digest) {
    if (provisioned.status !== 201) await client.scopes.configure({ params, body: { config } });
    writePrivately(path, `${digest}\n`);
  }
  await client.hostnames.bind({ body: { hostname, tenant: tenant.id, scope: params.scope } });
  const seat = await client.ownerSeat.get({ params });
  return { hostname, tenant: tenant.id, scope: params.scope, seatPending: seat.reason };
}

/** Puts an admin on an empty roster of the staff; a roster with members stays as it is. Never for production. */
export async function ensureDemoAdmin(client: ControlPlaneClient): Promise<void> {
  const { items } = await client.staff.list({ query: { limit: 1 } });
  if (items.length === 0) await client.staff.put({ body: DEMO_ADMIN });
}
