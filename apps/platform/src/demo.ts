/**
 * The demo tenant: on the first start it is made through the control plane's own API, as an operator would; on later
 * starts the same calls find it as it was.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import type { DirectoryHostAdmin } from '@freehold/directory';
import { writePrivately } from './secrets.ts';

const TENANT = { slug: 'acme', name: 'Acme Trades' };
const SCOPE = { slug: 'fieldwork', name: 'Acme Trades', vertical: 'fieldwork' };
const HOSTNAME = 'acme.localhost';

/** Which issuer the demo tenant signs in at. */
export interface DemoIssuer {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
}

export interface DemoOptions {
  readonly hostAdmin: Pick<DirectoryHostAdmin, 'authenticate' | 'mintServiceToken'>;
  readonly dataDirectory: string;
  readonly apiUrl: string;
  /** The control plane, called in this process. */
  readonly fetch: (request: Request) => Promise<Response>;
  readonly issuer: DemoIssuer;
}

export interface Demo {
  readonly tokenFile: string;
  readonly hostname: string;
  readonly tenant: string;
  readonly scope: string;
  /** Why the owner seat is pending; null when it is claimed. */
  readonly seatPending: string | null;
}

export async function ensureDemo(options: DemoOptions): Promise<Demo> {
  const tokenFile = join(options.dataDirectory, 'service-token');
  const token = await ensureToken(options, tokenFile);
  const client = makeControlPlaneClient({
    baseUrl: options.apiUrl,
    token,
    fetch: options.fetch,
  });

  const tenant = await client.tenants.create({ body: TENANT });
  const { url, clientId, clientSecret } = options.issuer;
  const config = {
    'platform:auth': JSON.stringify({ mode: 'oidc', issuer: url, clientId }),
    OIDC_CLIENT_SECRET: clientSecret ?? null,
  };
  const scope = await client.scopes.provision({ params: { tenant: tenant.id }, body: { ...SCOPE, config } });
  const params = { tenant: tenant.id, scope: scope.id };
  await deliverIssuer(options, () => client.scopes.configure({ params, body: { config } }));
  await client.hostnames.bind({ body: { hostname: HOSTNAME, tenant: tenant.id, scope: scope.id } });
  const seat = await client.ownerSeat.get({ params });
  return { tokenFile, hostname: HOSTNAME, tenant: tenant.id, scope: scope.id, seatPending: seat.reason };
}

/** A token in the data directory that works; one that no longer does is replaced. */
async function ensureToken({ hostAdmin }: DemoOptions, path: string): Promise<string> {
  if (existsSync(path)) {
    const token = readFileSync(path, 'utf8').trim();
    if (await hostAdmin.authenticate(token)) return token;
  }
  const { secret } = await hostAdmin.mintServiceToken({ name: 'local operator' });
  writePrivately(path, `${secret}\n`);
  return secret;
}

/** Settings that an operator changed by hand stay as they are; only another issuer than at the last start is delivered. */
async function deliverIssuer(
  { dataDirectory, issuer }: DemoOptions,
  deliver: () => Promise<unknown>,
): Promise<void> {
  const path = join(dataDirectory, 'demo-issuer');
  const present = `${issuer.url} ${issuer.clientId}\n`;
  const known = existsSync(path) ? readFileSync(path, 'utf8') : null;
  if (known === present) return;
  if (known !== null) await deliver();
  writePrivately(path, present);
}
