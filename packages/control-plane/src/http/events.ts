/**
 * Long work as server-sent events (WHATWG HTML, "Server-sent events"): each event carries the whole record, and the last
 * one is named for how it ended. Silence is broken by comments, so that nothing in between closes the line.
 */
import type { AdminResult, OperationEvent } from '@freehold/directory';

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
 * @param declared makes of a record what may leave.
 */
export function eventsAnswer(
  { status, events }: AdminResult & { readonly events: ReadableStream<OperationEvent> },
  declared: (record: unknown) => unknown,
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

function textOf({ event, record }: OperationEvent, declared: (record: unknown) => unknown): string {
  if (event === 'heartbeat') return ': still there\n\n';
  // JSON has no line breaks of its own, so that one data line holds it.
  return `event: ${event}\ndata: ${JSON.stringify(declared(record))}\n\n`;
}
