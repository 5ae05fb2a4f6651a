/** One process, wired: the engine, the directory, the control plane, the router, the verticals and the development issuer. */

import { PlatformError } from '@freehold/contracts';
import type { Degradation } from '@freehold/control-plane';
import { ControlPlaneError } from '@freehold/control-plane/client';
import { DIRECTORY_KEY, directoryUnit, type VerticalGateway } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import { type DeployedVerticals, openDeployed } from './applications/deployed.ts';
import { makeHome } from './applications/home.ts';
import {
  type Demo,
  ensureDemo,
  ensureDemoAdmin,
  makeFleet,
  type Operator,
  openOperator,
} from './applications/operator.ts';
import { endingPreviews } from './applications/preview-place.ts';
import {
  bindingsOf,
  type CoLocatedVertical,
  clientBindingsOf,
  demoConfigOf,
  makeGateway,
  openVerticals,
  registerVerticals,
} from './applications/verticals.ts';
import { type LineSink, makeRequestLog, OperatorNotice, type RequestLog } from './feeds/feeds.ts';
import { openTelemetryFeed, type TelemetryFeed } from './feeds/telemetry.ts';
import { WorkSignal } from './jobs/deliveries.ts';
import { IdleScopes } from './jobs/idle-scopes.ts';
import { type PlatformJobs, startJobs } from './jobs/start-jobs.ts';
import type { RequestGate } from './network/activity.ts';
import { type OwnAddresses, openAddresses } from './network/addresses.ts';
import { makeGuardedFetch } from './network/guarded-fetch.ts';
import { listen } from './network/listener.ts';
import { makePlainHttp } from './network/plain-http.ts';
import { makeRouter, type Router } from './network/router.ts';
import { nameOfArchive } from './settings/archive-settings.ts';
import { loadLimits } from './settings/limits.ts';
import { loadProviders } from './settings/providers.ts';
import type { Settings } from './settings/settings.ts';
import { openAlerts } from './start/alerts.ts';
import {
  checkArchive,
  isOutboxReadable,
  warningsOf,
  warningsOfFiles,
  warningsOfPlaces,
  warningsOfTokens,
} from './start/checks.ts';
import { type Cleanup, type Core, makeCleanup, makeReadiness, openCore } from './start/core.ts';
import { degradationsOf } from './start/degraded.ts';
import { type Directory, openDirectory } from './start/directory.ts';
import { openGate } from './start/gate.ts';
import { type OwnIssuer, openIssuer, watchRoutes } from './start/issuer.ts';
import { noteInstallation, requireNoArchivedDirectory } from './storage/installation.ts';
import { lagOfArchive } from './storage/storage.ts';
import { noteProgram, PROGRAM_VERSION } from './storage/upgrades.ts';

export interface Platform {
  /** The platform's own address: `http://localhost:8787`. */
  readonly origin: string;
  readonly apiOrigin: string;
  /** Null in production without an issuer. */
  readonly issuerUrl: string | null;
  /** The address of mail while developing; null where mail really leaves, or never does, or cannot be read. */
  readonly outboxUrl: string | null;
  /** The file with the operator's token. */
  readonly tokenFile: string;
  /** The name of the archive, for people; null without one. */
  readonly archive: string | null;
  /** The path of the copy of the platform's databases that was made before they were migrated; null where none was. */
  readonly upgradeCopy: string | null;
  /** Warnings for the operator, a sentence each. */
  readonly warnings: readonly string[];
  /** Null in production, where no visitor may become the owner of a tenant that no operator made. */
  readonly demo: (Demo & { readonly origin: string }) | null;
  /** The platform's calls of the verticals: no address leads there. */
  readonly gateway: VerticalGateway;
  /** Runs a scheduled job now, by its name: `connections`. See `jobs/jobs.ts`. */
  readonly runJob: PlatformJobs['run'];
  /** Takes no new requests, finishes the accepted ones, and closes every database. */
  close(): Promise<void>;
}

export interface StartOptions {
  /** Receives a line for each request where the settings want one. Default: the lines are dropped. */
  readonly onLine?: LineSink;
}

/**
 * Starts everything and resolves when it is up.
 * @throws SettingsError, IssuerError or PlatformError: each with one sentence that says what to do.
 */
export async function startPlatform(
  settings: Settings,
  report: IncidentSink,
  options: StartOptions = {},
): Promise<Platform> {
  const cleanup = makeCleanup();
  try {
    return await wire(settings, report, options, cleanup);
  } catch (error) {
    await cleanup.run();
    throw error;
  }
}

