/** One process, wired: the engine, the directory, the control plane, the router, the verticals and the development issuer. */
import { randomBytes } from 'node:crypto';
import { ID_PREFIXES, makeIdFactory, PlatformError } from '@freehold/contracts';
import { controlPlaneApp } from '@freehold/control-plane';
import { makeHostAdmin, type VerticalGateway } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import { addressesUnder } from './addresses.ts';
import { makeFileAnchor } from './anchor.ts';
import { checkArchive } from './archive-check.ts';
import { nameOfArchive } from './archive-settings.ts';
import { type Background, startBackground } from './background.ts';
import { type Demo, ensureDemo } from './demo.ts';
import { DEVELOPMENT_CLIENT_ID, registerClients, startDevelopmentIssuer } from './development-issuer.ts';
import { makeFleet } from './fleet.ts';
import { makeGateway } from './gateway.ts';
import { makeGuardedFetch } from './guarded-fetch.ts';
import { makeHome } from './home.ts';
import { type Listener, listen } from './listener.ts';
import { openMail } from './mail.ts';
import { openOperator } from './operator.ts';
import { makeProxyReader } from './proxies.ts';
import { makeRouter } from './router.ts';
import type { Settings } from './settings.ts';
import { bindingsOf, demoConfigOf, type PlatformClient } from './sign-in.ts';
import { openStorage } from './storage.ts';
import { openVerticals } from './verticals.ts';
import { isOutboxReadable, warningsOf } from './warnings.ts';

export interface Platform {
  /** Where the platform itself is reached: `http://localhost:8787`. */
  readonly origin: string;
  readonly apiOrigin: string;
  /** Null in production without an issuer. */
  readonly issuerUrl: string | null;
  /** Where mail is read while developing; null where it really leaves, or never does, or cannot be read. */
  readonly outboxUrl: string | null;
  /** The file with the operator's token. */
  readonly tokenFile: string;
  /** Where everything is kept a second time, for people; null for nowhere. */
  readonly archive: string | null;
  /** What the operator should know, a sentence each. */
  readonly warnings: readonly string[];
  /** Null in production, where nobody may become the owner of a tenant that nobody asked for. */
  readonly demo: (Demo & { readonly origin: string }) | null;
  /** How the platform reaches the verticals: no address leads there. */
  readonly gateway: VerticalGateway;
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
  let up = false;
  // Before it is up, an archive that is another's is the one sentence that the start fails with.
  const onStorageIncident: IncidentSink = (error, where) => {
    const isTold = !up && error instanceof PlatformError && error.reason === 'archive_not_ours';
    if (!isTold) onIncident(error, where);
  };
  const world = { now: Date.now, random: (bytes: number): Uint8Array => randomBytes(bytes) };
  const storage = await openStorage(settings, { now: world.now, onIncident: onStorageIncident });
  cleanup.push(() => storage.close());
  const { engine, secrets, keyring, vault, blobs } = storage;
  const platformSecret = settings.platformSecret ?? secrets.platformSecret;

  const mail = openMail(settings, world.now);
  cleanup.push(async () => mail.close());
  const ownIssuer =
    settings.issuer?.url ?? (settings.production ? null : `http://localhost:${settings.issuerPort}`);
  let background: Background | null = null;
  const verticals = openVerticals({
    engine,
    vault,
    sealing: keyring,
    blobs,
    ...world,
    platformSecret,
    fetch: makeGuardedFetch({ ownIssuer, allowed: settings.allowedIssuers }),
    mailer: mail.mailer,
    bindings: bindingsOf(settings.signIn, ownIssuer),
    onIncident,
    onWork: (slug, scopeId) => background?.wake(slug, scopeId),
  });
  const gateway = makeGateway(verticals, platformSecret);

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

  const operator = await openOperator({
    hostAdmin,
    dataDirectory,
    apiUrl: originOf(apiHostname),
    fetch: async (request) => controlPlane.fetch(request),
  });
  const fleet = makeFleet(operator.client);
  const started = startBackground({ storage, verticals, fleet, now: world.now, onIncident });
  background = started;
  cleanup.push(() => started.stop());

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
      clientSecret: secrets.issuerClientSecret,
    });
  };
  hostAdmin.onRoutesChanged(() => {
    router.invalidate();
    if (up) started.refresh();
    tellIssuer().catch((error) =>
      onIncident(error, { kind: 'platform', key: 'issuer', method: 'putClient' }),
    );
  });

  const demo = settings.production
    ? null
    : await ensureDemo({
        dataDirectory,
        client: operator.client,
        hostname: demoHostname,
        config: demoConfigOf(settings.signIn, client),
      });
  await tellIssuer();
  const archiveWarning = settings.archive && (await checkArchive(engine));
  up = true;
  started.begin();
  return {
    origin: originOf(domain),
    apiOrigin: originOf(apiHostname),
    issuerUrl: client?.url ?? null,
    // It is read on this machine alone, whatever name the public knows it by.
    outboxUrl: mail.outbox && isOutboxReadable(settings) ? `http://localhost:${port}/outbox` : null,
    tokenFile: operator.tokenFile,
    archive: settings.archive && nameOfArchive(settings.archive),
    warnings: [...warningsOf(settings), ...(archiveWarning ? [`Archive: ${archiveWarning}`] : [])],
    demo: demo && { ...demo, origin: originOf(demo.hostname) },
    gateway,
    close,
  };
}
