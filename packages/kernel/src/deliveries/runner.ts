/**
 * Runs the work of a vertical's scopes: wakes a scope when something was put in line, runs its executors, and returns
 * when the next work is due. It holds no state that matters: the scopes themselves do.
 */

import type { ScopeId } from '@freehold/contracts';
import type { IncidentSink } from '@freehold/store';
import type { Attachments } from '../attachments/attachments.ts';
import type { ClaimedDelivery, ScopeStub, WorkDone } from '../contract/scope-methods.ts';
import { keysRefusedTo } from '../sealing/keyed-scope.ts';
import { makeLanes } from '../vertical/listeners.ts';
import { needsRetention } from '../vertical/retention.ts';
import type { Vertical } from '../vertical/vertical.ts';
import { FailingReactions } from './failing-reactions.ts';
import { runExecutor } from './run-executor.ts';

/** The number of scopes that work at a time, so that background work leaves room for calls. */
const SCOPES_MAX = 8;
/** The longest wait of `setTimeout`. */
const WAIT_MAX_MS = 2 ** 31 - 1;
/** The wait after a round that failed as a whole, for example on a full disk. */
const RETRY_MS = 5_000;

export interface DeliveryRunnerOptions {
  readonly vertical: Vertical;
  readonly scope: (scopeId: string) => ScopeStub;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Runs a task after so many milliseconds; returns its cancel. Default: a timer that keeps no process alive. */
  readonly after?: (ms: number, task: () => void) => () => void;
  readonly onIncident: IncidentSink;
  /** Makes the outgoing calls of executors. Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
  /** Sweeps unused bytes, once a day for each scope, and removes what executors remove. Default: there are none. */
  readonly attachments?: Pick<Attachments, 'sweep' | 'remove'>;
  /** The rounds of a scope in a row; what is due after them waits for `after`. Default: as many as there are. */
  readonly roundsMax?: number;
}

export interface DeliveryRunner {
  /** Starts the work of a scope soon after. Costs nothing. */
  wake(scopeId: string): void;
  /** Wakes each scope once for work from before a restart. Resolves when all were woken. */
  resume(scopeIds: AsyncIterable<string> | Iterable<string>): Promise<void>;
  /** Resolves when neither a round nor an executor is running. Waiting work does not count. */
  idle(): Promise<void>;
  /** Begins no new work, aborts executors, hands back their deliveries, and resolves when they have stopped. */
  stop(): Promise<void>;
}

interface Working {
  /** It was woken while it worked: another round follows. */
  again: boolean;
}

