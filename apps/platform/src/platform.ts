/** One process, wired: the engine, the directory, the control plane, the router, the verticals and the development issuer. */
import { randomBytes } from 'node:crypto';
import { ID_PREFIXES, makeIdFactory } from '@freehold/contracts';
import { controlPlaneApp } from '@freehold/control-plane';
import { makeHostAdmin, type VerticalGateway } from '@freehold/directory';
import { openNodeEngine } from '@freehold/engine-node';
import { generateIssuerKeys } from '@freehold/issuer';
import type { IncidentSink } from '@freehold/store';
import { addressesUnder } from './addresses.ts';
import { makeFileAnchor } from './anchor.ts';
import { type Demo, ensureDemo, ensureOperatorToken } from './demo.ts';
import { DEVELOPMENT_CLIENT_ID, registerClients, startDevelopmentIssuer } from './development-issuer.ts';
import { makeGuardedFetch } from './guarded-fetch.ts';
import { makeHome } from './home.ts';
import { type Listener, listen } from './listener.ts';
import { openMail } from './mail.ts';
import { makeProxyReader } from './proxies.ts';
import { makeRouter } from './router.ts';
import { loadSecrets } from './secrets.ts';
import type { Settings } from './settings.ts';
import { bindingsOf, demoConfigOf, type PlatformClient } from './sign-in.ts';
import { openVerticals } from './verticals.ts';

export interface Platform {
  /** Where the platform itself is reached: `http://localhost:8787`. */
  readonly origin: string;
  readonly apiOrigin: string;
  /** Null in production without an issuer. */
  readonly issuerUrl: string | null;
  /** Where mail is read while developing; null where it really leaves, or never does. */
  readonly outboxUrl: string | null;
  /** The file with the operator's token. */
  readonly tokenFile: string;
  /** Null in production, where nobody may become the owner of a tenant that nobody asked for. */
  readonly demo: (Demo & { readonly origin: string }) | null;
  /** Takes nothing new, finishes what was accepted, and closes every database. */
  close(): Promise<void>;
}

/**
 * Starts everything and resolves when it is up.
 * @throws SettingsError, IssuerError or PlatformError: each with one sentence that says what to do.
 */
