/**
 * Keeps the scopes of a vertical working: wakes one when something was put in line, runs its executors, and comes
 * back when the next thing is due. It remembers nothing that matters: what waits is in the scopes themselves.
 */
import type { ScopeId } from '@freehold/contracts';
import type { IncidentSink } from '@freehold/store';
import type { Attachments } from '../attachments/attachments.ts';
import { needsRetention } from '../retention/policy.ts';
import type { ScopeStub } from '../scope-host.ts';
import { keysRefusedTo } from '../sealing/keyed-scope.ts';
import type { Vertical } from '../vertical.ts';
import type { ClaimedDelivery, WorkDone } from './declarations.ts';
import { makeLanes } from './lanes.ts';
import { runExecutor } from './run-executor.ts';

/** How many scopes work at a time, so that one machine's hands are not full with background work. */
const SCOPES_MAX = 8;
/** `setTimeout` cannot wait longer than this; a later time is looked at again then. */
const WAIT_MAX_MS = 2 ** 31 - 1;
/** After a round that failed as a whole, such as on a full disk. */
const RETRY_MS = 5_000;

export interface DeliveryRunnerOptions {
  readonly vertical: Vertical;
  readonly scope: (scopeId: string) => ScopeStub;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Runs a task after so many milliseconds; the answer cancels it. Default: `setTimeout`, which keeps no process alive. */
  readonly after?: (ms: number, task: () => void) => () => void;
  readonly onIncident: IncidentSink;
  /** Where bytes are swept that nothing holds, once a day for each scope. Default: nowhere. */
  readonly attachments?: Pick<Attachments, 'sweep'>;
}

export interface DeliveryRunner {
  /** Something was put in line in a scope. Costs nothing; work begins soon after. */
  wake(scopeId: string): void;
  /** Looks once into each scope for what is left from before a restart. Resolves when all were looked at. */
  resume(scopeIds: AsyncIterable<string> | Iterable<string>): Promise<void>;
  /** Resolves when nothing is under way: neither a round nor an executor. What waits for its time does not count. */
  idle(): Promise<void>;
  /** Begins nothing new, tells executors to stop, hands back what they were at, and resolves when they have stopped. */
  stop(): Promise<void>;
}

interface Working {
  /** Somebody woke it while it worked: look again. */
  again: boolean;
}

export function makeDeliveryRunner(options: DeliveryRunnerOptions): DeliveryRunner {
  const { vertical, scope, attachments, now, onIncident } = options;
  const after = options.after ?? afterTimeout;
  const lanes = makeLanes(vertical);
  const hasWork =
    lanes.all.length > 0 || Object.keys(vertical.schedules ?? {}).length > 0 || needsRetention(vertical);
  const working = new Map<string, Working>();
  const waiting = new Set<string>();
  const timers = new Map<string, { readonly atMs: number; readonly cancel: () => void }>();
  const executing = new Set<Promise<void>>();
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
        // It has more to do and others wait, or somebody woke it after its last look.
        if (state.again && !stopping.signal.aborted) waiting.add(scopeId);
        fill();
        settleIdle();
      });
    }
  };

  const rounds = async (scopeId: string, state: Working): Promise<void> => {
    do {
      state.again = false;
      try {
        const { claimed, nextAtMs, sweep } = await work(scopeId);
        for (const each of claimed) execute(scopeId, each);
        if (sweep && attachments)
          track(scopeId, 'sweep', attachments.sweep(scopeId as ScopeId).catch(noBlobs));
        if (nextAtMs !== null && nextAtMs <= now()) state.again = true;
        else sleepUntil(scopeId, nextAtMs);
      } catch (error) {
        // A scope that is gone has no work; one that cannot be reached has it later.
        if (!isGone(error)) {
          incident(error, scopeId, 'work');
          sleepUntil(scopeId, now() + RETRY_MS);
        }
      }
      // A scope that always has more to do goes to the end of the line, or a few such would keep all others waiting.
    } while (state.again && waiting.size === 0 && !stopping.signal.aborted);
  };

  /** One round. When the vault refuses a person's key, what needs it fails by itself, and the rest goes on. */
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
    const run = runExecutor({ scope: scope(scopeId), lanes, delivery, stop: stopping.signal, after });
    const settled = run.then(async (result) => {
      await scope(scopeId).settle(result);
      wake(scopeId);
    });
    // When that fails, the claim runs out by itself, and somebody tries again.
    track(scopeId, delivery.subscriber, settled);
  };

  /** Work outside of the rounds, which must end before everything is idle. */
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
        // One after the other, so that a start with ten thousand scopes does not keep people waiting.
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

/** Where there is no place for bytes, nothing is to be swept. */
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
