/** One process, wired: the engine, the directory, the control plane, the router, the verticals and the development issuer. */
import { randomBytes } from 'node:crypto';
import { ID_PREFIXES, makeIdFactory } from '@freehold/contracts';
import { controlPlaneApp } from '@freehold/control-plane';
import { makeHostAdmin, type VerticalGateway } from '@freehold/directory';
import { openNodeEngine } from '@freehold/engine-node';
import {
  generateIssuerKeys,
  type Issuer,
  IssuerError,
  type IssuerOptions,
  startIssuer,
} from '@freehold/issuer';
import type { IncidentSink } from '@freehold/store';
import { makeFileAnchor } from './anchor.ts';
import { type Demo, type DemoIssuer, ensureDemo, ensureOperatorToken } from './demo.ts';
import { makeGuardedFetch } from './guarded-fetch.ts';
import { makeHome } from './home.ts';
import { type Listener, listen } from './listener.ts';
import { makeRouter } from './router.ts';
import { loadSecrets } from './secrets.ts';
import { type Settings, SettingsError } from './settings.ts';
import { openVerticals } from './verticals.ts';

const API_HOSTNAME = 'api.localhost';
const HOME_HOSTNAMES = ['localhost', '127.0.0.1', '[::1]'];
/** The client that the development issuer knows this platform by. */
const DEVELOPMENT_CLIENT_ID = 'freehold';

export interface Platform {
  readonly port: number;
  readonly issuerUrl: string;
  /** The file with the operator's token. */
  readonly tokenFile: string;
  /** Null in production, where nobody may become the owner of a tenant that nobody asked for. */
  readonly demo: Demo | null;
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
  const ownIssuer = settings.issuer?.url ?? `http://localhost:${settings.issuerPort}`;
  const guardedFetch = makeGuardedFetch({ allowedOrigins: [ownIssuer], allowed: settings.allowedIssuers });
  const verticals = openVerticals({ engine, platformSecret, fetch: guardedFetch, onIncident, ...world });
  const gateway: VerticalGateway = {
    bound: (slug) => {
      const vertical = verticals.get(slug);
      return vertical
        ? { platformSecret, fetch: async (request) => vertical.fetch(request, { node: null }) }
        : null;
    },
    local: () => null,
  };

  let port = settings.port;
  const originOf = (hostname: string): string => `http://${hostname}:${port}`;
  const hostAdmin = makeHostAdmin({
    engine,
    gateway,
    onIncident,
    ...world,
    originOf,
    versionOf: (slug) => verticals.get(slug)?.version ?? 'unknown',
    reservedHostnames: [API_HOSTNAME, ...HOME_HOSTNAMES],
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
    apiHostname: API_HOSTNAME,
  });
  const router = makeRouter({
    apiHostname: API_HOSTNAME,
    controlPlane: (request) => controlPlane.fetch(request),
    home: (request) => home.fetch(request),
    homeHostnames: HOME_HOSTNAMES,
    vertical: (slug) => verticals.get(slug)?.fetch ?? null,
    routes,
  });

  const listener: Listener = await listen({
    port: settings.port,
    host: settings.host,
    fetch: (request) => router.fetch(request),
    onIncident: (error) => onIncident(error, { kind: 'platform', key: 'http', method: 'fetch' }),
  });
  cleanup.push(() => listener.close());
  port = listener.port;

  const development =
    settings.issuer === null
      ? await startDevelopmentIssuer({ port: settings.issuerPort, keys: secrets.issuerKeys as never })
      : null;
  if (development) cleanup.push(() => development.close());
  const issuer: DemoIssuer = settings.issuer ?? {
    url: (development as Issuer).url,
    clientId: DEVELOPMENT_CLIENT_ID,
    clientSecret: secrets.issuerClientSecret,
  };

  /** The development issuer sends people back only to addresses it was told: those of every bound host name. */
  const tellIssuer = async (): Promise<void> => {
    if (!development) return;
    const origins = (await routes()).map((route) => originOf(route.hostname));
    // A client that nobody can be sent back to is none.
    if (origins.length === 0) return;
    await development.putClient({
      clientId: DEVELOPMENT_CLIENT_ID,
      clientSecret: secrets.issuerClientSecret,
      name: 'Freehold',
      redirectUris: origins.map((origin) => `${origin}/api/auth/callback`),
      postLogoutRedirectUris: origins.map((origin) => `${origin}/`),
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
        apiUrl: originOf(API_HOSTNAME),
        fetch: async (request) => controlPlane.fetch(request),
        issuer,
      });
  await tellIssuer();
  up = true;
  return { port, issuerUrl: issuer.url, tokenFile, demo, close };
}

/** Starts the development issuer. A taken port is told in the words of this application's settings. */
async function startDevelopmentIssuer(options: IssuerOptions): Promise<Issuer> {
  try {
    return await startIssuer(options);
  } catch (error) {
    if (!(error instanceof IssuerError) || error.code !== 'port_taken') throw error;
    throw new SettingsError(
      `Port ${options.port} is taken: set ISSUER_PORT to a free one, or stop whatever listens there.`,
    );
  }
}