export function makeDeliveryRunner(options: DeliveryRunnerOptions): DeliveryRunner {
  const { vertical, scope, attachments, now, onIncident, roundsMax = Number.POSITIVE_INFINITY } = options;
  const after = options.after ?? afterTimeout;
  const fetch: typeof globalThis.fetch = options.fetch ?? ((...call) => globalThis.fetch(...call));
  const lanes = makeLanes(vertical);
  const hasWork =
    lanes.all.length > 0 ||
    [vertical.schedules, vertical.works].some((declared = {}) => Object.keys(declared).length > 0) ||
    needsRetention(vertical);
  const working = new Map<string, Working>();
  const waiting = new Set<string>();
  const timers = new Map<string, { readonly atMs: number; readonly cancel: () => void }>();
  const executing = new Set<Promise<void>>();
  const failing = new FailingReactions();
  const stopping = new AbortController();
  let idleTasks: (() => void)[] = [];

  const incident = (error: unknown, key: string, method: string): void =>
    onIncident(error, { kind: `scope-${vertical.manifest.slug}`, key, method });

  const wake = (scopeId: string): void => {
    if (!hasWork || stopping.signal.aborted) return;
    const at = working.get(scopeId);
    if (at) {
      at.again = true;
      return;
    }
    waiting.add(scopeId);
    fill();
  };

  const fill = (): void => {
    for (const scopeId of waiting) {
      if (working.size >= SCOPES_MAX || stopping.signal.aborted) break;
      waiting.delete(scopeId);
      const state: Working = { again: false };
      working.set(scopeId, state);
      void rounds(scopeId, state).finally(() => {
        working.delete(scopeId);
        // It has more work and others wait, or it was woken after its last round.
        if (state.again && !stopping.signal.aborted) waiting.add(scopeId);
        fill();
        settleIdle();
      });
    }
  };

  const rounds = async (scopeId: string, state: Working): Promise<void> => {
    let left = roundsMax;
    do {
      state.again = false;
      left -= 1;
      try {
        const { claimed, nextAtMs, sweep } = await work(scopeId);
        for (const each of claimed) execute(scopeId, each);
        if (sweep && attachments)
          track(scopeId, 'sweep', attachments.sweep(scopeId as ScopeId).catch(noBlobs));
        if (nextAtMs !== null && nextAtMs <= now() && left > 0) state.again = true;
        else sleepUntil(scopeId, nextAtMs);
      } catch (error) {
        // A scope that is gone has no work; one that cannot be reached has it later.
        if (!isGone(error)) {
          incident(error, scopeId, 'work');
          sleepUntil(scopeId, now() + RETRY_MS);
        }
      }
      // A scope with more work goes to the end of the line: a few such would delay all others.
    } while (state.again && waiting.size === 0 && !stopping.signal.aborted);
  };

  /** Runs one round. When the vault refuses a person's key, only the deliveries that need it fail. */
  const work = async (scopeId: string): Promise<WorkDone> => {
    const round = await scope(scopeId).work({});
    const refusal = keysRefusedTo(round);
    if (refusal !== undefined) incident(refusal, scopeId, 'work');
    return round;
  };

  const sleepUntil = (scopeId: string, atMs: number | null): void => {
    timers.get(scopeId)?.cancel();
    timers.delete(scopeId);
    if (atMs === null || stopping.signal.aborted) return;
    const cancel = after(Math.min(Math.max(0, atMs - now()), WAIT_MAX_MS), () => {
      timers.delete(scopeId);
      wake(scopeId);
    });
    timers.set(scopeId, { atMs, cancel });
  };

  const execute = (scopeId: string, delivery: ClaimedDelivery): void => {
    const run = runExecutor({
      scope: scope(scopeId),
      remove: attachments && ((by, id) => attachments.remove(scopeId as ScopeId, by, id)),
      lanes,
      delivery,
      stop: stopping.signal,
      after,
      fetch,
    });
    const settled = run.then(async ({ result, thrown }) => {
      const name = `${scopeId} ${delivery.subscriber} ${delivery.event.type}`;
      if (thrown !== undefined && failing.isFirst(name)) incident(thrown, scopeId, delivery.subscriber);
      if (result.error === undefined && !result.handedBack) failing.done(name);
      await scope(scopeId).settle(result);
      wake(scopeId);
    });
    // After a failure the claim runs out, and the delivery is claimed again.
    track(scopeId, delivery.subscriber, settled);
  };

  /** Tracks work outside of the rounds, which must end before the runner is idle. */
  const track = (scopeId: string, what: string, task: Promise<unknown>): void => {
    const run = task
      .then(
        () => undefined,
        (error: unknown) => incident(error, scopeId, what),
      )
      .finally(() => {
        executing.delete(run);
        settleIdle();
      });
    executing.add(run);
  };

  const isIdle = (): boolean => working.size === 0 && waiting.size === 0 && executing.size === 0;
  const settleIdle = (): void => {
    if (!isIdle()) return;
    const tasks = idleTasks;
    idleTasks = [];
    for (const task of tasks) task();
  };
  const idle = (): Promise<void> =>
    isIdle() ? Promise.resolve() : new Promise((resolve) => idleTasks.push(resolve));

  return {
    wake,
    idle,
    resume: async (scopeIds) => {
      if (!hasWork) return;
      for await (const scopeId of scopeIds) {
        if (stopping.signal.aborted) return;
        wake(scopeId);
        // One after the other, so that a start with ten thousand scopes does not delay calls.
        while (waiting.has(scopeId) && !stopping.signal.aborted) await nextRound();
      }
    },
    stop: async () => {
      stopping.abort();
      waiting.clear();
      for (const { cancel } of timers.values()) cancel();
      timers.clear();
      await idle();
    },
  };

  function nextRound(): Promise<void> {
    return new Promise((resolve) => void after(0, resolve));
  }
}

/** Without a blob store there is nothing to sweep. */
function noBlobs(error: unknown): void {
  if ((error as { reason?: unknown })?.reason !== 'no_blob_store') throw error;
}

function isGone(error: unknown): boolean {
  return (error as { code?: unknown })?.code === 'not_found';
}

/** This is wiring: a timer of the runtime, which does not keep the process alive. */
function afterTimeout(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms);
  (timer as { unref?: () => void }).unref?.();
  return () => clearTimeout(timer);
}

export interface DeliveryRoundOptions {
  readonly vertical: Vertical;
  readonly scope: ScopeStub;
  readonly scopeId: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  /** As {@link DeliveryRunnerOptions.attachments}. */
  readonly attachments?: DeliveryRunnerOptions['attachments'];
  /** As {@link DeliveryRunnerOptions.fetch}. */
  readonly fetch?: DeliveryRunnerOptions['fetch'];
}

/** Long work takes so many rounds at a time: between two times, the object that hosts the scope can be moved. */
const ROUNDS_AT_A_TIME = 50;

/**
 * Does due work of one scope, its executors included, where an alarm wakes it instead of a timer of a process: all of it, or
 * 50 rounds. Returns the time of the next work in milliseconds since the epoch, at once when it has passed; null when
 * nothing waits.
 */
export async function runDeliveries(options: DeliveryRoundOptions): Promise<number | null> {
  const { vertical, scope, scopeId, now, onIncident, attachments, fetch } = options;
  const waiting = new Set<{ readonly atMs: number }>();
  const runner = makeDeliveryRunner({
    vertical,
    scope: () => scope,
    now,
    onIncident,
    roundsMax: ROUNDS_AT_A_TIME,
    ...(attachments ? { attachments } : {}),
    ...(fetch ? { fetch } : {}),
    after: (ms, task) => {
      const timer = { atMs: now() + ms };
      const handle = setTimeout(() => {
        waiting.delete(timer);
        task();
      }, ms);
      waiting.add(timer);
      return () => {
        clearTimeout(handle);
        waiting.delete(timer);
      };
    },
  });
  runner.wake(scopeId);
  await runner.idle();
  // Executors have ended: only the wait for the next round is left.
  const next = Math.min(...[...waiting].map(({ atMs }) => atMs));
  await runner.stop();
  return Number.isFinite(next) ? next : null;
}
