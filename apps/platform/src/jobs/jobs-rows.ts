/**
 * What a job writes down (spec 6.4): one row for each unit that it went over, and one for the run itself, written together
 * with the last of them.
 */
import type { DirectoryHostAdmin, SweepUnit } from '@freehold/directory';
import { reasonOf } from '../feeds/feeds.ts';
import type { Repeats } from '../feeds/repeats.ts';
import { deduplicateRuns } from './deduplicate-runs.ts';
import type { Job } from './scheduler.ts';

/** What a run of a job without units came to. */
export interface JobTotals {
  /** How much there was to do, whatever became of it. */
  readonly done: number;
  readonly failed: number;
}

/** Several parts of one run. */
export function sumOf(parts: readonly JobTotals[]): JobTotals {
  return parts.reduce((sum, part) => ({ done: sum.done + part.done, failed: sum.failed + part.failed }), {
    done: 0,
    failed: 0,
  });
}

/** A job before it writes anything down. */
export type PlannedJob = Omit<Job, 'run'> &
  (
    | { readonly units: (signal: AbortSignal) => AsyncIterable<SweepUnit> | Iterable<SweepUnit> }
    | { readonly work: (signal: AbortSignal) => Promise<JobTotals> }
  );

export interface RowsOptions {
  readonly recordSweep: DirectoryHostAdmin['recordSweep'];
  readonly repeats: Repeats;
}

/** The job with its rows. It rejects with what the work rejected with, after the row that says so. */
export function writingRows(job: PlannedJob, { recordSweep, repeats }: RowsOptions): Job {
  const { name, firstMs, everyMs } = job;
  return {
    name,
    firstMs,
    everyMs,
    run: async (signal) => void (await recordSweep(deduplicateRuns(rowsOf(job, signal), repeats))),
  };
}

async function* rowsOf(job: PlannedJob, signal: AbortSignal): AsyncGenerator<SweepUnit, void, undefined> {
  const run = { kind: 'schedule', unit: `platform/${job.name}` } as const;
  try {
    const { done, failed } = 'units' in job ? yield* counting(job.units(signal)) : await job.work(signal);
    // What a shutdown breaks off is no run.
    if (signal.aborted) return;
    if (failed > 0) yield { ...run, outcome: 'failed', reason: 'some_failed' };
    else if (done > 0) yield { ...run, outcome: 'ran' };
    else yield { ...run, outcome: 'skipped', reason: 'nothing_due' };
  } catch (error) {
    if (!signal.aborted) yield { ...run, outcome: 'failed', reason: reasonOf(error) };
    throw error;
  }
}

/** What failed has a row of its own: the run went on. */
async function* counting(
  units: AsyncIterable<SweepUnit> | Iterable<SweepUnit>,
): AsyncGenerator<SweepUnit, JobTotals, undefined> {
  let done = 0;
  for await (const unit of units) {
    if (unit.outcome !== 'skipped') done += 1;
    yield unit;
  }
  return { done, failed: 0 };
}
