/**
 * The table of the platform's scheduled jobs, with their times (spec 6.4). `runner.ts` runs them. Deliveries inside scopes
 * are no jobs: events wake them (`deliveries.ts`).
 */

import {
  type BackupPolicy,
  connectionUnits,
  type DirectoryHostAdmin,
  type SweepUnit,
} from '@freehold/directory';
import type { ArchiveStatus, NodeEngine } from '@freehold/engine-node';
import type { FailureSink } from '../feeds/feeds.ts';
import type { BlobArchive, BlobArchiveStatus } from '../storage/blob-archive.ts';
import type { TidyTotals } from './maintenance.ts';
import type { StorageMeter, UseMeters } from './meters.ts';
import type { Job, JobTotals } from './runner.ts';
import type { ScopeOutcomes } from './scope-outcomes.ts';
import type { UsageSweep } from './usage.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface JobsOptions {
  readonly hostAdmin: Pick<
    DirectoryHostAdmin,
    'entitlements' | 'expiries' | 'hostnames' | 'imports' | 'intents' | 'previews' | 'roles'
  > & {
    readonly connections: Pick<DirectoryHostAdmin['connections'], 'sweep'>;
    readonly backups: Pick<DirectoryHostAdmin['backups'], 'sweep'>;
  };
  /** Null: the platform makes no backups by itself. */
  readonly backupPolicy: BackupPolicy | null;
  readonly archive: Pick<NodeEngine, 'archiveStatus'>;
  /** Null without an archive. */
  readonly blobArchive: Pick<BlobArchive, 'status'> | null;
  readonly outcomes: Pick<ScopeOutcomes, 'read'>;
  readonly usage: Pick<UsageSweep, 'collectTouched' | 'collectAll'>;
  readonly useMeters: UseMeters;
  readonly storageMeter: StorageMeter;
  readonly tidyUp: (signal: AbortSignal) => Promise<TidyTotals>;
  /** Null: the operator is told nothing. */
  readonly alerts: AlertJobs | null;
  readonly onFailure: FailureSink;
}

export interface AlertJobs {
  readonly run: () => Promise<JobTotals>;
  readonly verify: () => Promise<void>;
  readonly onBackup: (line: SweepUnit) => void;
}

export function makeJobs(options: JobsOptions): readonly Job[] {
  const { hostAdmin, archive, blobArchive, outcomes, usage, useMeters, storageMeter } = options;
  const { backupPolicy, tidyUp, alerts, onFailure } = options;
  const { connections, entitlements, expiries, hostnames, imports, intents, previews, roles, backups } =
    hostAdmin;
  return [
    {
      name: 'entitlements',
      ...times(MINUTE_MS, MINUTE_MS),
      work: async () => {
        const { delivered, failed } = await entitlements.deliver();
        return { done: delivered + failed, failed };
      },
    },
    {
      name: 'roles',
      ...times(MINUTE_MS, MINUTE_MS),
      units: (signal) => untilStopped(roles.sweep(), signal),
    },
    {
      // In case a scope lost roles that it received.
      name: 'roles-everywhere',
      ...times(15 * MINUTE_MS, DAY_MS),
      units: (signal) => untilStopped(roles.sweep({ all: true }), signal),
    },
    {
      // Calls whose outcome is unknown. Each is a row and an operations failure of its own.
      name: 'intents',
      ...times(MINUTE_MS, MINUTE_MS),
      work: async () => ({ done: await intents.reconcile(), failed: 0 }),
    },
    {
      name: 'expiries',
      ...times(8 * MINUTE_MS, HOUR_MS),
      work: async (signal) => ({ done: await expiries.clear(signal), failed: 0 }),
    },
    {
      // A preview that has expired is not served any more; this removes it.
      name: 'previews',
      ...times(3 * MINUTE_MS, 10 * MINUTE_MS),
      work: async (signal) => ({ done: await previews.endExpired(signal), failed: 0 }),
    },
    {
      name: 'hostnames',
      ...times(20 * MINUTE_MS, DAY_MS),
      units: (signal) => untilStopped(hostnames.recheck(), signal),
    },
    {
      // Clears bytes of uploads that ended in a crash.
      name: 'imports',
      ...times(25 * MINUTE_MS, DAY_MS),
      work: async () => ({ done: await imports.clearAbandoned(), failed: 0 }),
    },
    {
      // A token is refreshed in the last ten minutes before it expires, so this runs more often than that.
      name: 'connections',
      ...times(MINUTE_MS, 5 * MINUTE_MS),
      units: (signal) => connectionUnits(untilStopped(connections.sweep(), signal)),
    },
    {
      // The results of schedules and deliveries in scopes that were active.
      name: 'schedules',
      ...times(MINUTE_MS, MINUTE_MS),
      units: (signal) => runsOf(outcomes.read(signal), onFailure),
    },
    {
      name: 'freshness',
      ...times(MINUTE_MS, 10 * MINUTE_MS),
      units: () => freshnessUnits(archive.archiveStatus(), blobArchive?.status() ?? null),
    },
    { name: 'usage', ...times(MINUTE_MS, MINUTE_MS), work: (signal) => usage.collectTouched(signal) },
    {
      // Collects usage from before a crash, in scopes without activity since.
      name: 'usage-everywhere',
      ...times(5 * MINUTE_MS, HOUR_MS),
      work: (signal) => usage.collectAll(signal),
    },
    {
      name: 'meters',
      ...times(MINUTE_MS, MINUTE_MS),
      work: () => useMeters.flush(),
    },
    {
      // Measures once a day, early: the figure of a day exists even if the platform stops later that day.
      name: 'storage',
      ...times(5 * MINUTE_MS, HOUR_MS),
      work: (signal) => storageMeter.measure(signal),
    },
    ...(backupPolicy === null
      ? []
      : [
          {
            // Due backups are spread over the interval; an incomplete sweep is followed by the next at once.
            name: 'backups',
            ...times(15 * MINUTE_MS, 10 * MINUTE_MS),
            units: (signal: AbortSignal) =>
              noted(
                untilThrough(() => backups.sweep(backupPolicy, signal), signal),
                (line) => alerts?.onBackup(line),
              ),
          },
        ]),
    {
      // After the load of a start, and early enough for a platform that is restarted every day.
      name: 'maintenance',
      ...times(10 * MINUTE_MS, DAY_MS),
      work: async (signal) => {
        const { steps, failed } = await tidyUp(signal);
        return { done: steps, failed };
      },
    },
    ...(alerts === null
      ? []
      : [
          { name: 'alerts', ...times(MINUTE_MS, MINUTE_MS), work: alerts.run },
          {
            name: 'admin-log',
            ...times(12 * MINUTE_MS, DAY_MS),
            work: async () => {
              await alerts.verify();
              return { done: 1, failed: 0 };
            },
          },
        ]),
  ];
}

