/** The issuer that people sign in at: the operator's own, or, while developing, one that runs beside the platform. */
import type { Issuer } from '@freehold/issuer';
import {
  DEVELOPMENT_CLIENT_ID,
  registerClients,
  startDevelopmentIssuer,
} from '../applications/development-issuer.ts';
import type { PlatformClient } from '../applications/sign-in.ts';
import type { Settings } from '../settings/settings.ts';
import type { Secrets } from '../storage/secrets.ts';
import type { Cleanup } from './cleanup.ts';

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