async function wire(
  settings: Settings,
  report: IncidentSink,
  { onLine }: StartOptions,
  cleanup: Cleanup,
): Promise<Platform> {
  const providers = loadProviders(settings.providers);
  const limits = loadLimits(settings.limitsFile);
  const addresses = openAddresses(settings);
  const readiness = makeReadiness();
  // The directory asks the verticals, and they ask the directory whose scope calls.
  let registry: Directory['hostAdmin'] | null = null;
  const base = await openCore({ settings, report, isUp: readiness.isUp, cleanup });
  const vault = endingPreviews(base.storage.vault, (of) => requireOpen(registry).previews.endOf(of));
  const core: Core = { ...base, storage: { ...base.storage, vault } };
  const { world, feeds, storage, mail, activity } = core;
  // First of all: a refused start must leave no row in a log, and no head with its witness.
  const archiveWarning = settings.archive && (await checkArchive(storage.engine));
  if (storage.archive && archiveWarning === null)
    await requireNoArchivedDirectory(storage.archive, settings.dataDirectory);
  const isReady = () => readiness.isReady(() => storage.engine.unit(directoryUnit, DIRECTORY_KEY).logHead());
  const degraded = () =>
    degradationsOf(storage, {
      failing: deployed.runtime.failing().length,
      unreadable: deployed.runtime.unreadable(),
    });
  const requestLog = settings.logsRequests && onLine ? makeRequestLog(onLine, world.now) : null;

  const workSignal = new WorkSignal();
  const idleScopes = new IdleScopes({ engine: storage.engine, now: world.now });
  const verticals = await openApplications({ settings, core, addresses, idleScopes, workSignal });
  const telemetry: TelemetryFeed = openTelemetryFeed({
    dataDirectory: settings.dataDirectory,
    days: settings.telemetryDays,
    otlp: settings.otlp,
    programVersion: PROGRAM_VERSION,
    activity,
    servingVersion: (slug) => core.versions.get(slug) ?? deployed.runtime.serving(slug)?.version,
    versionOfBundle: (slug, digest) => deployed.runtime.versionOf(slug, digest),
    now: world.now,
    onIncident: feeds.onIncident,
  });
  cleanup.add(() => telemetry.close());
  const deployed = await openDeployedVerticals({
    settings,
    core,
    addresses,
    telemetry,
    directory: () => requireOpen(registry),
  });
  cleanup.add(() => deployed.close());
  const gateway = makeGateway(verticals, deployed);
  const issuer = await openIssuer(settings, storage.secrets, cleanup);
  const directory = openDirectory({
    settings,
    core,
    addresses,
    providers,
    gateway,
    verticals,
    deployed,
    telemetry: telemetry.store,
    isReady,
    degraded,
    issuerClient: issuer.client,
    onRequest: requestLog?.onRequest,
  });
  const { hostAdmin } = directory;
  registry = hostAdmin;
  cleanup.add(() => hostAdmin.stopLongWork());
  await hostAdmin.previews
    .ids()
    .then((ids) => deployed.sweepPreviews(ids))
    .catch((error: unknown) =>
      feeds.onIncident(error, { kind: 'runtime', key: 'previews', method: 'sweep' }),
    );
  const followDirectory = async (): Promise<void> => {
    await registerVerticals(hostAdmin, verticals);
    await deployed.follow(hostAdmin.versionOnProd, (slug) => verticals.has(slug));
  };
  await followDirectory();
  const operator = await openOperator({
    hostAdmin,
    dataDirectory: settings.dataDirectory,
    apiUrl: addresses.apiOrigin(),
    fetch: directory.ownControlPlane,
  });

  const fleet = makeFleet(operator.client, activity.noteScope);
  await deployed.findMissing(fleet.scopesOfVertical, (slug) => verticals.has(slug));

  noteInstallation(settings.dataDirectory);
  noteProgram(settings.dataDirectory);

  const jobs = startJobs({
    hostAdmin,
    storage,
    verticals,
    deployed,
    fleet,
    idleScopes,
    activity,
    workSignal,
    onRenewed: storage.onRenewed,
    isLive: async (params) => (await operator.client.scopes.get({ params })).kind === 'live',
    backupPolicy: settings.backupPolicy,
    alerts: openAlerts({ settings, core, degraded, client: operator.client }),
    now: world.now,
    onIncident: feeds.onIncident,
    onFailure: feeds.onFailure,
  });
  cleanup.add(() => jobs.stop());
  const gate = openGate({ settings: limits, core, verticals, deployed, client: operator.client });
  const router = openRouter({
    settings,
    core,
    addresses,
    directory,
    verticals,
    deployed,
    isReady,
    degraded,
    requestLog,
    gate,
  });
  const listener = await listen({
    port: settings.port,
    host: settings.host,
    trustedProxies: settings.trustedProxies,
    connectionsMax: storage.files.connections,
    fetch: router.fetch,
    plainHttp: makePlainHttp({
      publicUrl: settings.publicUrl,
      originOf: addresses.originOf,
      onHidden: (peer, detail) => {
        report(new OperatorNotice(detail), { kind: 'platform', key: 'http', method: 'plain-http' });
        feeds.onFailure({ operation: 'network.proxy', subject: peer, reason: 'hidden_scheme', detail });
      },
    }),
    onIncident: (error) => feeds.onIncident(error, { kind: 'platform', key: 'http', method: 'fetch' }),
  });
  cleanup.add(() => listener.close());
  addresses.listensOn(listener.port);

  const registerOrigins = watchRoutes({
    hostAdmin,
    addresses,
    issuer,
    onChanged: (change) => {
      router.invalidate();
      if (readiness.isUp()) jobs.changed(change);
    },
    onReplaced: async () => {
      await followDirectory();
      router.invalidate();
    },
    onIncident: feeds.onIncident,
  });
  const opened = settings.production ? null : await openDemo(settings, { addresses, operator, issuer });
  const demo = opened !== null && 'origin' in opened ? opened : null;
  await registerOrigins();
  readiness.up();
  cleanup.add(async () => readiness.down());
  jobs.begin();
  hostAdmin
    .resumeLongWork()
    .catch((error: unknown) =>
      feeds.onIncident(error, { kind: 'platform', key: 'long-work', method: 'resume' }),
    );
  return {
    origin: addresses.originOf(addresses.domain),
    apiOrigin: addresses.apiOrigin(),
    issuerUrl: issuer.client?.url ?? null,
    // Mail is read on this machine alone, not under the platform's public name.
    outboxUrl:
      mail.outbox && isOutboxReadable(settings) ? `http://localhost:${addresses.port()}/outbox` : null,
    tokenFile: operator.tokenFile,
    archive: settings.archive && nameOfArchive(settings.archive),
    upgradeCopy: core.upgradeCopy,
    warnings: [
      ...warningsOf(settings),
      ...(archiveWarning ? [`Archive: ${archiveWarning}`] : []),
      ...warningsOfPlaces(settings),
      ...storage.warnings,
      ...deployed.warnings,
      ...warningsOfFiles(settings.dataDirectory, storage.files),
      ...warningsOfTokens(await hostAdmin.legacyPushTokens()),
      ...(opened !== null && 'warning' in opened ? [opened.warning] : []),
    ],
    demo,
    gateway,
    runJob: jobs.run,
    close: cleanup.run,
  };
}

