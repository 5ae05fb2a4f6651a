/**
 * The one scheduler of the process: work that comes back, once soon after the start and then at an interval. No job runs
 * twice at once, and none waits for another. Its lease is the lock of the data directory: there is no second process.
 */

export interface Job {
  /** How it is called on demand, and in incidents. */
  readonly name: string;
  /** How long after the start, in milliseconds. */
  readonly firstMs: number;
  /** From the end of one run to the beginning of the next. */
  readonly everyMs: number;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export interface Scheduler {
  /** The times of all jobs begin to run. */
  begin(): void;
  /**
   * Runs a job now, or joins the run that is under way. Never rejects.
   * @throws TypeError for a job that there is not.
   */
  run(name: string): Promise<void>;
  /** Begins nothing new, and resolves when nothing is under way. */
  stop(): Promise<void>;
}

export interface SchedulerOptions {
  readonly jobs: readonly Job[];
  /** Told of what a job rejects with; it comes back all the same. */
  readonly onError: (error: unknown, job: string) => void;
  /** Runs a task after so many milliseconds; the answer cancels it. Default: timers that keep no process alive. */
  readonly after?: (ms: number, task: () => void) => () => void;
}

export function makeScheduler({ jobs, onError, after = afterTimeout }: SchedulerOptions): Scheduler {
  const stopping = new AbortController();
  const { signal } = stopping;
  const byName = new Map(jobs.map((job) => [job.name, job]));
  const running = new Map<string, Promise<void>>();
  const timers = new Map<string, () => void>();
  let begun = false;

  const plan = ({ name }: Job, ms: number): void => {
    timers.get(name)?.();
    timers.set(
      name,
      after(ms, () => void run(name)),
    );
  };

  const run = (name: string): Promise<void> => {
    const job = byName.get(name);
    if (!job) throw new TypeError(`there is no job ${name}`);
    const present = running.get(name);
    if (present) return present;
    if (signal.aborted) return Promise.resolve();
    const turn = attempt(job).finally(() => {
      running.delete(name);
      if (begun && !signal.aborted) plan(job, job.everyMs);
    });
    running.set(name, turn);
    return turn;
  };

  const attempt = async (job: Job): Promise<void> => {
    try {
      await job.run(signal);
    } catch (error) {
      // What a shutdown interrupts is no failure.
      if (!signal.aborted) onError(error, job.name);
    }
  };

  return {
    begin: () => {
      begun = true;
      for (const job of jobs) plan(job, job.firstMs);
    },
    run,
    stop: async () => {
      stopping.abort();
      for (const cancel of timers.values()) cancel();
      await Promise.all(running.values());
    },
  };
}

function afterTimeout(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
}
