/**
 * Runs long work in the background, some at a time: an intent and a record when it begins, an outcome and the record
 * when it ends (design: control-plane, "Long work").
 *
 * Invariants:
 * 1. Work that was accepted ends, or is there to be taken up again: nothing but an outcome takes it off the list.
 * 2. The log says `failed` of what is known not to have happened: before the point of no return that is everything,
 *    after it a refusal.
 */
import { PlatformError, publicError, toFailure } from '@freehold/contracts';
import type { AdminCall, AdminResult } from '../actors.ts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { LogHead } from '../declarations/records.ts';
import type { RoutesChange } from '../host-admin.ts';
import type { WiringFacts } from '../lib/handlers.ts';
import { isRefusal, outcomeUnknown } from '../verticals/outcome.ts';
import { type Follow, makeFollower, type Sleep } from './follow.ts';
import type { LongDeps, LongEffect } from './handlers.ts';
import { type StartedWork, WORK_LEASE_MS, type WorkEnd } from './operations.ts';
import { type ControlledRun, makeRun } from './run.ts';

export interface LongWorkDeps {
  readonly deps: LongDeps;
  /** By operation. */
  readonly effects: Readonly<Record<string, LongEffect>>;
  readonly now: () => number;
  readonly sleep: Sleep;
  /** True where this process is the only one that works on this directory: what is unfinished at its start is its own. */
  readonly isOnlyProcess: boolean;
  readonly factsOf: (call: AdminCall) => WiringFacts;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
  readonly onRerouted: (change: RoutesChange) => void;
  readonly incident: (method: string) => (error: unknown) => void;
}

export interface LongWork {
  /** Whether an operation is long work. */
  performs(operation: string): boolean;
  /** Begins it, or answers what it would do. */
  perform(call: AdminCall): Promise<AdminResult>;
  /** Performs `operations.get`. */
  follow(call: AdminCall): Promise<AdminResult>;
  /** Makes cancelling take effect in this process. To be called when `operations.cancel` was written down. */
  cancelled(id: string): void;
  /**
   * Takes up what was left unfinished, and answers how much that is. What may not be done twice, or is no longer known
   * here, is failed instead, with a sentence that says so.
   */
  resume(): Promise<number>;
  /** Begins nothing more, and resolves when nothing runs here, or after ten seconds: each run ends before its next step. */
  stop(): Promise<void>;
}

/** How many run at a time in one process: they move whole databases, and people are waiting for other things. */
const RUNNING_MAX = 4;

/** How long a shutdown waits for steps under way. What is not over by then is taken up as after a crash. */
const STOP_MS = 10_000;

