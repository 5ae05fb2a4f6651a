/** The issuer that people sign in at: the operator's own, or, while developing, one that runs beside the platform. */

import { type Issuer, IssuerError, type IssuerOptions, startIssuer } from '@freehold/issuer';
import type { PlatformClient } from '../applications/sign-in.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';
import type { Secrets } from '../storage/secrets.ts';
import type { Cleanup } from './lifecycle.ts';

export interface OwnIssuer {
  /** The client that the issuer knows this platform by; null in production without an issuer. */
  readonly client: PlatformClient | null;
  /**
   * Tells the development issuer which addresses it may send people back to. Of an operator's own, it is theirs to do, and
   * nobody looks the addresses up.
   */
  tellOrigins(origins: () => Promise<readonly string[]>): Promise<void>;
}

/** @throws IssuerError or SettingsError, with one sentence. */
export async function openIssuer(settings: Settings, secrets: Secrets, cleanup: Cleanup): Promise<OwnIssuer> {
  if (settings.issuer !== null || settings.production)
    return { client: settings.issuer, tellOrigins: async () => undefined };
  const issuer: Issuer = await startDevelopmentIssuer({
    port: settings.issuerPort,
    keys: secrets.issuerKeys as never,
  });
  cleanup.add(() => issuer.close());
  const clientSecret = secrets.issuerClientSecret;
  return {
    client: { url: issuer.url, clientId: DEVELOPMENT_CLIENT_ID, clientSecret },
    tellOrigins: async (origins) => registerClients(issuer, { origins: await origins(), clientSecret }),
  };
}

/** The client that it knows this platform by. */
export const DEVELOPMENT_CLIENT_ID = 'freehold';
/** A public client, for programs on this machine that call an application's API. */
const DEVELOPMENT_PROGRAM_ID = 'freehold-cli';

/** The development issuer sends people back only to addresses it was told: those of every bound host name. */
export async function registerClients(
  issuer: Issuer,
  { origins, clientSecret }: { readonly origins: readonly string[]; readonly clientSecret: string },
): Promise<void> {
  // A client that nobody can be sent back to is none.
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

/** Starts the development issuer. A taken port is told in the words of this application's settings. */
export async function startDevelopmentIssuer(options: IssuerOptions): Promise<Issuer> {
  try {
    return await startIssuer(options);
  } catch (error) {
    if (!(error instanceof IssuerError) || error.code !== 'port_taken') throw error;
    throw new SettingsError(
      `Port ${options.port} is taken: set ISSUER_PORT to a free one, or stop whatever listens there.`,
    );
  }
}
