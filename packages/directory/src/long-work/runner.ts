/**
 * Runs long work in the background, several at a time: an intent and a record when it begins, an outcome and the record
 * when it ends (design: control-plane, "Long work").
 *
 * Invariants:
 * 1. Accepted work ends, or stays listed to be resumed: only an outcome removes it from the list.
 * 2. The log says `failed` only of work that is known not to have happened: before the point of no return every failure is
 *    such, after it only a refusal.
 */
import { PlatformError, publicError, toFailure } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { AdminCall, AdminResult } from '../access/actors.ts';
import type { Sleep } from '../changes/effect-events.ts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { LogHead } from '../declarations/records.ts';
import type { RoutesChange, WiringFacts } from '../lib/handlers.ts';
import { isRefusal, outcomeUnknown } from '../verticals/outcome.ts';
import type { LongEffect } from './effects.ts';
import { type Follower, makeFollower } from './follow.ts';
import { ControlledRun } from './run.ts';
import { type LongWorkMethods, type StartedWork, WORK_LEASE_MS, type WorkEnd } from './work.ts';

type LongWorkDirectory = UnitStub<
  LongWorkMethods & { read(input: { readonly call: AdminCall }): AdminResult }
>;

interface LongWorkDeps<Deps> {
  readonly directory: LongWorkDirectory;
  /** The means of the effects. */
  readonly deps: Deps;
  /** By operation. */
  readonly effects: Readonly<Record<string, LongEffect<unknown, unknown, NoInfer<Deps>>>>;
  readonly now: () => number;
  readonly sleep: Sleep;
  /** True where no other process works on this directory: unfinished work at the start is then its own. */
  readonly isOnlyProcess: boolean;
  readonly factsOf: (call: AdminCall) => WiringFacts;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
  readonly onRerouted: (change: RoutesChange) => void;
  readonly incident: (method: string) => (error: unknown) => void;
}

/** The most runs at a time in one process: each may move a whole database, while people wait for other calls. */
const RUNNING_MAX = 4;
/** The most time that a shutdown waits for running steps. Work that is not over by then is resumed as after a crash. */
const STOP_MS = 10_000;

interface Running<Deps> {
  readonly run: ControlledRun;
  readonly effect: LongEffect<unknown, unknown, Deps>;
}

/** Long work of one process. */
export class LongWork<Deps> {
  readonly #deps: LongWorkDeps<Deps>;
  readonly #follower: Follower;
  readonly #waiting: { readonly id: string; readonly evenIfLeased: boolean }[] = [];
  readonly #running = new Map<string, Running<Deps>>();
  /** The ids of all work that this process has begun or resumed, and that has not ended. */
  readonly #mine = new Set<string>();
  readonly #tasks = new Set<Promise<void>>();
  #stopping = false;