export async function startPlatform(settings: Settings, onIncident: IncidentSink): Promise<Platform> {
  const cleanup: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const task of cleanup.splice(0).reverse()) await task();
  };
  try {
    return await wire(settings, onIncident, cleanup, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function wire(
  settings: Settings,
  onIncident: IncidentSink,
  cleanup: (() => Promise<void>)[],
  close: () => Promise<void>,
): Promise<Platform> {
  const { dataDirectory } = settings;
  const engine = openNodeEngine({ dataDirectory, onIncident });
  cleanup.push(() => engine.close());
  const secrets = await loadSecrets(dataDirectory, generateIssuerKeys);
  const platformSecret = settings.platformSecret ?? secrets.platformSecret;

  const world = { now: Date.now, random: (bytes: number): Uint8Array => randomBytes(bytes) };
  const mail = openMail(settings, world.now);
  cleanup.push(async () => mail.close());
  const ownIssuer =
    settings.issuer?.url ?? (settings.production ? null : `http://localhost:${settings.issuerPort}`);
  const guardedFetch = makeGuardedFetch({
    allowedOrigins: ownIssuer === null ? [] : [ownIssuer],
    allowed: settings.allowedIssuers,
  });
  const verticals = openVerticals({
    engine,
    platformSecret,
    fetch: guardedFetch,
    mailer: mail.mailer,
    bindings: bindingsOf(settings.signIn, ownIssuer),
    onIncident,
    ...world,
  });
  const gateway: VerticalGateway = {
    bound: (slug) => {
      const vertical = verticals.get(slug);
      return vertical
        ? {
            platformSecret,
            fetch: async (request) => vertical.fetch(request, { node: null, clientAddress: null }),
          }
        : null;
    },
    local: () => null,
  };

  let port = settings.port;
  const { domain, apiHostname, apiHostnames, homeHostnames, publicOriginOf } = addressesUnder(
    settings.publicUrl,
  );
  const originOf = publicOriginOf ?? ((hostname: string): string => `http://${hostname}:${port}`);
  const hostAdmin = makeHostAdmin({
    engine,
    gateway,
    onIncident,
    ...world,
    originOf,
    versionOf: (slug) => verticals.get(slug)?.version ?? 'unknown',
    reservedHostnames: [...apiHostnames, ...homeHostnames],
    baseDomains: [domain],
    ...(settings.anchorFile === undefined ? {} : { anchor: makeFileAnchor(settings.anchorFile) }),
  });
  const newId = makeIdFactory(world);
  const controlPlane = controlPlaneApp({
    hostAdmin,
    now: world.now,
    newRequestId: () => newId(ID_PREFIXES.request),
    onIncident: (error, { operation }) =>
      onIncident(error, { kind: 'control-plane', key: 'http', method: operation ?? 'none' }),
  });

  let up = false;
  const routes = () => hostAdmin.routes();
  // In production it is nobody's business who the tenants are.
  const home = makeHome({
    ready: () => up,
    routes: settings.production ? async () => [] : routes,
    apiHostname,
    outbox: mail.outbox,
    ...(publicOriginOf === undefined ? {} : { originOf: publicOriginOf }),
  });
  const router = makeRouter({
    apiHostnames,
    controlPlane: (request) => controlPlane.fetch(request),
    home: (request, client) => home.fetch(request, client),
    homeHostnames,
    vertical: (slug) => verticals.get(slug)?.fetch ?? null,
    routes,
    // Never the request's own: whoever sends it writes its host and port, and tokens and mails are made for the origin.
    originOf,
  });
  const throughProxies = makeProxyReader(settings.trustedProxies);

  const listener: Listener = await listen({
    port: settings.port,
    host: settings.host,
    fetch: (received, peer) => {
      const { request, clientAddress } = throughProxies(received, peer);
      return router.fetch(request, { clientAddress });
    },
    onIncident: (error) => onIncident(error, { kind: 'platform', key: 'http', method: 'fetch' }),
  });
  cleanup.push(() => listener.close());
  port = listener.port;

  const development =
    settings.issuer === null && !settings.production
      ? await startDevelopmentIssuer({ port: settings.issuerPort, keys: secrets.issuerKeys as never })
      : null;
  if (development) cleanup.push(() => development.close());
  const client: PlatformClient | null =
    settings.issuer ??
    (development && {
      url: development.url,
      clientId: DEVELOPMENT_CLIENT_ID,
      clientSecret: secrets.issuerClientSecret,
    });

  const demoHostname = `acme.${domain}`;
  const tellIssuer = async (): Promise<void> => {
    if (!development) return;
    const hostnames = (await routes()).map((route) => route.hostname);
    await registerClients(development, {
      origins: hostnames.map(originOf),
      // A client has one address to be told at. The other applications notice when their sessions end.
      told: originOf(hostnames.find((each) => each === demoHostname) ?? hostnames[0] ?? demoHostname),
      clientSecret: secrets.issuerClientSecret,
    });
  };
  hostAdmin.onRoutesChanged(() => {
    router.invalidate();
    tellIssuer().catch((error) =>
      onIncident(error, { kind: 'platform', key: 'issuer', method: 'putClient' }),
    );
  });

  const tokenFile = await ensureOperatorToken(hostAdmin, dataDirectory);
  const demo = settings.production
    ? null
    : await ensureDemo({
        dataDirectory,
        tokenFile,
        apiUrl: originOf(apiHostname),
        fetch: async (request) => controlPlane.fetch(request),
        hostname: demoHostname,
        config: demoConfigOf(settings.signIn, client),
      });
  await tellIssuer();
  up = true;
  return {
    origin: originOf(domain),
    apiOrigin: originOf(apiHostname),
    issuerUrl: client?.url ?? null,
    // It is read on this machine alone, whatever name the public knows the platform by.
    outboxUrl: mail.outbox && `http://localhost:${port}/outbox`,
    tokenFile,
    demo: demo && { ...demo, origin: originOf(demo.hostname) },
    close,
  };
}
