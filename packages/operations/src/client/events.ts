/** The events of a call, read to their end: each step on its way to the caller, and the last one as the answer that it is. */
import { parseJson } from './problem.ts';

export const EVENT_STREAM = 'text/event-stream';

/** The answer had begun, and broke off before its end. What became of the call is not known. */
export class ConnectionBroken extends TypeError {
  override readonly name = 'ConnectionBroken';
}

/**
 * The longest silence of a live connection. The control plane sends something every fifteen seconds: after three times
 * that the connection is dead, although no end of it was received, as when a network was taken away.
 */
const SILENCE_MAX_MS = 3 * 15_000;

/** The answer of the same call without events. */
export interface EndedCall {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Reads the events of an answer.
 * @param onProgress told the JSON of each step.
 * @throws ConnectionBroken when they stop before their end, or nothing comes for 45 seconds; the signal's reason when it
 * aborts.
 */
export async function readToEnd(
  response: Response,
  onProgress: (step: unknown) => void,
  signal: AbortSignal | undefined,
): Promise<EndedCall> {
  for await (const { event, data, id } of eventsOf(response, signal)) {
    if (event === 'progress') onProgress(parseJson(data));
    const headers = new Headers(response.headers);
    if (event === 'done') {
      headers.delete('x-admin-log-head');
      if (id !== '') headers.set('x-admin-log-head', id);
      return { status: response.status, headers, text: data };
    }
    if (event === 'failed') {
      headers.set('content-type', 'application/problem+json');
      const { status } = Object(parseJson(data)) as { readonly status?: unknown };
      return { status: typeof status === 'number' ? status : 500, headers, text: data };
    }
  }
  throw new ConnectionBroken('The connection broke off before the call had ended.');
}

interface ServerEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string;
}

/** Server-sent events (WHATWG HTML, "Interpreting an event stream"), as far as the control plane uses them. */
async function* eventsOf(
  response: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<ServerEvent, void, undefined> {
  let rest = '';
  for await (const chunk of textOf(response, signal)) {
    const blocks = `${rest}${chunk}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) yield eventOf(block);
  }
}

async function* textOf(
  response: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  const stop = (): void => void reader?.cancel().catch(() => undefined);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const read = await heardInTime(reader?.read()).catch((cause: unknown) => {
        signal?.throwIfAborted();
        if (cause instanceof ConnectionBroken) throw cause;
        throw new ConnectionBroken('The connection broke off before the call had ended.', { cause });
      });
      signal?.throwIfAborted();
      if (!read || read.done) return;
      yield decoder.decode(read.value, { stream: true });
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    // The rest is not wanted; after the end there is nothing to cancel.
    stop();
  }
}

/** The next chunk, or a {@link ConnectionBroken} when it takes too long. */
async function heardInTime<T>(coming: Promise<T> | undefined): Promise<T | undefined> {
  const silent = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    silent.reject(new ConnectionBroken('The connection fell silent before the call had ended.'));
  }, SILENCE_MAX_MS);
  try {
    return await Promise.race([coming, silent.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function eventOf(block: string): ServerEvent {
  const fields = block.split('\n').map((line): [string, string] => {
    const [name = '', ...value] = line.split(': ');
    return [name, value.join(': ')];
  });
  const { event = 'message', data = '', id = '' } = Object.fromEntries(fields);
  return { event, data, id };
}
