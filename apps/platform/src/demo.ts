/**
 * The demo tenant: on the first start it is made through the control plane's own API, as an operator would; on later
 * starts the same calls find it as it was.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import type { DirectoryHostAdmin } from '@freehold/directory';
import { writePrivately } from './secrets.ts';

const TENANT = { slug: 'acme', name: 'Acme Trades' };
const SCOPE = { slug: 'fieldwork', name: 'Acme Trades', vertical: 'fieldwork' };

export interface DemoOptions {
  readonly dataDirectory: string;
  readonly tokenFile: string;
  readonly apiUrl: string;
  /** The control plane, called in this process. */
  readonly fetch: (request: Request) => Promise<Response>;
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

/** The operator's token: the one in the data directory if it works, a new one otherwise. Answers the file's path. */
export async function ensureOperatorToken(
  hostAdmin: Pick<DirectoryHostAdmin, 'authenticate' | 'mintServiceToken'>,
  dataDirectory: string,
): Promise<string> {
  const path = join(dataDirectory, 'service-token');
  const works = existsSync(path) && (await hostAdmin.authenticate(readToken(path))) !== null;
  if (works) return path;
  const { secret } = await hostAdmin.mintServiceToken({ name: 'local operator' });
  writePrivately(path, `${secret}\n`);
  return path;
}

/** Makes the demo tenant, or finds it as it was. */
export async function ensureDemo(options: DemoOptions): Promise<Demo> {
  const client = makeControlPlaneClient({
    baseUrl: options.apiUrl,
    token: readToken(options.tokenFile),
    fetch: options.fetch,
  });
  const tenant = await client.tenants.create({ body: TENANT });
  const { config, hostname } = options;
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

function readToken(path: string): string {
  return readFileSync(path, 'utf8').trim();
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
