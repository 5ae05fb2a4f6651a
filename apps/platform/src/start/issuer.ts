/** The issuer that people sign in at: the operator's own, or, while developing, one beside the platform that learns of routes. */

import type { DirectoryHostAdmin, RoutesChange } from '@freehold/directory';
import { type Issuer, IssuerError, type IssuerOptions, startIssuer } from '@freehold/issuer';
import type { IncidentSink } from '@freehold/store';
import type { PlatformClient } from '../applications/verticals.ts';
import type { OwnAddresses } from '../network/addresses.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';
import type { Secrets } from '../storage/secrets.ts';
import type { Cleanup } from './core.ts';

export interface OwnIssuer {
  /** The client that the issuer knows this platform by; null in production without an issuer. */
  readonly client: PlatformClient | null;
  /** Registers at the development issuer the origins that it may redirect to. The operator does so at an issuer of their own. */
  registerOrigins(origins: () => Promise<readonly string[]>): Promise<void>;
}

/** The client that people sign in with: at the operator's issuer, or at the one of development. Null in production without one. */
export function ownClientOf(settings: Settings, { issuerClientSecret }: Secrets): PlatformClient | null {
  if (settings.issuer !== null || settings.production) return settings.issuer;
  const url = `http://localhost:${settings.issuerPort}`;
  return { url, clientId: DEVELOPMENT_CLIENT_ID, clientSecret: issuerClientSecret };
}

/** @throws IssuerError or SettingsError, with one sentence. */
export async function openIssuer(settings: Settings, secrets: Secrets, cleanup: Cleanup): Promise<OwnIssuer> {
  if (settings.issuer !== null || settings.production)
    return { client: settings.issuer, registerOrigins: async () => undefined };
  const issuer: Issuer = await startDevelopmentIssuer({
    port: settings.issuerPort,
    keys: secrets.issuerKeys as never,
  });
  cleanup.add(() => issuer.close());
  const clientSecret = secrets.issuerClientSecret;
  return {
    client: { url: issuer.url, clientId: DEVELOPMENT_CLIENT_ID, clientSecret },
    registerOrigins: async (origins) => registerClients(issuer, { origins: await origins(), clientSecret }),
  };
}

/** The client id of this platform. */
export const DEVELOPMENT_CLIENT_ID = 'freehold';
/** A public client, for programs on this machine that call an application's API. */
const DEVELOPMENT_PROGRAM_ID = 'freehold-cli';

/** The development issuer redirects only to registered addresses: those of every bound host name. */
export async function registerClients(
  issuer: Issuer,
  { origins, clientSecret }: { readonly origins: readonly string[]; readonly clientSecret: string },
): Promise<void> {
  // The issuer refuses a client without redirect addresses.
  if (origins.length === 0) return;
  await issuer.putClient({
    clientId: DEVELOPMENT_CLIENT_ID,
    clientSecret,
    name: 'Freehold',
    redirectUris: origins.map((origin) => `${origin}/api/auth/callback`),
    postLogoutRedirectUris: origins.map((origin) => `${origin}/`),
    backchannelLogoutUri: origins.map((origin) => `${origin}/api/auth/backchannel-logout`),
  });
  await issuer.putClient({
    clientId: DEVELOPMENT_PROGRAM_ID,
    name: 'A program on this machine',
    redirectUris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    postLogoutRedirectUris: [],
  });
}

/** Starts the development issuer. @throws SettingsError for a taken port, which names the setting. */
export async function startDevelopmentIssuer(options: IssuerOptions): Promise<Issuer> {
  try {
    return await startIssuer(options);
  } catch (error) {
    if (!(error instanceof IssuerError) || error.code !== 'port_taken') throw error;
    throw new SettingsError(
      `Port ${options.port} is taken: set ISSUER_PORT to a free one, or stop the program that listens there.`,
    );
  }
}

export interface RoutesOptions {
  readonly hostAdmin: Pick<DirectoryHostAdmin, 'routes' | 'onRoutesChanged'>;
  readonly addresses: Pick<OwnAddresses, 'apiOrigin' | 'originOf'>;
  readonly issuer: Pick<OwnIssuer, 'registerOrigins'>;
  /** Receives each change of host names or of the scopes they lead to. */
  readonly onChanged: (change: RoutesChange) => void;
  /** Called after a restore replaced the whole directory: the registrations of this start have to be repeated. */
  readonly onReplaced: () => Promise<void>;
  readonly onIncident: IncidentSink;
}

/** Handles changes of routes from here on. Returns a function that registers the present origins at the issuer. */
export function watchRoutes(options: RoutesOptions): () => Promise<void> {
  const { hostAdmin, addresses, issuer, onChanged, onReplaced, onIncident } = options;
  const registerOrigins = (): Promise<void> =>
    issuer.registerOrigins(async () => {
      const names = (await hostAdmin.routes()).map(({ hostname }) => addresses.originOf(hostname));
      // Staff sign in at the control plane itself.
      return [addresses.apiOrigin(), ...names];
    });
  hostAdmin.onRoutesChanged((change) => {
    onChanged(change);
    const isEverything = change.tenant === null && change.scope === null && change.vertical === null;
    if (isEverything)
      onReplaced().catch((error: unknown) =>
        onIncident(error, { kind: 'platform', key: 'directory', method: 'onReplaced' }),
      );
    registerOrigins().catch((error: unknown) =>
      onIncident(error, { kind: 'platform', key: 'issuer', method: 'putClient' }),
    );
  });
  return registerOrigins;
}
