/**
 * How long work is followed: by asking, by asking and waiting, and by events. What runs in this process is seen as it
 * happens; what runs in another one is looked at every second.
 */
import type { AdminCall, AdminResult, OperationEvent } from '../actors.ts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { operationsGet } from './operations.ts';

/** Waits that many milliseconds, or until the signal aborts: then it resolves at once. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export interface FollowDeps {
  /** Performs `operations.get` in the directory: that somebody may not see it is said there. */
  readonly read: (call: AdminCall) => Promise<AdminResult>;
  /** How far work is that runs in this process, or null. */
  readonly live: (id: string) => OperationRecord['progress'] | null;
  readonly sleep: Sleep;
}

export interface Follow {
  /** Performs `operations.get`: with `wait`, and with events where the call asks for them. */
  follow(call: AdminCall): Promise<AdminResult>;
  /** The events of one piece of work, as the caller of `call` may see them. */
  events(call: AdminCall, id: string): ReadableStream<OperationEvent>;
  /** Says that something has changed. */
  changed(id: string): void;
}

const POLL_MS = 1_000;
/** Events come no faster than people can look at them. */
const SPACING_MS = 100;
/** Silence after which a heartbeat keeps proxies from closing the line. */
const HEARTBEAT_POLLS = 15;

export function makeFollower({ read, live, sleep }: FollowDeps): Follow {
  const listeners = new Map<string, Set<() => void>>();
  /** How often anything has changed here, so that nothing is missed between a look and the wait that follows it. */
  let changes = 0;

  const look = async (call: AdminCall, id: string): Promise<AdminResult> => {
    const result = await read({ ...call, operation: 'operations.get', params: { operation: id }, query: {} });
    const record = result.value as OperationRecord;
    const progress = isOver(record) ? null : live(id);
    return progress === null ? result : { ...result, value: { ...record, progress } };
  };

  /** Resolves at the next change since then, and after a poll's time anyway. */
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

  /** Keeps events apart while there may be many. */
  const pause = async (id: string): Promise<void> => {
    const until = new AbortController();
    const ended = (async () => {
      while (live(id) !== null && !until.signal.aborted) await nextChange(id, changes);
    })();
    await Promise.race([sleep(SPACING_MS, until.signal), ended]);
    until.abort();
  };

  const wait = async (call: AdminCall, id: string, waitMs: number): Promise<AdminResult> => {
    // Counted in polls, so that a clock that jumps makes nobody wait longer.
    for (let polls = waitMs / POLL_MS; ; ) {
      const since = changes;
      const result = await look(call, id);
      if (polls <= 0 || isOver(result.value as OperationRecord)) return result;
      if ((await nextChange(id, since)) === 'polled') polls -= 1;
    }
  };

  const events: Follow['events'] = (call, id) => {
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
      // Each event says where it stands when somebody is there to read it.
      { highWaterMark: 0 },
    );
  };

  return {
    follow: async (call) => {
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
