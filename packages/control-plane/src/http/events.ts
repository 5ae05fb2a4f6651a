/**
 * Work that is followed, as server-sent events (WHATWG HTML, "Server-sent events"): the last one is named for how it
 * ended, and has the head of the admin log as its id. Silence is broken by comments, so that nothing in between closes the
 * line.
 */
import type { AdminResult, OperationEvent } from '@freehold/directory';

type CallEvent = OperationEvent<unknown>;

export const EVENT_STREAM = 'text/event-stream';

/** Whether a request asks for events rather than for one record: it names them, and not at the very end of its wishes. */
export function acceptsEvents(headers: Headers): boolean {
  return (headers.get('accept') ?? '').split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === EVENT_STREAM && !parameters.some((each) => /^q=0(?:\.0*)?$/.test(each));
  });
}

/**
 * Renders the events of a result. They end when the work does, or when nobody reads them any more.
 * @param declared makes of an event what may leave.
 */
export function eventsAnswer(
  { status, events }: AdminResult & { readonly events: ReadableStream<CallEvent> },
  declared: (event: CallEvent) => unknown,
  headers: Headers,
): Response {
  headers.set('content-type', EVENT_STREAM);
  // Nginx and its kin hold back what they could buffer.
  headers.set('x-accel-buffering', 'no');
  const encoder = new TextEncoder();
  const reader = events.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        controller.enqueue(encoder.encode(textOf(value, declared)));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status, headers });
}

function textOf(event: CallEvent, declared: (event: CallEvent) => unknown): string {
  if (event.event === 'heartbeat') return ': still there\n\n';
  const id = event.head ? `id: ${headText(event.head)}\n` : '';
  // JSON has no line breaks of its own, so that one data line holds it.
  return `${id}event: ${event.event}\ndata: ${JSON.stringify(declared(event))}\n\n`;
}

/** The head of the admin log in one line: its sequence and its hash. */
export function headText({ sequence, hash }: NonNullable<AdminResult['head']>): string {
  return `${sequence}:${hash}`;
}
