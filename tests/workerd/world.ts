/** A certified issuer, the application that sends people there, and the people's browsers. */
import { generateIssuerKeys, type IssuerClient, startIssuer } from '@freehold/issuer';
import { importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import { makeBrowser, signIn } from '../../apps/issuer/src/test-browser.ts';
import { Caller } from '../support/http.ts';
import { ACCOUNTS_HOST, CONSOLE_HOST, CONTROL_HOST, INSTANCES, type Provisioning } from './application.ts';
import type { OpenPlace } from './place.ts';

export interface World {
  readonly issuerUrl: string;
  /** The origin of one of the application's host names. */
  origin(hostname: string): string;
  /** A new browser. It is closed with the world. */
  browser(): Caller;
  /** Restarts the issuer with other keys: old signatures no longer verify, and all its sessions are gone. */
  rotateKeys(): Promise<void>;
  /** Returns an access token for a person and a resource (RFC 8707), by the code flow of a public client. */
  accessToken(login: string, resource: string): Promise<string>;
  /** Returns a token under the issuer's present key with any claims. */
  forgedToken(claims: JWTPayload, type?: string): Promise<string>;
  /** Restarts the application over its data. */
  restart(): Promise<void>;
  /** Unexpected errors, over restarts. */
  incidents(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** The host names that send people to the issuer. */
const RELYING_PARTIES = [CONSOLE_HOST, 'acme.localhost', 'birch.localhost'];

/** A client for access tokens. No server listens at its redirect address. */
const AGENT: IssuerClient = {
  clientId: 'agent',
  redirectUris: ['http://127.0.0.1/callback'],
  postLogoutRedirectUris: [],
};

/** Opens everything, and provisions every instance. */
export async function openWorld(openPlace: OpenPlace): Promise<World> {
  // Everything that was opened is closed when a later step fails.
  await using opened = new AsyncDisposableStack();
  let keys = await generateIssuerKeys();
  let issuer = await startIssuer({ port: 0, keys });
  opened.defer(() => issuer.close());
  const { url: issuerUrl, port } = issuer;
  const place = await openPlace({
    OIDC_ISSUER: issuerUrl,
    OIDC_CLIENT_ID: CONSOLE_HOST,
    OIDC_CLIENT_SECRET: secretOf(CONSOLE_HOST),
    SESSION_SECRET: 'a session secret of more than thirty-two bytes',
    AUTH_PROVIDER: 'oidc',
  });
  opened.defer(() => place.close());
  const origin = (hostname: string): string => `http://${hostname}:${place.port}`;
  const clients = [AGENT, ...RELYING_PARTIES.map((hostname) => clientOf(hostname, origin(hostname)))];
  for (const client of clients) await issuer.putClient(client);

  const control = opened.use(new Caller());
  for (const hostname of Object.keys(INSTANCES)) {
    const provisioning: Provisioning = { hostname, config: configOf(hostname, issuerUrl) };
    const { status, text } = await control.ask(`${origin(CONTROL_HOST)}/provision`, { json: provisioning });
    if (status !== 200) throw new Error(`${hostname} was not provisioned: ${status} ${text}`);
  }

  const world = opened.move();
  const before: string[] = [];
  // A restart closes the kept connection, so this uses a new one.
  const incidents = async (): Promise<string[]> => {
    const answer = await world.use(new Caller()).ask(`${origin(CONTROL_HOST)}/incidents`);
    return [...before, ...answer.json<string[]>()];
  };
  return {
    issuerUrl,
    origin,
    browser: () => world.use(new Caller()),
    rotateKeys: async () => {
      await issuer.close();
      keys = await generateIssuerKeys();
      issuer = await startIssuer({ port, keys, clients });
    },
    accessToken: async (login, resource) => {
      const browser = makeBrowser(issuer);
      const tokens = await signIn(issuer, AGENT, { browser, login, extra: { resource } });
      return tokens.access_token;
    },
    forgedToken: async (claims, type = 'at+jwt') => {
      const jwk = keys.keys[0] as JWK & { readonly kid: string };
      const audience = INSTANCES['tokens.localhost']?.scopeId ?? '';
      return new SignJWT({ iss: issuerUrl, aud: audience, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: jwk.kid, typ: type })
        .setIssuedAt()
        .setExpirationTime(claims.exp ?? '1h')
        .sign(await importJWK(jwk, 'ES256'));
    },
    restart: async () => {
      before.splice(0, before.length, ...(await incidents()));
      await place.restart();
    },
    incidents,
    close: () => world.disposeAsync(),
  };
}

function secretOf(hostname: string): string {
  return `the secret of ${hostname}`;
}

function clientOf(hostname: string, origin: string): IssuerClient {
  return {
    clientId: hostname,
    clientSecret: secretOf(hostname),
    redirectUris: [`${origin}/api/auth/callback`],
    postLogoutRedirectUris: [`${origin}/`, `${origin}/bye`],
    name: hostname,
    // The console has no store, so it could not remember which session was ended.
    ...(hostname === CONSOLE_HOST ? {} : { backchannelLogoutUri: `${origin}/api/auth/backchannel-logout` }),
  };
}

/** Returns the settings of an instance: none for those without an issuer, and a dead address for `adrift`. */
function configOf(hostname: string, issuerUrl: string): Record<string, string> {
  if (hostname === 'tokens.localhost' || hostname === ACCOUNTS_HOST) return {};
  const issuer = hostname === 'adrift.localhost' ? 'http://localhost:1' : issuerUrl;
  return {
    'platform:auth': JSON.stringify({ mode: 'oidc', issuer, clientId: hostname }),
    OIDC_CLIENT_SECRET: secretOf(hostname),
  };
}
