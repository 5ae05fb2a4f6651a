/**
 * The one runner of jobs: work that comes back, once soon after the start and then at an interval. No job runs twice at once,
 * and none waits for another. Each run is a row of the sweep runs, with a row for each unit that it went over (spec 6.4).
 * The lock of the data directory is its lease: there is no second process.
 */

import type { DirectoryHostAdmin, SweepUnit } from '@freehold/directory';
import { type Repeats, reasonOf } from '../feeds/feeds.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The result of a run without units. */
export interface JobTotals {
  /** How much there was to do, whatever became of it. */
  readonly done: number;
  readonly failed: number;
}

export type Job = {
  /** Its name on demand, in rows and in incidents. */
  readonly name: string;
  /** How long after the start, in milliseconds. */
  readonly firstMs: number;
  /** From the end of one run to the beginning of the next. */
  readonly everyMs: number;
} & (
  | { readonly units: (signal: AbortSignal) => AsyncIterable<SweepUnit> | Iterable<SweepUnit> }
  | { readonly work: (signal: AbortSignal) => Promise<JobTotals> }
);

export interface JobRunnerOptions {
  readonly jobs: readonly Job[];
  readonly recordSweep: DirectoryHostAdmin['recordSweep'];
  readonly repeats: Repeats;
  /** Receives what a job rejects with. The job comes back all the same. */
  readonly onError: (error: unknown, job: string) => void;
  /** Runs a task after so many milliseconds and returns how to cancel it. Default: timers that keep no process alive. */
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

  /** The times of all jobs begin to run. */
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

  /** Begins nothing new, and resolves when no job runs. */
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
      // What a shutdown interrupts is no failure.
      if (!signal.aborted) onError(error, job.name);
    }
  }
}

/** The units of a run, and then the run itself. It rejects with the error of the work, after the row that says so. */
async function* rowsOf(job: Job, signal: AbortSignal): AsyncGenerator<SweepUnit, void, undefined> {
  const run = { kind: 'schedule', unit: `platform/${job.name}` } as const;
  try {
    const { done, failed } = 'units' in job ? yield* counting(job.units(signal)) : await job.work(signal);
    // A run that a shutdown breaks off is no run.
    if (signal.aborted) return;
    if (failed > 0) yield { ...run, outcome: 'failed', reason: 'some_failed' };
    else if (done > 0) yield { ...run, outcome: 'ran' };
    else yield { ...run, outcome: 'skipped', reason: 'nothing_due' };
  } catch (error) {
    if (!signal.aborted) yield { ...run, outcome: 'failed', reason: reasonOf(error) };
    throw error;
  }
}

/** A unit that failed has a row of its own: the run went on. */
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
 * Everything that was done, judged or tried is a row. Of a unit that is skipped for the same reason there is one a day, and
 * one an hour of a job without anything to do: thousands of rows that say so would push out the few that say something.
 */
export async function* deduplicateRuns(
  units: AsyncIterable<SweepUnit> | Iterable<SweepUnit>,
  repeats: Repeats,
): AsyncGenerator<SweepUnit, void, undefined> {
  for await (const unit of units) {
    const name = `${unit.kind} ${unit.scope ?? ''} ${unit.unit}`;
    const word = `${unit.outcome} ${unit.reason ?? ''}`;
    // Remembered of every row: after it, the same silence as before is a row again.
    if (repeats.isNews(name, word, quietMs(unit))) yield unit;
  }
}

/** For how long the same row is not repeated. */
function quietMs({ kind, outcome, tenant }: SweepUnit): number {
  if (outcome !== 'skipped') return 0;
  return kind === 'schedule' && (tenant ?? null) === null ? HOUR_MS : DAY_MS;
}

function afterTimeout(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
}
