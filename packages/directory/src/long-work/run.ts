/** One run of long work: its journal, its progress, and how it is told to stop. */
import type { UnitStub } from '@freehold/store';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { LongRun } from './handlers.ts';
import type { StartedWork } from './operations.ts';

/** Why a run was stopped: somebody cancelled it, or the process is going down and another one will go on. */
export type Stop = 'cancelled' | 'released';

/** What a run is left with. It must reach whoever began the run. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped';
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(`the work was ${stop}`);
    this.stop = stop;
  }
}

/** A run from the outside. */
export interface ControlledRun {
  readonly run: LongRun;
  readonly progress: OperationRecord['progress'];
  readonly committed: boolean;
  /** What it was told first. */
  readonly stopped: Stop | null;
  /** Cancelling counts for nothing behind the point of no return. */
  stop(why: Stop): void;
  /** Writes down how far it is. */
  flush(): Promise<void>;
}

export interface RunDeps {
  readonly directory: UnitStub<DirectoryMethods>;
  readonly now: () => number;
  /** Told of every step forward. */
  readonly onChange: () => void;
  readonly onIncident: (error: unknown) => void;
}

/** How often progress is written down; whoever follows in this process sees it at once. */
const WRITE_EVERY_MS = 1_000;

export function makeRun(
  { directory, now, onChange, onIncident }: RunDeps,
  { id, steps, committed: wasCommitted }: StartedWork,
  begun: OperationRecord['progress'],
): ControlledRun {
  const controller = new AbortController();
  const journal = new Map(Object.entries(steps));
  let progress = begun;
  let committed = wasCommitted;
  let stopped: Stop | null = null;
  let writtenAtMs = now();
  let writing: Promise<void> | null = null;

  const stop = (why: Stop): void => {
    if (stopped || (why === 'cancelled' && committed)) return;
    stopped = why;
    controller.abort(new RunStopped(why));
  };
  const goOn = (): void => {
    if (stopped) throw new RunStopped(stopped);
  };
  const flush = async (): Promise<void> => {
    writing ??= directory
      .progressWork({ id, progress })
      .then(({ cancelRequested }) => cancelRequested && stop('cancelled'), onIncident)
      .then(() => {
        writing = null;
      });
    await writing;
  };

  return {
    get progress() {
      return progress;
    },
    get committed() {
      return committed;
    },
    get stopped() {
      return stopped;
    },
    stop,
    flush,
    run: {
      id,
      signal: controller.signal,
      step: async <T>(name: string, work: () => Promise<T>): Promise<T> => {
        goOn();
        if (journal.has(name)) return journal.get(name) as T;
        const value = await work();
        await directory.stepWork({ id, name, value });
        journal.set(name, value);
        goOn();
        return value;
      },
      progress: ({ done, total = progress.total, unit = progress.unit }) => {
        goOn();
        progress = { done, total, unit };
        onChange();
        if (now() - writtenAtMs < WRITE_EVERY_MS) return;
        writtenAtMs = now();
        void flush();
      },
      commit: async () => {
        goOn();
        if (committed) return;
        if ((await directory.commitWork({ id })).cancelRequested) stop('cancelled');
        else committed = true;
        goOn();
      },
    },
  };
}
