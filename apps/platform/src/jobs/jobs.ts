/**
 * Everything that comes back by itself, and when (spec 6.4; design: control-plane, "Sweep"). What each unit and each run
 * came to is written down through the directory: this is the list to read first.
 */
import { connectionUnits, type DirectoryHostAdmin, type SweepUnit } from '@freehold/directory';
import type { NodeEngine } from '@freehold/engine-node';
import type { FailureSink } from '../feeds/feeds.ts';
import type { Repeats } from '../feeds/repeats.ts';
import type { BlobArchive } from '../storage/blob-archive.ts';
import { type BackupJobOptions, makeBackupJobs } from './backup-job.ts';
import { freshnessUnits } from './freshness.ts';
import { type PlannedJob, sumOf, writingRows } from './jobs-rows.ts';
import type { TidyTotals } from './maintenance.ts';
import { makeMaintenanceJobs, untilStopped } from './maintenance-jobs.ts';
import type { UseMeter } from './meters.ts';
import type { Job } from './scheduler.ts';
import type { ScopeOutcomes } from './scope-outcomes.ts';
import type { StorageMeter } from './storage-meter.ts';
import type { UsageSweep } from './usage.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export interface JobsOptions {
  readonly hostAdmin: Pick<
    DirectoryHostAdmin,
    'recordSweep' | 'entitlements' | 'expiries' | 'hostnames' | 'imports' | 'intents' | 'roles'
  > & {
    readonly connections: Pick<DirectoryHostAdmin['connections'], 'sweep'>;
    readonly backups: BackupJobOptions['hostAdmin']['backups'];
  };
  /** Null: the platform makes no backups by itself. */
  readonly backupPolicy: BackupJobOptions['policy'];
  readonly archive: Pick<NodeEngine, 'archiveStatus'>;
  /** Null without an archive. */
  readonly blobArchive: Pick<BlobArchive, 'status'> | null;
  readonly outcomes: Pick<ScopeOutcomes, 'read'>;
  readonly usage: Pick<UsageSweep, 'collectTouched' | 'collectAll'>;
  /** What is counted, by the minute. */
  readonly meters: readonly Pick<UseMeter, 'flush'>[];
  readonly storageMeter: StorageMeter;
  readonly tidyUp: (signal: AbortSignal) => Promise<TidyTotals>;
  readonly onFailure: FailureSink;
  readonly repeats: Repeats;
}

/** The jobs of the scheduler. */
export function makeJobs(options: JobsOptions): readonly Job[] {
  const { hostAdmin, repeats } = options;
  const { recordSweep } = hostAdmin;
  return plannedJobs(options).map((job) => writingRows(job, { recordSweep, repeats }));
}

function plannedJobs(options: JobsOptions): readonly PlannedJob[] {
  const { hostAdmin, archive, blobArchive, outcomes, usage, meters, tidyUp, onFailure } = options;

  async function* runsOf(signal: AbortSignal): AsyncGenerator<SweepUnit, void, undefined> {
    for await (const outcome of outcomes.read(signal)) {
      if ('run' in outcome) yield outcome.run;
      else onFailure(outcome.failure);
    }
  }

  return [
    ...makeMaintenanceJobs({ hostAdmin }),
    {
      // A token is refreshed within ten minutes of its end, so that a sweep has to come by more often than that.
      name: 'connections',
      firstMs: MINUTE_MS,
      everyMs: 5 * MINUTE_MS,
      units: (signal) => connectionUnits(untilStopped(hostAdmin.connections.sweep(), signal)),
    },
    {
      // What schedules and deliveries came to in scopes that were at work.
      name: 'schedules',
      firstMs: MINUTE_MS,
      everyMs: MINUTE_MS,
      units: runsOf,
    },
    {
      name: 'freshness',
      firstMs: MINUTE_MS,
      everyMs: 10 * MINUTE_MS,
      units: () => freshnessUnits(archive.archiveStatus(), blobArchive?.status() ?? null),
    },
    {
      name: 'usage',
      firstMs: MINUTE_MS,
      everyMs: MINUTE_MS,
      work: (signal) => usage.collectTouched(signal),
    },
    {
      // What was used before a crash, and nothing has been done in the scope since.
      name: 'usage-everywhere',
      firstMs: 5 * MINUTE_MS,
      everyMs: HOUR_MS,
      work: (signal) => usage.collectAll(signal),
    },
    {
      name: 'meters',
      firstMs: MINUTE_MS,
      everyMs: MINUTE_MS,
      work: async () => sumOf(await Promise.all(meters.map((meter) => meter.flush()))),
    },
    {
      // It measures once a day, early: the figure of a day is there even if nothing runs for the rest of it.
      name: 'storage',
      firstMs: 5 * MINUTE_MS,
      everyMs: HOUR_MS,
      work: (signal) => options.storageMeter.measure(signal),
    },
    ...makeBackupJobs({ hostAdmin, policy: options.backupPolicy }),
    {
      // Not in the rush of a start, and often enough for a platform that is restarted every day.
      name: 'maintenance',
      firstMs: 10 * MINUTE_MS,
      everyMs: 24 * HOUR_MS,
      work: async (signal) => {
        const { steps, failed } = await tidyUp(signal);
        return { done: steps, failed };
      },
    },
  ];
}