export function makeLongWork({
  deps,
  effects,
  now,
  sleep,
  isOnlyProcess,
  factsOf,
  publish,
  onRerouted,
  incident,
}: LongWorkDeps): LongWork {
  const { directory } = deps;
  const waiting: { readonly id: string; readonly evenIfLeased: boolean }[] = [];
  const running = new Map<string, ControlledRun & { readonly mayStop: () => boolean }>();
  /** Everything that this process has taken in hand and not ended. */
  const mine = new Set<string>();
  const tasks = new Set<Promise<void>>();
  let stopping = false;
  const follower: Follow = makeFollower({
    read: (call) => directory.read({ call }),
    live: (id) => running.get(id)?.progress ?? null,
    sleep,
  });

  const end = async (id: string, write: Promise<WorkEnd>): Promise<void> => {
    const ended = await write;
    if (ended?.rerouted) onRerouted(ended.rerouted);
    if (ended) await publish(ended.head);
    running.delete(id);
    follower.changed(id);
  };

  const fail = (
    id: string,
    error: unknown,
    known: boolean,
    at?: ControlledRun['progress'],
  ): Promise<void> => {
    if (!(error instanceof PlatformError)) incident('longWork')(error);
    const failure = toFailure(known ? publicError(error) : outcomeUnknown(error));
    return end(id, directory.failWork({ id, failure, known, ...(at ? { progress: at } : {}) }));
  };

  const cleanUp = async (effect: LongEffect, started: StartedWork): Promise<void> => {
    await effect.cleanUp?.(deps, started.work).catch(incident('cleanUp'));
  };

  const finish = async (effect: LongEffect, started: StartedWork, controlled: ControlledRun) => {
    const { id } = started;
    try {
      const facts = await effect.run(deps, started.work, controlled.run);
      // Done is done, whoever asked meanwhile to stop.
      await end(id, directory.settleWork({ id, facts, progress: controlled.progress }));
    } catch (error) {
      if (controlled.stopped === 'released') return void (await directory.releaseWork({ id }));
      const isBefore = !controlled.committed;
      if (isBefore) await cleanUp(effect, started);
      if (controlled.stopped === 'cancelled' && isBefore) await end(id, directory.cancelWork({ id }));
      else await fail(id, error, isBefore || isRefusal(error), controlled.progress);
    }
  };

  /** Keeps the lease while a run says nothing; where nobody else could take it up there is nothing to keep. */
  const keepLease = async (controlled: ControlledRun, over: AbortSignal): Promise<void> => {
    while (!isOnlyProcess && !over.aborted) {
      await sleep(WORK_LEASE_MS / 3, over);
      if (!over.aborted) await controlled.flush();
    }
  };

  const runOne = async (id: string, evenIfLeased: boolean): Promise<void> => {
    const started = await directory.startWork({ id, evenIfLeased });
    if (!started) return;
    const effect = Object.hasOwn(effects, started.name) ? effects[started.name] : undefined;
    if (!effect) return fail(id, noLongerKnown(started.name), !started.committed);
    // A run that begins behind its point of no return is one that was interrupted there.
    if (started.committed && effect.repeatable === false) return fail(id, interrupted(), false);
    const controlled = makeRun(
      { directory, now, onChange: () => follower.changed(id), onIncident: incident('progressWork') },
      started,
      started.progress,
    );
    const mayStop = () => !controlled.committed || effect.repeatable !== false;
    running.set(id, Object.assign(controlled, { mayStop }));
    if (started.cancelRequested) controlled.stop('cancelled');
    if (stopping) controlled.stop('released');
    const over = new AbortController();
    follower.changed(id);
    void keepLease(controlled, over.signal).catch(incident('keepLease'));
    try {
      await finish(effect, started, controlled);
    } finally {
      over.abort();
      running.delete(id);
    }
  };

  const startNext = (): void => {
    while (!stopping && tasks.size < RUNNING_MAX) {
      const next = waiting.shift();
      if (!next) return;
      // A directory that closed in between leaves the work where it is: the next start finds it.
      const task = runOne(next.id, next.evenIfLeased)
        .catch((error: unknown) => void (stopping || incident('longWork')(error)))
        .finally(() => {
          mine.delete(next.id);
          tasks.delete(task);
          startNext();
        });
      tasks.add(task);
    }
  };

  const enqueue = (id: string, evenIfLeased: boolean): void => {
    mine.add(id);
    waiting.push({ id, evenIfLeased });
    startNext();
  };

  return {
    performs: (operation) => Object.hasOwn(effects, operation),

    perform: async (call) => {
      const effect = effects[call.operation];
      await effect?.check?.(deps, call);
      if (call.query.dryRun === true)
        return effect?.plan
          ? { status: 200, value: await effect.plan(deps, call), replayed: false }
          : directory.planWork({ call });
      const result = await directory.beginWork({ call, facts: factsOf(call) });
      if (result.head) await publish(result.head);
      const { id } = result.value as OperationRecord;
      if (!result.replayed) enqueue(id, true);
      return call.events ? { ...result, events: follower.events(call, id) } : result;
    },

    follow: (call) => follower.follow(call),

    cancelled: (id) => {
      running.get(id)?.stop('cancelled');
      const index = waiting.findIndex((each) => each.id === id);
      if (index >= 0) waiting.unshift(...waiting.splice(index, 1));
    },

    resume: async () => {
      const unfinished = await directory.unfinishedWork();
      const left = unfinished.filter((id) => !mine.has(id));
      for (const id of left) enqueue(id, isOnlyProcess);
      return left.length;
    },

    stop: async () => {
      stopping = true;
      waiting.length = 0;
      // What may not be done twice is not broken off.
      for (const controlled of running.values()) if (controlled.mayStop()) controlled.stop('released');
      const over = new AbortController();
      await Promise.race([Promise.all(tasks), sleep(STOP_MS, over.signal)]);
      over.abort();
    },
  };
}

function noLongerKnown(operation: string): PlatformError {
  return new PlatformError('unsupported', `This platform no longer knows how to do ${operation}.`, {
    reason: 'unknown_operation',
  });
}

function interrupted(): PlatformError {
  return new PlatformError(
    'unavailable',
    'The platform stopped in the middle of this, and it is nothing that may be done twice.',
    { reason: 'interrupted' },
  );
}