function times(firstMs: number, everyMs: number): Pick<Job, 'firstMs' | 'everyMs'> {
  return { firstMs, everyMs };
}

/** Ends a sweep between two units when the platform stops. */
async function* untilStopped<T>(
  units: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  for await (const unit of units) {
    yield unit;
    if (signal.aborted) return;
  }
}

/** Sweeps until no unit is due, or the platform stops. */
async function* untilThrough(
  sweep: () => AsyncGenerator<SweepUnit, boolean, undefined>,
  signal: AbortSignal,
): AsyncGenerator<SweepUnit, void, undefined> {
  for (let more = true; more && !signal.aborted; ) more = yield* sweep();
}

async function* noted(
  units: AsyncIterable<SweepUnit>,
  note: (unit: SweepUnit) => void,
): AsyncGenerator<SweepUnit, void, undefined> {
  for await (const unit of units) {
    note(unit);
    yield unit;
  }
}

async function* runsOf(
  outcomes: ReturnType<ScopeOutcomes['read']>,
  onFailure: FailureSink,
): AsyncGenerator<SweepUnit, void, undefined> {
  for await (const outcome of outcomes) {
    if ('run' in outcome) yield outcome.run;
    else onFailure(outcome.failure);
  }
}

/** Changes are sent about a second after they are made; a longer lag than this is a fault. */
export const LAG_MAX_MS = 10 * 60_000;

type Verdict = Pick<SweepUnit & { kind: 'freshness' }, 'outcome' | 'reason'>;

/** Judges the databases' archive. Null without an archive. */
export function archiveVerdict({ state, lagMs }: Pick<ArchiveStatus, 'state' | 'lagMs'>): Verdict | null {
  if (state === 'off') return null;
  if (state === 'refused') return { outcome: 'stale', reason: 'archive_not_ours' };
  if (lagMs > LAG_MAX_MS) return { outcome: 'stale', reason: state === 'failing' ? 'failing' : 'lagging' };
  return { outcome: 'fresh', reason: state };
}

/** Judges the attachments' archive. */
export function attachmentsVerdict({ waiting, lagMs }: BlobArchiveStatus): Verdict {
  if (lagMs > LAG_MAX_MS) return { outcome: 'stale', reason: 'lagging' };
  return { outcome: 'fresh', reason: waiting > 0 ? 'shipping' : 'current' };
}

/** Both verdicts as units of a sweep. */
export function* freshnessUnits(
  databases: Pick<ArchiveStatus, 'state' | 'lagMs'>,
  attachments: BlobArchiveStatus | null,
): Generator<SweepUnit, void, undefined> {
  const verdict = archiveVerdict(databases);
  if (verdict) yield { kind: 'freshness', unit: 'archive/databases', ...verdict };
  if (attachments)
    yield { kind: 'freshness', unit: 'archive/attachments', ...attachmentsVerdict(attachments) };
}
