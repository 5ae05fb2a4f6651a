/** The platform's own work, put together: deliveries in the scopes, and the jobs of the runner. */

import type { BackupPolicy, DirectoryHostAdmin, RoutesChange } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import type { Fleet } from '../applications/fleet.ts';
import type { CoLocatedVertical } from '../applications/verticals.ts';
import { type FailureSink, makeRepeats } from '../feeds/feeds.ts';
import type { Storage } from '../storage/storage.ts';
import { buildOf, Deliveries, type WorkSignal } from './deliveries.ts';
import type { IdleScopes } from './idle-scopes.ts';
import { makeJobs } from './jobs.ts';
import { tidyUp } from './maintenance.ts';
import {
  makeInvocationCounter,
  makeUseMeter,
  remembering,
  type UseMeter,
  type UseMeterOptions,
} from './meters.ts';
import { JobRunner } from './runner.ts';
import { makeScopeOutcomes } from './scope-outcomes.ts';
import { makeStorageMeter, type StorageMeter } from './storage-meter.ts';
import { makeUsageSweep, type UsageScope } from './usage.ts';

/** Requests that wait for a start come first. New work in a scope wakes it before that. */
const RESUME_AFTER_MS = 2_000;

export interface PlatformJobsOptions {
  readonly hostAdmin: DirectoryHostAdmin;
  readonly storage: Pick<Storage, 'engine' | 'vaultUnit' | 'keyring' | 'blobs' | 'blobArchive'>;
  /** By slug. */
  readonly verticals: ReadonlyMap<string, CoLocatedVertical>;
  readonly fleet: Fleet;
  /** Which scopes have nothing to do. */
  readonly idleScopes: IdleScopes;
  readonly workSignal: WorkSignal;
  /** Whose a scope is, where that is known. */
  readonly tenantOf: (scope: string) => string | undefined;
  /** Whether a scope is billed. Asked once of each. */
  readonly isLive: (ref: UsageScope) => Promise<boolean>;
  /** Null: the platform makes no backups by itself. */
  readonly backupPolicy: BackupPolicy | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  readonly onFailure: FailureSink;
}

