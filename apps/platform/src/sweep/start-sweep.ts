/** What the platform does by itself while it runs, put together: deliveries in the scopes, and the scheduler's jobs. */
import type { DirectoryHostAdmin } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import type { FailureSink } from '../feeds/feeds.ts';
import { makeRepeats } from '../feeds/repeats.ts';
import type { Fleet } from '../fleet.ts';
import type { Storage } from '../storage.ts';
import type { CoLocatedVertical } from '../verticals.ts';
import { type Deliveries, makeDeliveries } from './deliveries.ts';
import { makeJobs } from './jobs.ts';
import { tidyUp } from './maintenance.ts';
import { makeRequestMeter, type RequestMeter } from './meters.ts';
import { makeScheduler, type Scheduler } from './scheduler.ts';
import { makeScopeOutcomes } from './scope-outcomes.ts';
import { makeUsageSweep, type UsageScope } from './usage.ts';

/** The people who wait for a start come first. What is new in a scope wakes it before that. */
const RESUME_AFTER_MS = 2_000;

export interface SweepOptions {
  readonly hostAdmin: DirectoryHostAdmin;
  readonly storage: Pick<Storage, 'engine' | 'vaultUnit' | 'keyring' | 'blobArchive'>;
  /** By slug. */
  readonly verticals: ReadonlyMap<string, CoLocatedVertical>;
  readonly fleet: Fleet;
  /** Whose a scope is, where that is known. */
  readonly tenantOf: (scope: string) => string | undefined;
  /** Whether a scope is billed. */
  readonly isLive: (ref: UsageScope) => Promise<boolean>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  readonly onFailure: FailureSink;
}

export interface Sweep extends Pick<Deliveries, 'wake'>, Pick<Scheduler, 'run'> {
  /** Everything is up: a moment later each scope is looked into for what is left from before. */
  begin(): void;
  /** Somebody was suspended or let in. */
  refresh(): void;
  /** A request was answered by the application of a scope. */
  served(request: UsageScope & { readonly method: string }): void;
  /** Begins nothing new, adds to the meters what was counted, and resolves when nothing is under way. */
  stop(): Promise<void>;
}

/** What only reads uses no model that anybody is charged for. */
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Puts it together. Nothing runs before `begin`, but deliveries in scopes that are woken. */
export function startSweep(options: SweepOptions): Sweep {
  const { hostAdmin, storage, verticals, fleet, tenantOf, isLive, now, onIncident, onFailure } = options;
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
    isRunning: (vertical) => verticals.has(vertical),
    onFailure,
    onError: incident('collectModelUsage'),
  });
  const meter = makeMeter({ hostAdmin, isLive, onIncident, onFailure });
  const deliveries = makeDeliveries({
    verticals: new Map(
      [...verticals].map(([slug, { host, units }]) => [slug, { vertical: units.scope.vertical, host }]),
    ),
    fleet,
    now,
    onIncident,
    onWorked: (vertical, scope) => {
      outcomes.touch({ vertical, scope });
      // An executor may have called a model.
      const tenant = tenantOf(scope);
      if (tenant !== undefined) usage.touch({ tenant, scope });
    },
  });
  const scheduler = makeScheduler({
    jobs: makeJobs({
      hostAdmin,
      archive: storage.engine,
      blobArchive: storage.blobArchive,
      outcomes,
      usage,
      meter,
      tidyUp: (signal) => tidyUp({ ...storage, verticals, fleet, onIncident, onFailure }, signal),
      onFailure,
      repeats: makeRepeats(now),
    }),
    onError: (error, job) => onIncident(error, { kind: 'platform', key: 'sweep', method: job }),
  });

  let beginning: NodeJS.Timeout | undefined;
  return {
    wake: deliveries.wake,
    run: scheduler.run,
    begin: () => {
      beginning = setTimeout(() => void deliveries.resume(), RESUME_AFTER_MS).unref();
      scheduler.begin();
    },
    refresh: () => void deliveries.resume(),
    served: ({ tenant, scope, method }) => {
      meter.count({ tenant, scope });
      if (!READS.has(method)) usage.touch({ tenant, scope });
    },
    stop: async () => {
      clearTimeout(beginning);
      await Promise.all([scheduler.stop(), deliveries.stop()]);
      await meter.flush();
    },
  };
}

function makeMeter({
  hostAdmin,
  isLive,
  onIncident,
  onFailure,
}: Pick<SweepOptions, 'hostAdmin' | 'isLive' | 'onIncident' | 'onFailure'>): RequestMeter {
  return makeRequestMeter({
    add: (readings) => hostAdmin.addToMeters(readings),
    isLive,
    onError: (error, tenant) => {
      onIncident(error, { kind: 'platform', key: tenant, method: 'addToMeters' });
      const detail = 'Requests of about a minute were not added to the meter.';
      onFailure({ operation: 'meters.add', tenant, reason: 'internal', detail });
    },
  });
}