  constructor(deps: LongWorkDeps<Deps>) {
    this.#deps = deps;
    this.#follower = makeFollower({
      read: (call) => this.#directory.read({ call }),
      live: (id) => this.#running.get(id)?.run.latest ?? null,
      sleep: deps.sleep,
    });
  }

  /** Whether an operation is long work. */
  performs(operation: string): boolean {
    return Object.hasOwn(this.#deps.effects, operation);
  }

  /** Begins the work, or returns its plan. */
  async perform(call: AdminCall): Promise<AdminResult> {
    const { deps, effects, factsOf, publish } = this.#deps;
    const effect = effects[call.operation];
    await effect?.check?.(deps, call);
    if (call.query.dryRun === true)
      return effect?.plan
        ? { status: 200, value: await effect.plan(deps, call), replayed: false }
        : this.#directory.planWork({ call });
    const result = await this.#directory.beginWork({ call, facts: factsOf(call) });
    if (result.head) await publish(result.head);
    const { id } = result.value as OperationRecord;
    if (!result.replayed) this.#enqueue(id, true);
    return call.events ? { ...result, events: this.#follower.events(call, id) } : result;
  }

  /** Performs `operations.get`. */
  waitFor(call: AdminCall): Promise<AdminResult> {
    return this.#follower.waitFor(call);
  }

  /** Cancels a run in this process, once `operations.cancel` was written down. */
  cancelled(id: string): void {
    this.#running.get(id)?.run.stop('cancelled');
    const index = this.#waiting.findIndex((each) => each.id === id);
    if (index >= 0) this.#waiting.unshift(...this.#waiting.splice(index, 1));
  }

  /**
   * Resumes unfinished work, and returns how much that is. Work that must not be repeated, or is no longer known here, is
   * failed instead, with a sentence that says so.
   */
  async resume(): Promise<number> {
    const left = (await this.#directory.unfinishedWork()).filter((id) => !this.#mine.has(id));
    for (const id of left) this.#enqueue(id, this.#deps.isOnlyProcess);
    return left.length;
  }

  /** Begins nothing more, and resolves when nothing runs here, or after ten seconds: each run ends before its next step. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#waiting.length = 0;
    // Work that must not be repeated is not interrupted after its point of no return.
    for (const { run, effect } of this.#running.values())
      if (!run.committed || effect.repeatable !== false) run.stop('released');
    const over = new AbortController();
    await Promise.race([Promise.all(this.#tasks), this.#deps.sleep(STOP_MS, over.signal)]);
    over.abort();
  }

  get #directory(): LongWorkDirectory {
    return this.#deps.directory;
  }

  #enqueue(id: string, evenIfLeased: boolean): void {
    this.#mine.add(id);
    this.#waiting.push({ id, evenIfLeased });
    this.#startNext();
  }

  #startNext(): void {
    while (!this.#stopping && this.#tasks.size < RUNNING_MAX) {
      const next = this.#waiting.shift();
      if (!next) return;
      // While the platform stops, the directory may be closed: the next start finds the work.
      const task = this.#runOne(next.id, next.evenIfLeased)
        .catch((error: unknown) => void (this.#stopping || this.#deps.incident('longWork')(error)))
        .finally(() => {
          this.#mine.delete(next.id);
          this.#tasks.delete(task);
          this.#startNext();
        });
      this.#tasks.add(task);
    }
  }

  async #runOne(id: string, evenIfLeased: boolean): Promise<void> {
    const { effects, now, incident } = this.#deps;
    const started = await this.#directory.startWork({ id, evenIfLeased });
    if (!started) return;
    const effect = Object.hasOwn(effects, started.name) ? effects[started.name] : undefined;
    if (!effect) return this.#fail(id, noLongerKnown(started.name), !started.committed);
    // A run that starts after its point of no return was interrupted there.
    if (started.committed && effect.repeatable === false) return this.#fail(id, interrupted(), false);
    const onChange = (): void => this.#follower.changed(id);
    const run = new ControlledRun(
      { directory: this.#directory, now, onChange, onIncident: incident('progressWork') },
      started,
    );
    this.#running.set(id, { run, effect });
    if (started.cancelRequested) run.stop('cancelled');
    if (this.#stopping) run.stop('released');
    const over = new AbortController();
    this.#follower.changed(id);
    void this.#keepLease(run, over.signal).catch(incident('keepLease'));
    try {
      await this.#finish({ effect, run }, started);
    } finally {
      over.abort();
      this.#running.delete(id);
    }
  }

  async #finish({ effect, run }: Running<Deps>, started: StartedWork): Promise<void> {
    const { deps, incident } = this.#deps;
    const { id } = run;
    try {
      const facts = await effect.run(deps, started.work, run);
      // The work is done, even if it was told to stop meanwhile.
      await this.#end(id, this.#directory.settleWork({ id, facts, progress: run.latest }));
    } catch (error) {
      if (run.stopped === 'released') return void (await this.#directory.releaseWork({ id }));
      const isBefore = !run.committed;
      if (isBefore) await effect.cleanUp?.(deps, started.work).catch(incident('cleanUp'));
      if (run.stopped === 'cancelled' && isBefore) await this.#end(id, this.#directory.cancelWork({ id }));
      else await this.#fail(id, error, isBefore || isRefusal(error), run.latest);
    }
  }

  /** Renews the lease while a run reports nothing. The only process on a directory needs no lease. */
  async #keepLease(run: ControlledRun, over: AbortSignal): Promise<void> {
    while (!this.#deps.isOnlyProcess && !over.aborted) {
      await this.#deps.sleep(WORK_LEASE_MS / 3, over);
      if (!over.aborted) await run.flush();
    }
  }

  #fail(id: string, error: unknown, known: boolean, progress?: OperationRecord['progress']): Promise<void> {
    if (!(error instanceof PlatformError)) this.#deps.incident('longWork')(error);
    const failure = toFailure(known ? publicError(error) : outcomeUnknown(error));
    return this.#end(id, this.#directory.failWork({ id, failure, known, ...(progress ? { progress } : {}) }));
  }

  async #end(id: string, write: Promise<WorkEnd>): Promise<void> {
    const ended = await write;
    if (ended?.rerouted) this.#deps.onRerouted(ended.rerouted);
    if (ended) await this.#deps.publish(ended.head);
    this.#running.delete(id);
    this.#follower.changed(id);
  }
}

function noLongerKnown(operation: string): PlatformError {
  return new PlatformError('unsupported', `This platform no longer knows how to do ${operation}.`, {
    reason: 'unknown_operation',
  });
}

function interrupted(): PlatformError {
  return new PlatformError(
    'unavailable',
    'The platform stopped in the middle of this, and it must not be repeated.',
    {
      reason: 'interrupted',
    },
  );
}
