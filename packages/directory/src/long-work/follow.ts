/**
 * Follows long work for its callers: by a read, by a read that waits, and by events. Work of this process is seen as it
 * happens; work of another process is polled every second.
 */
import type { AdminCall, AdminResult, OperationEvent } from '../access/actors.ts';
import type { Sleep } from '../changes/effect-events.ts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { operationsGet } from './operations.ts';

interface FollowDeps {
  /** Performs `operations.get` in the directory, which also checks access. */
  readonly read: (call: AdminCall) => Promise<AdminResult>;
  /** The progress of work that runs in this process, or null. */
  readonly live: (id: string) => OperationRecord['progress'] | null;
  readonly sleep: Sleep;
}

export interface Follower {
  /** Performs `operations.get`: with `wait`, and with events where the call asks for them. */
  waitFor(call: AdminCall): Promise<AdminResult>;
  /** The events of work, read with the rights of `call`. */
  events(call: AdminCall, id: string): ReadableStream<OperationEvent>;
  /** Wakes the followers of this work. */
  changed(id: string): void;
}

const POLL_MS = 1_000;
/** The least time between events: people cannot read them faster. */
const SPACING_MS = 100;
/** Silence after which a heartbeat keeps proxies from closing the line. */
const HEARTBEAT_POLLS = 15;

export function makeFollower({ read, live, sleep }: FollowDeps): Follower {
  const listeners = new Map<string, Set<() => void>>();
  /** Counts all changes, so that none is missed between a look and the wait after it. */
  let changes = 0;

  const look = async (call: AdminCall, id: string): Promise<AdminResult> => {
    const result = await read({ ...call, operation: 'operations.get', params: { operation: id }, query: {} });
    const record = result.value as OperationRecord;
    const progress = isOver(record) ? null : live(id);
    return progress === null ? result : { ...result, value: { ...record, progress } };
  };

  /** Resolves at the next change since then, and at the latest after the time of a poll. */
  const nextChange = async (id: string, since: number): Promise<'changed' | 'polled'> => {
    if (changes !== since) return 'changed';
    const { promise, resolve } = Promise.withResolvers<'changed'>();
    const timer = new AbortController();
    const listener = (): void => resolve('changed');
    listeners.set(id, (listeners.get(id) ?? new Set()).add(listener));
    try {
      return await Promise.race([promise, sleep(POLL_MS, timer.signal).then(() => 'polled' as const)]);
    } finally {
      timer.abort();
      const left = listeners.get(id);
      left?.delete(listener);
      if (left?.size === 0) listeners.delete(id);
    }
  };

  /** Spaces events while the work runs here and may send many. */
  const pause = async (id: string): Promise<void> => {
    const until = new AbortController();
    const ended = (async () => {
      while (live(id) !== null && !until.signal.aborted) await nextChange(id, changes);
    })();
    await Promise.race([sleep(SPACING_MS, until.signal), ended]);
    until.abort();
  };

  const wait = async (call: AdminCall, id: string, waitMs: number): Promise<AdminResult> => {
    // Counted in polls, so that a clock that jumps does not prolong the wait.
    for (let polls = waitMs / POLL_MS; ; ) {
      const since = changes;
      const result = await look(call, id);
      if (polls <= 0 || isOver(result.value as OperationRecord)) return result;
      if ((await nextChange(id, since)) === 'polled') polls -= 1;
    }
  };

  const events: Follower['events'] = (call, id) => {
    let shown: string | null = null;
    let silent = 0;
    const closed = new AbortController();
    return new ReadableStream<OperationEvent>(
      {
        pull: async (controller) => {
          if (shown !== null) await pause(id);
          while (!closed.signal.aborted) {
            const since = changes;
            const record = (await look(call, id)).value as OperationRecord;
            const text = JSON.stringify(record);
            if (isOver(record)) {
              controller.enqueue({ event: record.state as OperationEvent['event'], record });
              return controller.close();
            }
            const event = text !== shown ? 'progress' : silent >= HEARTBEAT_POLLS ? 'heartbeat' : null;
            if (event !== null) {
              shown = text;
              silent = 0;
              return controller.enqueue({ event, record });
            }
            if ((await nextChange(id, since)) === 'polled') silent += 1;
          }
        },
        cancel: () => closed.abort(),
      },
      // Each event shows the state at the moment at which it is read.
      { highWaterMark: 0 },
    );
  };

  return {
    waitFor: async (call) => {
      const { params, query } = call as unknown as CallOf<typeof operationsGet>;
      if (call.events)
        return { ...(await look(call, params.operation)), events: events(call, params.operation) };
      return wait(call, params.operation, Number.parseInt(query.wait ?? '0', 10) * 1_000);
    },
    events,
    changed: (id) => {
      changes += 1;
      for (const listener of listeners.get(id) ?? []) listener();
    },
  };
}

function isOver({ state }: OperationRecord): boolean {
  return state !== 'queued' && state !== 'running';
}

/** The platform's own timer. */
export const sleepFor: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
