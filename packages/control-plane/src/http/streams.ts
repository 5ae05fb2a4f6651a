/**
 * Answers that are streams. Bytes: their description travels in the headers that the declaration names. Server-sent
 * events (WHATWG HTML): the last event is named for the end of the work, and has the head of the admin log as its id;
 * comments break the silence, so that no proxy closes the connection.
 */
import type { AdminResult, OperationEvent } from '@freehold/directory';
import type { BytesAnswer } from '@freehold/directory/declarations';
import type { Fields } from '../declared/operations.ts';

/**
 * Renders an answer of bytes, streamed as the caller reads. A HEAD gets the headers, and the bytes are cancelled.
 * @param value of the declared form.
 * @throws TypeError when there are no bytes, or no media type for them: our bug. The bytes are cancelled then too.
 */
export async function bytesAnswer(
  { mediaType, headers: declared }: BytesAnswer,
  { status, body }: AdminResult,
  value: Fields,
  { request, headers }: { readonly request: Request; readonly headers: Headers },
): Promise<Response> {
  if (!body) throw new TypeError('an operation that answers bytes answered none');
  const type = mediaType.types[String(value[mediaType.field])];
  if (type === undefined) {
    await body.cancel().catch(() => undefined);
    throw new TypeError('an operation answered bytes of no declared media type');
  }
  headers.set('content-type', type);
  // A browser must not show a tenant's bytes as a page of our origin.
  headers.set('content-disposition', 'attachment');
  for (const [name, field] of Object.entries(declared)) {
    const said = value[field];
    if (said !== null && said !== undefined) headers.set(name, String(said));
  }
  if (request.method !== 'HEAD') return new Response(body, { status, headers });
  await body.cancel().catch(() => undefined);
  return new Response(null, { status, headers });
}

type CallEvent = OperationEvent<unknown>;

export const EVENT_STREAM = 'text/event-stream';

/** Whether a request asks for events: it names their type with a quality above 0. */
export function acceptsEvents(headers: Headers): boolean {
  return (headers.get('accept') ?? '').split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === EVENT_STREAM && !parameters.some((each) => /^q=0(?:\.0*)?$/.test(each));
  });
}

/**
 * Renders the events of a result. They end with the work, or when the reader leaves.
 * @param declared passes a record through its declared form.
 */
export function eventsAnswer(
  { status, events }: AdminResult & { readonly events: ReadableStream<CallEvent> },
  declared: (event: CallEvent) => unknown,
  headers: Headers,
): Response {
  headers.set('content-type', EVENT_STREAM);
  // Nginx would buffer the stream.
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
  const id = event.head ? `id: ${event.head.sequence}:${event.head.hash}\n` : '';
  // JSON has no line breaks, so that one data line holds it.
  return `${id}event: ${event.event}\ndata: ${JSON.stringify(declared(event))}\n\n`;
}
