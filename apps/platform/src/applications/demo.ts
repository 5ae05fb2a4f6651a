/**
 * The demo tenant: on the first start it is made through the control plane's own API, as an operator would; on later
 * starts the same calls find it as it was.
 */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlaneClient } from '@freehold/control-plane/client';
import { writePrivately } from '../storage/secrets.ts';

const TENANT = { slug: 'acme', name: 'Acme Trades' };
const SCOPE = { slug: 'fieldwork', name: 'Acme Trades', vertical: 'fieldwork' };

export interface DemoOptions {
  readonly dataDirectory: string;
  /** As the operator. */
  readonly client: ControlPlaneClient;
  readonly hostname: string;
  /** What the demo is delivered, from `demoConfigOf`. */
  readonly config: Readonly<Record<string, string | null>>;
}

export interface Demo {
  readonly hostname: string;
  readonly tenant: string;
  readonly scope: string;
  /** Why the owner seat is pending; null when it is claimed. */
  readonly seatPending: string | null;
}

/** Makes the demo tenant, or finds it as it was. */
export async function ensureDemo(options: DemoOptions): Promise<Demo> {
  const { client, config, hostname } = options;
  const tenant = await client.tenants.create({ body: TENANT });
  const provisioned = await client.scopes.provision.response({
    params: { tenant: tenant.id },
    body: { ...SCOPE, config },
  });
  const params = { tenant: tenant.id, scope: provisioned.value.id };
  const isNew = provisioned.status === 201;
  await deliver(options, isNew ? null : () => client.scopes.configure({ params, body: { config } }));
  await client.hostnames.bind({ body: { hostname, tenant: tenant.id, scope: params.scope } });
  const seat = await client.ownerSeat.get({ params });
  return { hostname, tenant: tenant.id, scope: params.scope, seatPending: seat.reason };
}

/**
 * Settings that an operator changed by hand stay as they are: the demo's are delivered again only when they are others
 * than those delivered last.
 * @param configure null when they were delivered just now.
 */
async function deliver(
  { dataDirectory, config }: DemoOptions,
  configure: (() => Promise<unknown>) | null,
): Promise<void> {
  const path = join(dataDirectory, 'demo-issuer');
  const present = createHash('sha256').update(JSON.stringify(config)).digest('hex');
  const known = existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
  if (known === present) return;
  await configure?.();
  writePrivately(path, `${present}\n`);
}

const ADMIN = { email: 'ada@example.test', name: 'Ada Lovelace', role: 'admin' } as const;

/** Puts them on an empty roster; one that somebody has touched is left as it is. Never for production. */
export async function ensureDemoAdmin(client: ControlPlaneClient): Promise<void> {
  const { items } = await client.staff.list({ query: { limit: 1 } });
  if (items.length === 0) await client.staff.put({ body: ADMIN });
}
