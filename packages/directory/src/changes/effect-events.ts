/**
 * The events of one call that reports its steps. The call does not wait for its reader: a slow reader misses steps that were
 * overtaken, and a reader that leaves stops nothing.
 */
import type { OperationEvent } from '../access/actors.ts';
import type { Report } from '../lib/effects.ts';

type CallEvent = OperationEvent<unknown>;

/** Waits that many milliseconds; resolves at once when the signal aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export interface CallEvents {
  readonly stream: ReadableStream<CallEvent>;
  readonly report: Report;
  /** Reports the end. It is the last event. */
  end(event: CallEvent): void;
}

/** Silence after which a heartbeat keeps proxies from closing the line. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT: CallEvent = { event: 'heartbeat', record: null };

export function openEvents(sleep: Sleep): CallEvents {
  const unread: CallEvent[] = [];
  let isClosed = false;
  let wake = (): void => undefined;

  const push = (event: CallEvent): void => {
    if (isClosed) return;
    // A repeated step replaces the one before it.
    if (isSameStep(unread.at(-1), event)) unread.pop();
    unread.push(event);
    wake();
  };

  /** Returns the next event, or a heartbeat after a long silence. */
  const next = async (): Promise<CallEvent> => {
    const event = unread.shift();
    if (event) return event;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const timer = new AbortController();
    await Promise.race([promise, sleep(HEARTBEAT_MS, timer.signal)]);
    timer.abort();
    return unread.shift() ?? HEARTBEAT;
  };

  const stream = new ReadableStream<CallEvent>(
    {
      pull: async (controller) => {
        const event = await next();
        if (isClosed) return;
        controller.enqueue(event);
        if (event.event !== 'done' && event.event !== 'failed') return;
        isClosed = true;
        controller.close();
      },
      cancel: () => {
        isClosed = true;
        unread.length = 0;
        wake();
      },
    },
    // An event is taken when a reader asks for it, so that it is the newest.
    { highWaterMark: 0 },
  );
  return { stream, report: (record) => push({ event: 'progress', record }), end: push };
}

/** The one event of a call that ended at once. */
export function onlyEvent(event: CallEvent): ReadableStream<CallEvent> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue(event);
      controller.close();
    },
  });
}

function isSameStep(before: CallEvent | undefined, event: CallEvent): boolean {
  if (before?.event !== 'progress' || event.event !== 'progress') return false;
  return (before.record as Parameters<Report>[0]).step === (event.record as Parameters<Report>[0]).step;
}
