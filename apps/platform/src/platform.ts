/** One process, wired: the engine, the directory, the control plane, the router, the verticals and the development issuer. */

import { DIRECTORY_KEY, directoryUnit, type VerticalGateway } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import { type Demo, ensureDemo, ensureDemoAdmin } from './applications/demo.ts';
import { makeFleet } from './applications/fleet.ts';
import { demoConfigOf } from './applications/sign-in.ts';
import { registerVerticals } from './applications/verticals.ts';
import { loadProviders } from './connect/providers.ts';
import { type LineSink, makeRequestLog } from './feeds/serving.ts';
import { WorkSignal } from './jobs/deliveries.ts';
import { type PlatformJobs, startJobs } from './jobs/start-jobs.ts';
import { openAddresses } from './network/addresses.ts';
import { openOperator } from './operator.ts';
import { nameOfArchive } from './settings/archive-settings.ts';
import type { Settings } from './settings/settings.ts';
import { followRoutes } from './start/follow-routes.ts';
import { type Cleanup, makeCleanup, makeReadiness } from './start/lifecycle.ts';
import { openApplications } from './start/open-applications.ts';
import { openCore } from './start/open-core.ts';
import { openDirectory } from './start/open-directory.ts';
import { openRouter, openSocket } from './start/open-front.ts';
import { openIssuer } from './start/open-issuer.ts';
import { checkArchive } from './storage/archive-check.ts';
import { warningsOfPlaces } from './storage/places.ts';
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
  /** Does one of the jobs that come back by themselves now, rather than at its time: `connections`. See `jobs/jobs.ts`. */
  readonly runJob: PlatformJobs['run'];
  /** Takes nothing new, finishes what was accepted, and closes every database. */
  close(): Promise<void>;
}

export interface StartOptions {
  /** Receives a line for each request where the settings want one. Default: nobody does. */
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
  const addresses = openAddresses(settings);
  const { originOf, domain } = addresses;
  const readiness = makeReadiness();
  const core = await openCore({ settings, report, isUp: readiness.isUp, cleanup });
  const { world, feeds, storage, mail, knownFleet } = core;
  // Before anything is done: a start that is refused must leave no row in a log, and no head with its witness.
  const archiveWarning = settings.archive && (await checkArchive(storage.engine));
  const isReady = () => readiness.isReady(() => storage.engine.unit(directoryUnit, DIRECTORY_KEY).logHead());
  const requestLog = settings.logsRequests && onLine ? makeRequestLog(onLine, world.now) : null;

  const workSignal = new WorkSignal();
  const { verticals, gateway, idleScopes } = await openApplications({
    settings,
    core,
    addresses,
    onWork: workSignal.raise,
  });
  const issuer = await openIssuer(settings, storage.secrets, cleanup);
  const directory = openDirectory({
    settings,
    core,
    addresses,
    providers,
    gateway,
    verticals,
    isReady,
    issuerClient: issuer.client,
    onRequest: requestLog?.onRequest,
  });
  const { hostAdmin } = directory;
  cleanup.add(() => hostAdmin.stopLongWork());
  await registerVerticals(hostAdmin, verticals);
  const operator = await openOperator({
    hostAdmin,
    dataDirectory: settings.dataDirectory,
    apiUrl: addresses.apiOrigin(),
    fetch: directory.ownControlPlane,
  });

  const jobs = startJobs({
    hostAdmin,
    storage,
    verticals,
    fleet: makeFleet(operator.client, knownFleet.noteScope),
    idleScopes,
    workSignal,
    tenantOf: knownFleet.tenantOf,
    isLive: async (params) => (await operator.client.scopes.get({ params })).kind === 'live',
    backupPolicy: settings.backupPolicy,
    now: world.now,
    onIncident: feeds.onIncident,
    onFailure: feeds.onFailure,
  });
  cleanup.add(() => jobs.stop());
  const router = openRouter({
    settings,
    core,
    addresses,
    directory,
    verticals,
    isReady,
    onServed: (served) => {
      knownFleet.noteScope(served.scope, served.tenant);
      jobs.served(served);
      requestLog?.onServed(served);
    },
  });
  await openSocket({ settings, core, addresses }, router, cleanup);

  const tellIssuer = followRoutes({
    hostAdmin,
    addresses,
    issuer,
    onChanged: (change) => {
      router.invalidate();
      if (readiness.isUp()) jobs.changed(change);
    },
    onReplaced: () => registerVerticals(hostAdmin, verticals),
    onIncident: feeds.onIncident,
  });
  const demo = settings.production
    ? null
    : await ensureDemo({
        dataDirectory: settings.dataDirectory,
        client: operator.client,
        hostname: `acme.${domain}`,
        config: demoConfigOf(settings.signIn, issuer.client),
      });
  if (!settings.production) await ensureDemoAdmin(operator.client);
  await tellIssuer();
  readiness.up();
  cleanup.add(async () => readiness.down());
  jobs.begin();
  hostAdmin
    .resumeLongWork()
    .catch((error: unknown) =>
      feeds.onIncident(error, { kind: 'platform', key: 'long-work', method: 'resume' }),
    );
  return {
    origin: originOf(domain),
    apiOrigin: addresses.apiOrigin(),
    issuerUrl: issuer.client?.url ?? null,
    // It is read on this machine alone, whatever name the public knows it by.
    outboxUrl:
      mail.outbox && isOutboxReadable(settings) ? `http://localhost:${addresses.port()}/outbox` : null,
    tokenFile: operator.tokenFile,
    archive: settings.archive && nameOfArchive(settings.archive),
    warnings: [
      ...warningsOf(settings),
      ...(archiveWarning ? [`Archive: ${archiveWarning}`] : []),
      ...warningsOfPlaces(settings),
    ],
    demo: demo && { ...demo, origin: originOf(demo.hostname) },
    gateway,
    runJob: jobs.run,
    close: cleanup.run,
  };
}
