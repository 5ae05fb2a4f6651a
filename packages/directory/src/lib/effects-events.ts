/**
 * The events of one call that says how it gets on. They are told to whoever reads them, and the call does not wait for
 * that: a reader who is slow misses steps that were overtaken, and one who goes away stops nothing.
 */
import type { OperationEvent } from '../actors.ts';
import type { Sleep } from '../long-work/follow.ts';
import type { Report } from './effects.ts';

type CallEvent = OperationEvent<unknown>;

export interface CallEvents {
  readonly stream: ReadableStream<CallEvent>;
  readonly report: Report;
  /** Says how it ended; there is nothing to say after that. */
  end(event: CallEvent): void;
}

/** Silence after which a heartbeat keeps proxies from closing the line. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT: CallEvent = { event: 'heartbeat', record: null };

export function openEvents(sleep: Sleep): CallEvents {
  const unread: CallEvent[] = [];
  let isClosed = false;
  let wake = (): void => undefined;

  const tell = (event: CallEvent): void => {
    if (isClosed) return;
    // The same step again says all that the one before it said.
    if (isSameStep(unread.at(-1), event)) unread.pop();
    unread.push(event);
    wake();
  };

  /** The next event, or a heartbeat when there is none for too long. */
  const next = async (): Promise<CallEvent> => {
    const told = unread.shift();
    if (told) return told;
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
    // Each event says where it stands when somebody is there to read it.
    { highWaterMark: 0 },
  );
  return { stream, report: (record) => tell({ event: 'progress', record }), end: tell };
}

/** The one event of a call that was over at once. */
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
