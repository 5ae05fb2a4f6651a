/**
 * The table of jobs: what the platform does by itself, one entry each, with its time (spec 6.4). How they run: `runner.ts`.
 * Deliveries inside scopes are woken by what happens there, and come back by themselves (`deliveries.ts`).
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
import { sumOf, type UseMeter } from './meters.ts';
import type { Job } from './runner.ts';
import type { ScopeOutcomes } from './scope-outcomes.ts';
import type { StorageMeter } from './storage-meter.ts';
import type { UsageSweep } from './usage.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface JobsOptions {
  readonly hostAdmin: Pick<
    DirectoryHostAdmin,
    'entitlements' | 'expiries' | 'hostnames' | 'imports' | 'intents' | 'roles'
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
  /** What is counted, by the minute. */
  readonly meters: readonly Pick<UseMeter, 'flush'>[];
  readonly storageMeter: StorageMeter;
  readonly tidyUp: (signal: AbortSignal) => Promise<TidyTotals>;
  readonly onFailure: FailureSink;
}

export function makeJobs(options: JobsOptions): readonly Job[] {
  const { hostAdmin, archive, blobArchive, outcomes, usage, meters, storageMeter } = options;
  const { backupPolicy, tidyUp, onFailure } = options;
  const { connections, entitlements, expiries, hostnames, imports, intents, roles, backups } = hostAdmin;
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
      // In case a scope lost what it was sent.
      name: 'roles-everywhere',
      ...times(15 * MINUTE_MS, DAY_MS),
      units: (signal) => untilStopped(roles.sweep({ all: true }), signal),
    },
    {
      // Calls whose outcome is unknown. Each is a row, and a failure of operation, of its own.
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
      name: 'hostnames',
      ...times(20 * MINUTE_MS, DAY_MS),
      units: (signal) => untilStopped(hostnames.recheck(), signal),
    },
    {
      // Bytes of uploads that ended in a crash.
      name: 'imports',
      ...times(25 * MINUTE_MS, DAY_MS),
      work: async () => ({ done: await imports.clearAbandoned(), failed: 0 }),
    },
    {
      // A token is refreshed within ten minutes of its end, so that this has to come by more often than that.
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
      // What was used before a crash, in scopes where nothing was done since.
      name: 'usage-everywhere',
      ...times(5 * MINUTE_MS, HOUR_MS),
      work: (signal) => usage.collectAll(signal),
    },
    {
      name: 'meters',
      ...times(MINUTE_MS, MINUTE_MS),
      work: async () => sumOf(await Promise.all(meters.map((meter) => meter.flush()))),
    },
    {
      // It measures once a day, early: the figure of a day is there even if nothing runs for the rest of it.
      name: 'storage',
      ...times(5 * MINUTE_MS, HOUR_MS),
      work: (signal) => storageMeter.measure(signal),
    },
    ...(backupPolicy === null
      ? []
      : [
          {
            // What is due is spread over the interval; a sweep that did not get through is followed by the next at once.
            name: 'backups',
            ...times(15 * MINUTE_MS, 10 * MINUTE_MS),
            units: (signal: AbortSignal) => untilThrough(() => backups.sweep(backupPolicy, signal), signal),
          },
        ]),
    {
      // Not in the rush of a start, and often enough for a platform that is restarted every day.
      name: 'maintenance',
      ...times(10 * MINUTE_MS, DAY_MS),
      work: async (signal) => {
        const { steps, failed } = await tidyUp(signal);
        return { done: steps, failed };
      },
    },
  ];
}

function times(firstMs: number, everyMs: number): Pick<Job, 'firstMs' | 'everyMs'> {
  return { firstMs, everyMs };
}

/** A sweep can stop between two units. */
async function* untilStopped<T>(
  units: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  for await (const unit of units) {
    yield unit;
    if (signal.aborted) return;
  }
}

/** Sweeps until nothing is left to do, or the platform stops. */
async function* untilThrough(
  sweep: () => AsyncGenerator<SweepUnit, boolean, undefined>,
  signal: AbortSignal,
): AsyncGenerator<SweepUnit, void, undefined> {
  for (let more = true; more && !signal.aborted; ) more = yield* sweep();
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

/** Everything is sent about a second after each change; so late, something is wrong. */
export const LAG_MAX_MS = 10 * 60_000;

type Verdict = Pick<SweepUnit & { kind: 'freshness' }, 'outcome' | 'reason'>;

/** The databases. Null where there is no archive: nothing is promised, so nothing is late. */
export function archiveVerdict({ state, lagMs }: Pick<ArchiveStatus, 'state' | 'lagMs'>): Verdict | null {
  if (state === 'off') return null;
  if (state === 'refused') return { outcome: 'stale', reason: 'archive_not_ours' };
  if (lagMs > LAG_MAX_MS) return { outcome: 'stale', reason: state === 'failing' ? 'failing' : 'lagging' };
  return { outcome: 'fresh', reason: state };
}

/** The bytes of attachments. */
export function attachmentsVerdict({ waiting, lagMs }: BlobArchiveStatus): Verdict {
  if (lagMs > LAG_MAX_MS) return { outcome: 'stale', reason: 'lagging' };
  return { outcome: 'fresh', reason: waiting > 0 ? 'shipping' : 'current' };
}

/** Both as units of a sweep. */
export function* freshnessUnits(
  databases: Pick<ArchiveStatus, 'state' | 'lagMs'>,
  attachments: BlobArchiveStatus | null,
): Generator<SweepUnit, void, undefined> {
  const verdict = archiveVerdict(databases);
  if (verdict) yield { kind: 'freshness', unit: 'archive/databases', ...verdict };
  if (attachments)
    yield { kind: 'freshness', unit: 'archive/attachments', ...attachmentsVerdict(attachments) };
}
