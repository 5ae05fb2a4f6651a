/** A model host in a test, with a server in the provider's place. */
import { PlatformError } from '@freehold/contracts';
import {
  createModelHost,
  type ModelAttribution,
  type ModelHostOptions,
  type ModelRequest,
  type ModelUsageLine,
} from '../../src/model/index.ts';
import { listen } from '../mcp/listen.ts';
import type { Wire } from './wires.ts';

export const ATTRIBUTION: ModelAttribution = {
  tenant: 'tnt_pipes',
  scope: 'scp_north',
  vertical: 'fieldwork',
  version: 'ver_7',
  operation: 'order/summarise',
};

export const PROMPT = 'What happened to the order of Mrs Private?';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export interface Provider {
  readonly origin: string;
  readonly seen: readonly Seen[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** A provider on a socket of this machine. */
export async function provider(
  answer: (seen: Seen, count: number, signal: AbortSignal) => Response | Promise<Response>,
): Promise<Provider> {
  const seen: Seen[] = [];
  const server = await listen(async (request) => {
    const { pathname, search } = new URL(request.url);
    const body = (await request.json()) as Record<string, unknown>;
    const one = { method: request.method, path: pathname + search, headers: request.headers, body };
    seen.push(one);
    return answer(one, seen.length, request.signal);
  });
  return { origin: server.origin, seen, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** A port without a listener. */
export async function deserted(): Promise<string> {
  await using server = await listen(() => new Response());
  return server.origin;
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(typeof body === 'string' ? body : JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });

/** Server-sent events, one write each. `last` decides how the connection ends. */
export function sse(pieces: readonly string[], last: 'end' | 'hang' = 'end'): Response {
  let i = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = pieces[i++];
      if (piece !== undefined) return controller.enqueue(new TextEncoder().encode(piece));
      if (last === 'end') return controller.close();
      await new Promise(() => undefined);
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

/** A host for a wire, and the log of what it did: `guard`, `record`, and what the test adds. */
export function hostFor(
  wire: Pick<Wire, 'env' | 'spec'>,
  origin: string,
  options: Partial<ModelHostOptions> = {},
) {
  const log: string[] = [];
  const lines: ModelUsageLine[] = [];
  const host = createModelHost({
    env: wire.env(origin),
    guard: () => void log.push('guard'),
    record: (line) => {
      log.push('record');
      lines.push(line);
    },
    ...options,
  });
  const ask = (more: Partial<ModelRequest> = {}): ModelRequest => ({
    spec: wire.spec,
    attribution: ATTRIBUTION,
    system: 'Be short.',
    prompt: PROMPT,
    maxOutputTokens: 100,
    ...more,
  });
  return { host, ask, log, lines };
}

/** The rejection of a promise, or an error when it does not reject. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

export async function refusalOf(promise: Promise<unknown>): Promise<PlatformError> {
  const failure = await failureOf(promise);
  if (failure instanceof PlatformError) return failure;
  throw new Error('not a refusal', { cause: failure });
}

/** The whole text of an error, printed with all its causes. */
export function wordsOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const own = Object.getOwnPropertyNames(error).map((key) => (error as Record<string, unknown>)[key]);
  return [
    String(error),
    ...own.map((value) => (typeof value === 'object' ? wordsOf(value) : String(value))),
  ].join('\n');
}

export async function textOf(stream: ReadableStream<string>): Promise<string> {
  let text = '';
  for await (const piece of stream) text += piece;
  return text;
}

/** A timer that fires when the test says so. */
export function handTimer() {
  const waiting = new Set<() => void>();
  let onArmed = Promise.withResolvers<void>();
  return {
    setTimer: (_ms: number, fire: () => void) => {
      waiting.add(fire);
      onArmed.resolve();
      return () => {
        if (waiting.delete(fire)) onArmed = Promise.withResolvers();
      };
    },
    /** Settles when the timer runs. */
    armed: () => onArmed.promise,
    fire: () => {
      for (const each of [...waiting]) {
        waiting.delete(each);
        each();
      }
    },
    isSet: () => waiting.size > 0,
  };
}
