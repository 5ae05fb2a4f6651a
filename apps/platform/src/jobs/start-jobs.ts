/** The platform's own work, put together: deliveries in the scopes, and the jobs of the runner. */

import type { BackupPolicy, DirectoryHostAdmin, RoutesChange } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import type { DeployedVerticals } from '../applications/deployed.ts';
import type { Fleet } from '../applications/operator.ts';
import type { CoLocatedVertical } from '../applications/verticals.ts';
import { type FailureSink, makeRepeats } from '../feeds/feeds.ts';
import type { ScopeActivity, TenantScope } from '../network/activity.ts';
import type { Storage } from '../storage/storage.ts';
import { buildOf, Deliveries, type WorkSignal } from './deliveries.ts';
import { type IdleScopes, idleScopesUnit } from './idle-scopes.ts';
import { type AlertJobs, makeJobs } from './jobs.ts';
import { scopeIdsOf, tidyUp } from './maintenance.ts';
import { makeStorageMeter, makeUseMeters, remembering, type StorageMeter, type UseMeters } from './meters.ts';
import { JobRunner } from './runner.ts';
import { makeScopeOutcomes } from './scope-outcomes.ts';
import { UsageSweep } from './usage.ts';

/** Requests that wait for a start come first. New work in a scope wakes it before that. */
const RESUME_AFTER_MS = 2_000;

export interface PlatformJobsOptions {
  readonly hostAdmin: DirectoryHostAdmin;
  readonly storage: Pick<
    Storage,
    'engine' | 'vaultUnit' | 'keyring' | 'blobs' | 'blobArchive' | 'archiveStatus'
  >;
  /** By slug. */
  readonly verticals: ReadonlyMap<string, CoLocatedVertical>;
  readonly deployed: Pick<DeployedVerticals, 'has' | 'runtime'>;
  readonly fleet: Fleet;
  readonly idleScopes: IdleScopes;
  readonly activity: ScopeActivity;
  readonly workSignal: WorkSignal;
  readonly onRenewed: Storage['onRenewed'];
  /** Whether a scope is billed. Asked once of each. */
  readonly isLive: (ref: TenantScope) => Promise<boolean>;
  /** Null: the platform makes no backups by itself. */
  readonly backupPolicy: BackupPolicy | null;
  /** Null: the operator is told nothing. */
  readonly alerts: AlertJobs | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  readonly onFailure: FailureSink;
}

export interface PlatformJobs extends Pick<JobRunner, 'run'> {
  /** Starts the jobs, and a moment later looks into the active scopes for work that was left. */
  begin(): void;
  /** A tenant or a scope was suspended or resumed, or the whole directory was replaced. */
  changed(change: RoutesChange): void;
  /** Begins no more work, adds to the meters what was counted, and resolves when no work is in progress. */
  stop(): Promise<void>;
}