/**
 * The demo tenant, and an admin on an empty roster of the staff. Never for production. A demo with a damaged database is a
 * warning: everything else is served.
 */
async function openDemo(
  { dataDirectory, signIn }: Settings,
  parts: { readonly addresses: OwnAddresses; readonly operator: Operator; readonly issuer: OwnIssuer },
): Promise<NonNullable<Platform['demo']> | { readonly warning: string }> {
  const { addresses, operator, issuer } = parts;
  const { client } = operator;
  const hostname = `acme.${addresses.domain}`;
  const config = demoConfigOf(signIn, issuer.client);
  await ensureDemoAdmin(client);
  const demo = await ensureDemo({ dataDirectory, client, hostname, config }).catch(unreadableDemo);
  return 'warning' in demo ? demo : { ...demo, origin: addresses.originOf(hostname) };
}

function unreadableDemo(error: unknown): { readonly warning: string } {
  if (!(error instanceof ControlPlaneError) || error.reason !== 'unit_unreadable') throw error;
  return { warning: 'The demo is not served: a database of it cannot be read. The line above names it.' };
}

function requireOpen<T>(value: T | null): T {
  if (value === null) throw new PlatformError('unavailable', 'The platform is starting.');
  return value;
}

/** The verticals that were deployed: each runs in a process of its own, once it is asked for. */
function openDeployedVerticals({
  settings,
  core,
  addresses,
  telemetry,
  directory,
}: {
  readonly settings: Settings;
  readonly core: Core;
  readonly addresses: OwnAddresses;
  readonly telemetry: TelemetryFeed;
  readonly directory: () => Directory['hostAdmin'];
}): Promise<DeployedVerticals> {
  const { world, feeds, storage, mail, ownClient, platformSecrets } = core;
  return openDeployed({
    dataDirectory: settings.dataDirectory,
    storage,
    mailer: mail.mailer,
    platformSecrets,
    bindings: () => ({
      ...bindingsOf(settings.signIn, ownClient),
      CONTROL_PLANE_URL: addresses.apiOrigin(),
    }),
    signInBindings: clientBindingsOf(ownClient),
    models: settings.models,
    declaredOnly: settings.declaredOnly,
    issuerFetch: makeGuardedFetch({ ownIssuer: ownClient?.url ?? null, allowed: settings.allowedIssuers }),
    directory,
    onLines: telemetry.onLines,
    activity: core.activity,
    now: world.now,
    stopping: world.stopping,
    onIncident: feeds.onIncident,
  });
}