export interface PlatformJobs extends Pick<JobRunner, 'run'> {
  /** Everything is up. A moment later the active scopes are looked into for work that is left from before. */
  begin(): void;
  /** A tenant or a scope was suspended or let in, or the whole directory was replaced. */
  changed(change: RoutesChange): void;
  /** A request was answered by the application of a scope. */
  served(request: UsageScope & { readonly method: string }): void;
  /** Begins nothing new, adds to the meters what was counted, and resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** What only reads uses no model that anybody is charged for. */
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Puts it together. Nothing runs before `begin`, but deliveries in scopes that are woken. */
export function startJobs(options: PlatformJobsOptions): PlatformJobs {
  const { hostAdmin, storage, verticals, fleet, idleScopes, tenantOf, now, onIncident, onFailure } = options;
  const incident = (method: string) => (error: unknown, ref: { readonly scope: string }) =>
    onIncident(error, { kind: 'platform', key: ref.scope, method });

  const outcomes = makeScopeOutcomes({
    scope: ({ vertical, scope }) => verticals.get(vertical)?.host.scope(scope) ?? null,
    now,
    onError: incident('readOutcomes'),
  });
  const usage = makeUsageSweep({
    collect: hostAdmin.collectModelUsage,
    fleet,
    now,
    isRunning: (vertical) => verticals.has(vertical),
    onFailure,
    onError: incident('collectModelUsage'),
  });
  const { requests, invocations, storageMeter } = openMeters(options);
  const deliveries = new Deliveries({
    verticals: new Map(
      [...verticals].map(([slug, { host, units }]) => [
        slug,
        { vertical: units.scope.vertical, host, build: buildOf(units.scope) },
      ]),
    ),
    fleet,
    idleScopes,
    now,
    onIncident,
    // It may have called a model before this process began.
    onUnsettled: usage.touch,
    isOwed: usage.isOwed,
    onWorked: (vertical, scope) => {
      outcomes.touch({ vertical, scope });
      // An executor may have called a model.
      const tenant = tenantOf(scope);
      if (tenant !== undefined) usage.touch({ tenant, scope });
    },
  });
  const runner = new JobRunner({
    recordSweep: hostAdmin.recordSweep,
    repeats: makeRepeats(now),
    jobs: makeJobs({
      hostAdmin,
      archive: storage.engine,
      blobArchive: storage.blobArchive,
      outcomes,
      usage,
      meters: [requests, invocations],
      storageMeter,
      backupPolicy: options.backupPolicy,
      tidyUp: (signal) => tidyUp({ ...storage, verticals, fleet, onIncident, onFailure }, signal),
      onFailure,
    }),
    onError: (error, job) => onIncident(error, { kind: 'platform', key: 'sweep', method: job }),
  });

  options.workSignal.listen((slug, scopeId) => deliveries.wake(slug, scopeId));
  let beginning: NodeJS.Timeout | undefined;
  return {
    run: (name) => runner.run(name),
    begin: () => {
      beginning = setTimeout(() => void deliveries.resume(), RESUME_AFTER_MS).unref();
      runner.begin();
    },
    changed: (change) => void deliveries.changed(change),
    served: ({ tenant, scope, method }) => {
      requests.count({ tenant, scope });
      if (!READS.has(method)) usage.touch({ tenant, scope });
    },
    stop: async () => {
      clearTimeout(beginning);
      await Promise.all([runner.stop(), deliveries.stop()]);
      await Promise.all([requests.flush(), invocations.flush()]);
    },
  };
}

/** What is counted and measured. What cannot be is told, and charged to nobody. */
function openMeters(options: PlatformJobsOptions): {
  readonly requests: UseMeter;
  readonly invocations: Pick<UseMeter, 'flush'>;
  readonly storageMeter: StorageMeter;
} {
  const { hostAdmin, storage, verticals, fleet, tenantOf, now, onIncident, onFailure } = options;
  const isLive = remembering(options.isLive);
  const failed = (error: unknown, key: string, told: { method: string; tenant?: string; detail: string }) => {
    const { method, tenant, detail } = told;
    onIncident(error, { kind: 'platform', key, method });
    onFailure({
      operation: 'meters.add',
      tenant: (tenant ?? null) as never,
      subject: key,
      reason: 'internal',
      detail,
    });
  };
  const meterOf = (meter: UseMeterOptions['meter']): UseMeter =>
    makeUseMeter({
      meter,
      add: (readings) => hostAdmin.addToMeters(readings),
      isLive,
      onError: (error, tenant) =>
        failed(error, meter, {
          method: 'addToMeters',
          tenant,
          detail: 'What was used in about a minute was not added to the meter.',
        }),
    });

  const invocations = makeInvocationCounter({
    meter: meterOf('operations.invoked'),
    tenantOf: async ({ vertical, scope }) =>
      tenantOf(scope) ?? (await requireHost(verticals, vertical).scope(scope).identify({})).tenantId,
    onError: (error, scope) =>
      failed(error, scope, {
        method: 'countInvocations',
        detail: 'The operations of about a minute of this scope were not counted: nobody knows whose it is.',
      }),
  });
  for (const [slug, { units }] of verticals) units.scope.onInvoked((scope) => invocations.count(slug, scope));

  return {
    requests: meterOf('http.requests'),
    invocations,
    storageMeter: makeStorageMeter({
      fleet,
      databaseBytes: async ({ vertical, scope }) => {
        const known = verticals.get(vertical);
        return known ? storage.engine.databaseBytes(known.units.scope, scope) : null;
      },
      blobs: storage.blobs,
      isLive,
      set: (readings) => hostAdmin.setMeters(readings),
      now,
      onError: (error, tenant) =>
        failed(error, 'storage.bytes', {
          method: 'measureStorage',
          tenant,
          detail: 'What this tenant keeps was not measured today.',
        }),
    }),
  };
}

function requireHost(verticals: PlatformJobsOptions['verticals'], slug: string): CoLocatedVertical['host'] {
  const known = verticals.get(slug);
  if (known) return known.host;
  throw new TypeError(`there is no vertical ${slug} here`);
}