/** Puts it together. Before `begin`, only deliveries run, in scopes that are woken. */
export function startJobs(options: PlatformJobsOptions): PlatformJobs {
  const { hostAdmin, storage, verticals, deployed, fleet, idleScopes, activity, now, onIncident, onFailure } =
    options;
  const incident = (method: string) => (error: unknown, ref: { readonly scope: string }) =>
    onIncident(error, { kind: 'platform', key: ref.scope, method });

  const outcomes = makeScopeOutcomes({
    scope: ({ vertical, scope }) => verticals.get(vertical)?.host.scope(scope) ?? null,
    now,
    onError: incident('readOutcomes'),
  });
  const usage = new UsageSweep({
    activity,
    collect: hostAdmin.collectModelUsage,
    fleet,
    now,
    isRunning: (vertical) => verticals.has(vertical) || deployed.has(vertical),
    onFailure,
    onError: incident('collectModelUsage'),
  });
  const { useMeters, storageMeter } = openMeters(options);
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
    // The scope may have called a model before this process began.
    onUnsettled: ({ tenant, scope }) => void activity.touched.set(scope, { tenant, scope }),
    isOwed: usage.isOwed,
    onWorked: (vertical, scope) => {
      outcomes.touch({ vertical, scope });
      // An executor may have called a model.
      const tenant = activity.tenantOf(scope);
      if (tenant !== undefined) activity.touched.set(scope, { tenant, scope });
    },
  });
  const runner = new JobRunner({
    recordSweep: hostAdmin.recordSweep,
    repeats: makeRepeats(now),
    jobs: makeJobs({
      hostAdmin,
      archive: storage,
      blobArchive: storage.blobArchive,
      outcomes,
      usage,
      useMeters,
      storageMeter,
      backupPolicy: options.backupPolicy,
      alerts: options.alerts,
      tidyUp: (signal) =>
        tidyUp({ ...storage, secrets: hostAdmin, verticals, fleet, onIncident, onFailure }, signal),
      onFailure,
    }),
    onError: (error, job) => onIncident(error, { kind: 'platform', key: 'sweep', method: job }),
  });

  options.workSignal.listen((slug, scopeId) => deliveries.wake(slug, scopeId));
  let beginning: NodeJS.Timeout | undefined;
  let hasBegun = false;
  // Marks that were lost name no scope whose work is due: all scopes are looked into, as at a start.
  options.onRenewed(idleScopesUnit.kind, () => {
    if (hasBegun) void deliveries.resume();
  });
  return {
    run: (name) => runner.run(name),
    begin: () => {
      hasBegun = true;
      beginning = setTimeout(() => void deliveries.resume(), RESUME_AFTER_MS).unref();
      runner.begin();
      void storage.blobArchive?.begin(scopeIdsOf(fleet));
    },
    changed: (change) => void deliveries.changed(change),
    stop: async () => {
      clearTimeout(beginning);
      await Promise.all([runner.stop(), deliveries.stop()]);
      await useMeters.flush();
    },
  };
}

/** Use that cannot be counted or measured is reported, and charged to no tenant. */
function openMeters(options: PlatformJobsOptions): {
  readonly useMeters: UseMeters;
  readonly storageMeter: StorageMeter;
} {
  const { hostAdmin, storage, verticals, deployed, fleet, activity, now, onIncident, onFailure } = options;
  const isLive = remembering(options.isLive);
  const failed = (
    error: unknown,
    subject: string,
    at: { method: string; tenant?: string; detail: string },
  ) => {
    const { method, tenant = null, detail } = at;
    onIncident(error, { kind: 'platform', key: subject, method });
    onFailure({ operation: 'meters.add', tenant: tenant as never, subject, reason: 'internal', detail });
  };
  for (const [slug, { units }] of verticals) units.scope.onInvoked(activity.invokedIn(slug));

  return {
    useMeters: makeUseMeters({
      activity,
      add: (readings) => hostAdmin.addToMeters(readings),
      isLive,
      tenantOf: async ({ vertical, scope }) => {
        const known = activity.tenantOf(scope);
        if (known !== undefined) return known;
        const host = verticals.get(vertical)?.host;
        if (!host) throw new TypeError(`there is no vertical ${vertical} here`);
        return (await host.scope(scope).identify({})).tenantId;
      },
      onError: (error, meter, tenant) =>
        failed(error, meter, {
          method: 'addToMeters',
          tenant,
          detail: 'The use of about a minute was not added to the meter.',
        }),
      onUnknownScope: (error, scope) =>
        failed(error, scope, {
          method: 'countInvocations',
          detail: 'The operations of about a minute of this scope were not counted: its tenant is unknown.',
        }),
    }),
    storageMeter: makeStorageMeter({
      fleet,
      databaseBytes: async ({ vertical, scope }) => {
        const known = verticals.get(vertical);
        return known
          ? storage.engine.databaseBytes(known.units.scope, scope)
          : deployed.runtime.databaseBytes(vertical, scope);
      },
      blobs: storage.blobs,
      isLive,
      set: (readings) => hostAdmin.setMeters(readings),
      now,
      onError: (error, tenant) =>
        failed(error, 'storage.bytes', {
          method: 'measureStorage',
          tenant,
          detail: "This tenant's storage was not measured today.",
        }),
    }),
  };
}