/** The verticals of this process, over an engine that notices the calls of scopes. */
async function openApplications({
  settings,
  core,
  addresses,
  idleScopes,
  workSignal,
}: {
  readonly settings: Settings;
  readonly core: Core;
  readonly addresses: OwnAddresses;
  readonly idleScopes: IdleScopes;
  readonly workSignal: WorkSignal;
}): Promise<ReadonlyMap<string, CoLocatedVertical>> {
  const { world, feeds, storage, mail, ownClient, platformSecrets, versions } = core;
  const verticals = await openVerticals({
    ...world,
    engine: idleScopes.watch(storage.engine),
    vault: storage.vault,
    sealing: storage.keyring,
    blobs: storage.blobs,
    platformSecret: platformSecrets[0],
    fetch: makeGuardedFetch({ ownIssuer: ownClient?.url ?? null, allowed: settings.allowedIssuers }),
    mailer: mail.mailer,
    bindings: () => ({
      ...clientBindingsOf(ownClient),
      ...bindingsOf(settings.signIn, ownClient),
      ...settings.models,
      CONTROL_PLANE_URL: addresses.apiOrigin(),
    }),
    onIncident: feeds.onIncident,
    onWork: workSignal.raise,
  });
  for (const [slug, { manifest }] of verticals) versions.set(slug, manifest.version);
  return verticals;
}

function openRouter({
  settings,
  core,
  addresses,
  directory,
  verticals,
  deployed,
  isReady,
  degraded,
  requestLog,
  gate,
}: {
  readonly settings: Settings;
  readonly core: Core;
  readonly addresses: OwnAddresses;
  readonly directory: Directory;
  readonly verticals: ReadonlyMap<string, CoLocatedVertical>;
  readonly deployed: DeployedVerticals;
  readonly isReady: () => Promise<boolean>;
  readonly degraded: () => readonly Degradation[];
  /** Null: requests leave no line. */
  readonly requestLog: RequestLog | null;
  readonly gate: RequestGate;
}): Router {
  const { hostAdmin, controlPlane } = directory;
  const { activity, mail, world } = core;
  const { apiHostname, apiHostnames, homeHostnames, originOf, publicOriginOf } = addresses;
  const home = makeHome({
    ready: isReady,
    readyDetails: () => lagOfArchive(core.storage),
    degraded,
    // In production the tenants are not public.
    routes: settings.production ? null : () => hostAdmin.routes(),
    apiHostname,
    outbox: mail.outbox,
    ...(publicOriginOf === undefined ? {} : { originOf: publicOriginOf }),
  });
  return makeRouter({
    apiHostnames,
    controlPlane,
    home: (request, client) => home.fetch(request, client),
    homeHostnames,
    application: (slug) => {
      const vertical = verticals.get(slug);
      if (!vertical) return deployed.application(slug);
      const { fetch, publicPaths } = vertical;
      return { fetch, publicPaths, bindings: vertical.bindings() };
    },
    preview: deployed.preview,
    route: hostAdmin.route,
    challenge: hostAdmin.hostnames.answerChallenge,
    originOf,
    gate,
    sharedDomains: [addresses.domain],
    now: world.now,
    onServed: requestLog
      ? (served) => {
          activity.served(served);
          requestLog.onServed(served);
        }
      : activity.served,
  });
}
