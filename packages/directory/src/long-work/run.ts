/** One run of long work: its journal, its progress, and its end when it is told to stop. */
import type { UnitStub } from '@freehold/store';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { LongRun } from './effects.ts';
import type { LongWorkMethods, StartedWork } from './work.ts';

/** `released`: the process is going down, and another one will continue the work. */
type Stop = 'cancelled' | 'released';

/** Thrown into a run that is to stop. It must reach the caller of the run. */
class RunStopped extends Error {
  override readonly name = 'RunStopped';

  constructor(stop: Stop) {
    super(`the work was ${stop}`);
  }
}

interface RunDeps {
  readonly directory: Pick<UnitStub<LongWorkMethods>, 'progressWork' | 'stepWork' | 'commitWork'>;
  readonly now: () => number;
  /** Told of every step forward. */
  readonly onChange: () => void;
  readonly onIncident: (error: unknown) => void;
}

type Progress = OperationRecord['progress'];

/** Progress is stored at most this often; followers in this process see it at once. */
const WRITE_EVERY_MS = 1_000;

/** A run, with the controls that the work itself does not have. */
export class ControlledRun implements LongRun {
  readonly id: string;
  readonly #deps: RunDeps;
  readonly #controller = new AbortController();
  readonly #journal: Map<string, unknown>;
  #progress: Progress;
  #committed: boolean;
  #stopped: Stop | null = null;
  #writtenAtMs: number;
  #writing: Promise<void> | null = null;

  constructor(deps: RunDeps, { id, steps, progress, committed }: StartedWork) {
    this.id = id;
    this.#deps = deps;
    this.#journal = new Map(Object.entries(steps));
    this.#progress = progress;
    this.#committed = committed;
    this.#writtenAtMs = deps.now();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get latest(): Progress {
    return this.#progress;
  }

  get committed(): boolean {
    return this.#committed;
  }

  /** The first reason for which it was told to stop. */
  get stopped(): Stop | null {
    return this.#stopped;
  }

  /** After the point of no return cancelling has no effect. */
  stop(why: Stop): void {
    if (this.#stopped || (why === 'cancelled' && this.#committed)) return;
    this.#stopped = why;
    this.#controller.abort(new RunStopped(why));
  }

  /** Stores the progress, and renews the lease. */
  async flush(): Promise<void> {
    const { directory, onIncident } = this.#deps;
    this.#writing ??= directory
      .progressWork({ id: this.id, progress: this.#progress })
      .then(({ cancelRequested }) => cancelRequested && this.stop('cancelled'), onIncident)
      .then(() => {
        this.#writing = null;
      });
    await this.#writing;
  }

  async step<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#throwIfStopped();
    if (this.#journal.has(name)) return this.#journal.get(name) as T;
    const value = await work();
    const { cancelRequested } = await this.#deps.directory.stepWork({ id: this.id, name, value });
    this.#journal.set(name, value);
    // Another process, or the end of the access that it was begun with.
    if (cancelRequested) this.stop('cancelled');
    this.#throwIfStopped();
    return value;
  }

  progress({
    done,
    total = this.#progress.total,
    unit = this.#progress.unit,
  }: Parameters<LongRun['progress']>[0]) {
    this.#throwIfStopped();
    this.#progress = { done, total, unit };
    this.#deps.onChange();
    if (this.#deps.now() - this.#writtenAtMs < WRITE_EVERY_MS) return;
    this.#writtenAtMs = this.#deps.now();
    void this.flush();
  }

  async commit(): Promise<void> {
    this.#throwIfStopped();
    if (this.#committed) return;
    if ((await this.#deps.directory.commitWork({ id: this.id })).cancelRequested) this.stop('cancelled');
    else this.#committed = true;
    this.#throwIfStopped();
  }

  #throwIfStopped(): void {
    if (this.#stopped) throw new RunStopped(this.#stopped);
  }
}
