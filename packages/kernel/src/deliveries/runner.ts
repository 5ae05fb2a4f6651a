/**
 * Keeps the scopes of a vertical working: wakes one when something was put in line, runs its executors, and comes
 * back when the next thing is due. It remembers nothing that matters: what waits is in the scopes themselves.
 */
import type { ActorId, EventId } from '@freehold/contracts';
import type { IncidentSink } from '@freehold/store';
import type { ScopeStub } from '../scope-host.ts';
import type { Vertical } from '../vertical.ts';
import type { ClaimedDelivery, DeliveryResult, Executor, ExecutorTools } from './declarations.ts';
import { type Lanes, makeLanes } from './lanes.ts';
import { describe } from './work.ts';

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
}

export interface DeliveryRunner {
  /** Something was put in line in a scope. Costs nothing; work begins soon after. */
  wake(scopeId: string): void;
  /** Looks once into each scope for what is left from before a restart. Resolves when all were looked at. */
  resume(scopeIds: AsyncIterable<string> | Iterable<string>): Promise<void>;
  /** Resolves when nothing is under way: neither a round nor an executor. What waits for its time does not count. */
  idle(): Promise<void>;
  /** Begins nothing new, tells executors to stop, and resolves when they have. */
  stop(): Promise<void>;
}

interface Working {
  /** Somebody woke it while it worked: look again. */
  again: boolean;
}

export function makeDeliveryRunner(options: DeliveryRunnerOptions): DeliveryRunner {
  const { vertical, scope, now, onIncident } = options;
  const after = options.after ?? afterTimeout;
  const lanes = makeLanes(vertical);
  const hasWork = lanes.all.length > 0 || Object.keys(vertical.schedules ?? {}).length > 0;
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
      working.set(scopeId, { again: false });
      void rounds(scopeId).finally(() => {
        working.delete(scopeId);
        fill();
        settleIdle();
      });
    }
  };

  const rounds = async (scopeId: string): Promise<void> => {
    const state = working.get(scopeId) as Working;
    do {
      state.again = false;
      try {
        const { claimed, nextAtMs } = await scope(scopeId).work({});
        for (const each of claimed) execute(scopeId, each);
        if (nextAtMs !== null && nextAtMs <= now()) state.again = true;
        else sleepUntil(scopeId, nextAtMs);
      } catch (error) {
        // A scope that is gone has no work; one that cannot be reached has it later.
        if (!isGone(error)) {
          incident(error, scopeId, 'work');
          sleepUntil(scopeId, now() + RETRY_MS);
        }
      }
    } while (state.again && !stopping.signal.aborted);
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
    const run = runExecutor({ scope: scope(scopeId), lanes, delivery, stop: stopping.signal, after })
      .then(async (result) => {
        await scope(scopeId).settle(result);
        wake(scopeId);
      })
      // The claim runs out by itself, and somebody tries again.
      .catch((error: unknown) => incident(error, scopeId, delivery.subscriber))
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
        while (waiting.size > 0 && !stopping.signal.aborted) await nextRound();
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

/** Runs one executor to its end or its time limit. Never rejects: a failure is an answer. */
async function runExecutor({
  scope,
  lanes,
  delivery,
  stop,
  after,
}: {
  readonly scope: ScopeStub;
  readonly lanes: Lanes;
  readonly delivery: ClaimedDelivery;
  readonly stop: AbortSignal;
  readonly after: (ms: number, task: () => void) => () => void;
}): Promise<DeliveryResult> {
  const { subscriber, event, claim, attempt } = delivery;
  const answer = { subscriber, event: event.id, claim };
  const listener = lanes.find(subscriber, event.type)?.listener;
  if (listener?.kind !== 'executor')
    return { ...answer, error: { code: 'unsupported', detail: 'Nobody listens under this name any more.' } };
  const over = new AbortController();
  const cancel = after(listener.timeoutMs, () => over.abort());
  const signal = AbortSignal.any([over.signal, stop]);
  const deliveryKey = `${subscriber}:${event.id}`;
  try {
    const tools: ExecutorTools = {
      attempt,
      deliveryKey,
      signal,
      invoke: invokeAs(scope, listener.executor, event.id, deliveryKey),
    };
    await Promise.race([Promise.resolve(listener.executor.run(event, tools)), aborted(signal)]);
    return answer;
  } catch (thrown) {
    if (signal.aborted)
      return { ...answer, error: { code: 'unavailable', detail: 'It was not done within its time.' } };
    return { ...answer, error: describe(thrown instanceof Error ? thrown : new Error('not an error')) };
  } finally {
    cancel();
  }
}

function invokeAs(scope: ScopeStub, { as }: Executor, cause: EventId, key: string): ExecutorTools['invoke'] {
  return async (operation, input, step = operation) => {
    const principal = `service:${as}` as ActorId;
    const idempotencyKey = `${key}:${step}`.slice(0, 255);
    return (await scope.invoke({ principal, operation, input, cause, idempotencyKey })).output;
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new Error('aborted'));
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });
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
