/**
 * The one runner of scheduled jobs. No job runs twice at once, and none waits for another. Each run is a row of the sweep
 * runs, with a row for each of its units (spec 6.4). The lock of the data directory is its lease: there is no second process.
 */

import type { DirectoryHostAdmin, SweepUnit } from '@freehold/directory';
import { type Repeats, reasonOf } from '../feeds/feeds.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The result of a run without units. */
export interface JobTotals {
  /** The number of units, failed ones included. */
  readonly done: number;
  readonly failed: number;
}

export type Job = {
  /** Its name for `run`, in rows and in incidents. */
  readonly name: string;
  /** The delay after the start, in milliseconds. */
  readonly firstMs: number;
  /** The delay from the end of one run to the beginning of the next, in milliseconds. */
  readonly everyMs: number;
} & (
  | { readonly units: (signal: AbortSignal) => AsyncIterable<SweepUnit> | Iterable<SweepUnit> }
  | { readonly work: (signal: AbortSignal) => Promise<JobTotals> }
);

export interface JobRunnerOptions {
  readonly jobs: readonly Job[];
  readonly recordSweep: DirectoryHostAdmin['recordSweep'];
  readonly repeats: Repeats;
  /** Receives the error of a job. The job runs again at its interval. */
  readonly onError: (error: unknown, job: string) => void;
  /** Runs a task after so many milliseconds and returns its cancellation. Default: timers that keep no process alive. */
  readonly after?: (ms: number, task: () => void) => () => void;
}

export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #jobs: ReadonlyMap<string, Job>;
  readonly #running = new Map<string, Promise<void>>();
  readonly #timers = new Map<string, () => void>();
  readonly #stopping = new AbortController();
  #hasBegun = false;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
    this.#jobs = new Map(options.jobs.map((job) => [job.name, job]));
  }

  /** Plans the first run of each job. */
  begin(): void {
    this.#hasBegun = true;
    for (const job of this.#jobs.values()) this.#plan(job, job.firstMs);
  }

  /**
   * Runs a job now, or joins the present run. Never rejects.
   * @throws TypeError for an unknown job.
   */
  run(name: string): Promise<void> {
    const job = this.#jobs.get(name);
    if (!job) throw new TypeError(`there is no job ${name}`);
    const present = this.#running.get(name);
    if (present) return present;
    if (this.#stopping.signal.aborted) return Promise.resolve();
    const run = this.#attempt(job).finally(() => {
      this.#running.delete(name);
      if (this.#hasBegun && !this.#stopping.signal.aborted) this.#plan(job, job.everyMs);
    });
    this.#running.set(name, run);
    return run;
  }

  /** Begins no more runs, and resolves when no job runs. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cancel of this.#timers.values()) cancel();
    await Promise.all(this.#running.values());
  }

  #plan({ name }: Job, ms: number): void {
    const { after = afterTimeout } = this.#options;
    this.#timers.get(name)?.();
    this.#timers.set(
      name,
      after(ms, () => void this.run(name)),
    );
  }

  async #attempt(job: Job): Promise<void> {
    const { recordSweep, repeats, onError } = this.#options;
    const { signal } = this.#stopping;
    try {
      await recordSweep(deduplicateRuns(rowsOf(job, signal), repeats));
    } catch (error) {
      // A run that a shutdown interrupts has not failed.
      if (!signal.aborted) onError(error, job.name);
    }
  }
}

/** Yields the units of a run, and then the run itself. Rejects with the error of the work, after the row of the failure. */
async function* rowsOf(job: Job, signal: AbortSignal): AsyncGenerator<SweepUnit, void, undefined> {
  const run = { kind: 'schedule', unit: `platform/${job.name}` } as const;
  try {
    const { done, failed } = 'units' in job ? yield* counting(job.units(signal)) : await job.work(signal);
    // An interrupted run has no row.
    if (signal.aborted) return;
    if (failed > 0) yield { ...run, outcome: 'failed', reason: 'some_failed' };
    else if (done > 0) yield { ...run, outcome: 'ran' };
    else yield { ...run, outcome: 'skipped', reason: 'nothing_due' };
  } catch (error) {
    if (!signal.aborted) yield { ...run, outcome: 'failed', reason: reasonOf(error) };
    throw error;
  }
}

/** A failed unit has a row of its own, and does not fail the run. */
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

/**
 * Drops repeated skips: a unit that is skipped for the same reason has one row a day, and a job without work one an hour, so
 * that thousands of these do not displace the other rows. Everything that was done or tried is a row.
 */
export async function* deduplicateRuns(
  units: AsyncIterable<SweepUnit> | Iterable<SweepUnit>,
  repeats: Repeats,
): AsyncGenerator<SweepUnit, void, undefined> {
  for await (const unit of units) {
    const name = `${unit.kind} ${unit.scope ?? ''} ${unit.unit}`;
    const word = `${unit.outcome} ${unit.reason ?? ''}`;
    // Asked of every row: a skip after another outcome is a row again.
    if (repeats.isNews(name, word, quietMs(unit))) yield unit;
  }
}

/** The time for which the same row is not repeated, in milliseconds. */
function quietMs({ kind, outcome, tenant }: SweepUnit): number {
  if (outcome !== 'skipped') return 0;
  return kind === 'schedule' && (tenant ?? null) === null ? HOUR_MS : DAY_MS;
}

function afterTimeout(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
}
