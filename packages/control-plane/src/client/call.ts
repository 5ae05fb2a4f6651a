/** One call over HTTP: the request that a declaration asks for, sent until it is answered, and its answer judged. */
import { type Problem, problemSchema } from '@freehold/contracts';
import type { AdminOperation } from '@freehold/directory/declarations';
import { isUnsafe } from '../declared/operations.ts';
import { fillPath } from '../declared/path.ts';
import { ControlPlaneError } from './error.ts';
import { backoffMs, retryDelayMs } from './retry.ts';

export interface ClientOptions {
  /** The control plane's base address, with or without a path. */
  readonly baseUrl: string | URL;
  /** The bearer token, or where to get it before every attempt. */
  readonly token: string | (() => string | Promise<string>);
  /** Default: the global one. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** How many attempts after the first, at most. Default 2. */
  readonly retriesMax?: number;
  /** Waits that many milliseconds; rejects when the signal aborts. Default: a timer. */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** A number from 0 up to 1, for the jitter. Default: the platform's cryptographic source. */
  readonly random?: () => number;
  /** Milliseconds since the epoch, for a `Retry-After` that is a date. Default: the system's clock. */
  readonly now?: () => number;
  /** A fresh idempotency key. Default: a random UUID. */
  readonly newIdempotencyKey?: () => string;
}

export interface CallOptions {
  /** Default: a new one for every unsafe call, the same for all its attempts. Give your own to repeat a call later. */
  readonly idempotencyKey?: string;
  /** The etag that you have seen, without quotes, or `*`. */
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
}

/** The parts of an input, without their types. */
export interface RawInput {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** The bytes of an operation that takes some. They go out once: such a call is not tried again. */
  readonly upload?: Upload | undefined;
}

/** Bytes to send, and what they are. */
export interface Upload {
  readonly mediaType: string;
  readonly content: ReadableStream<Uint8Array> | Uint8Array | Blob;
}

/** An answer with what its headers say. */
export interface ClientResponse<T> {
  readonly value: T;
  readonly status: number;
  readonly requestId: string | null;
  /** The version of the resource, without quotes. */
  readonly etag: string | null;
  /** True when this is the stored answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
  /** The head of the admin log after a mutation. Keep it: it proves what the log held. */
  readonly head: { readonly sequence: number; readonly hash: string } | null;
}

/** Makes calls by declaration, without types: for what is derived from the table, such as a command line. */
export type Caller = (
  operation: AdminOperation,
  input: RawInput,
  options?: CallOptions,
) => Promise<ClientResponse<unknown>>;

const RETRIES_DEFAULT = 2;

/**
 * Builds a {@link Caller}. It rejects with a {@link ControlPlaneError}, with `fetch`'s TypeError when nothing could be
 * reached, with the signal's reason, and with a TypeError for an input that has no address.
 */
export function makeCaller(options: ClientOptions): Caller {
  const { retriesMax = RETRIES_DEFAULT, now = Date.now, random = secureRandom, sleep = sleepFor } = options;
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const newKey = options.newIdempotencyKey ?? (() => crypto.randomUUID());

  return async (operation, input, callOptions = {}) => {
    const url = addressOf(options.baseUrl, operation, input);
    // One key for all attempts is what makes it safe to try an unsafe call again.
    const key = isUnsafe(operation.method) ? (callOptions.idempotencyKey ?? newKey()) : undefined;
    const { signal } = callOptions;
    for (let attempt = 1; ; attempt++) {
      const headers = headersOf(await tokenOf(options.token), key, callOptions.ifMatch);
      const request = requestOf(operation, url, headers, input, signal);
      const answer = await attemptOnce(send, request, operation.bytes !== undefined, signal);
      const waitMs =
        answer instanceof TypeError
          ? backoffMs(attempt, { random })
          : retryDelayMs(answer, attempt, { random, now });
      if (waitMs === null || attempt > retriesMax || input.upload?.content instanceof ReadableStream) {
        if (answer instanceof TypeError) throw answer;
        return processAnswer(operation, answer);
      }
      await sleep(waitMs, signal);
    }
  };
}

/** A response that arrived whole, or whose bytes are still to come. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: ReadableStream<Uint8Array> | null;
}

/** An answer, or the TypeError of a network that failed. An abort, and any other error, goes on to the caller. */
async function attemptOnce(
  send: (request: Request) => Promise<Response>,
  request: Request,
  streams: boolean,
  signal: AbortSignal | undefined,
): Promise<Answer | TypeError> {
  try {
    const response = await send(request);
    const { status, headers } = response;
    if (streams && response.ok) return { status, headers, text: '', body: response.body };
    return { status, headers, text: await response.text(), body: null };
  } catch (error) {
    if (error instanceof TypeError && !signal?.aborted) return error;
    throw error;
  }
}

function addressOf(baseUrl: string | URL, operation: AdminOperation, input: RawInput): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/$/, '')}${fillPath(operation.path, input.params ?? {})}`;
  url.search = '';
  for (const [name, value] of Object.entries(input.query ?? {})) {
    for (const each of [value].flat()) if (each !== undefined) url.searchParams.append(name, String(each));
  }
  return url.href;
}

async function tokenOf(token: ClientOptions['token']): Promise<string> {
  return typeof token === 'string' ? token : token();
}

function headersOf(token: string, key: string | undefined, ifMatch: string | undefined): Headers {
  const headers = new Headers({ accept: 'application/json', authorization: `Bearer ${token}` });
  if (key !== undefined) headers.set('idempotency-key', `"${key.replaceAll(/["\\]/g, '\\$&')}"`);
  if (ifMatch !== undefined) headers.set('if-match', ifMatch === '*' ? '*' : `"${ifMatch}"`);
  return headers;
}

function requestOf(
  operation: AdminOperation,
  url: string,
  headers: Headers,
  { body, upload }: RawInput,
  signal: AbortSignal | undefined,
): Request {
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (upload) headers.set('content-type', upload.mediaType);
  // Named first: workerd streams without `duplex`, and its types do not know the word.
  const content = upload ? { body: upload.content as Blob, duplex: 'half' as const } : {};
  const init = {
    method: operation.method,
    headers,
    // The control plane never redirects; whoever does is not it, and gets no second request with our token.
    redirect: 'manual' as const,
    ...(body === undefined ? content : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  };
  return new Request(url, init);
}

function processAnswer(operation: AdminOperation, answer: Answer): ClientResponse<unknown> {
  const { status, headers, text, body } = answer;
  const requestId = headers.get('x-request-id');
  if (status < 200 || status > 299) {
    const problem = problemOf(headers, text);
    const message =
      problem?.detail ?? `The control plane answered with status ${status} and no problem document.`;
    throw new ControlPlaneError(message, { status, problem, requestId });
  }
  const form = status === 200 && operation.plan ? operation.plan : operation.output;
  const parsed = form.safeParse(saidBy(operation, answer));
  if (!parsed.success || (operation.bytes && !body)) {
    body?.cancel().catch(() => undefined);
    throw new ControlPlaneError(`The answer to ${operation.name} does not have its declared form.`, {
      status,
      problem: null,
      requestId,
    });
  }
  return {
    value: body ? { ...(parsed.data as object), body } : parsed.data,
    status,
    requestId,
    etag: /^(?:W\/)?"(.*)"$/.exec(headers.get('etag') ?? '')?.[1] ?? null,
    replayed: headers.get('idempotency-replayed') === 'true',
    head: headOf(headers.get('x-admin-log-head')),
  };
}

/** What an answer says, not yet judged: its JSON, or what its headers say of its bytes. */
function saidBy({ bytes }: AdminOperation, { status, headers, text }: Answer): unknown {
  if (!bytes) return status === 204 ? null : parseJson(text);
  return Object.fromEntries(Object.entries(bytes.headers).map(([name, field]) => [field, headers.get(name)]));
}

function problemOf(headers: Headers, text: string): Problem | null {
  if (!headers.get('content-type')?.startsWith('application/problem+json')) return null;
  return problemSchema.safeParse(parseJson(text)).data ?? null;
}

/** The value, or undefined, which no declared form accepts. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function headOf(header: string | null): ClientResponse<unknown>['head'] {
  const parts = /^(\d+):(.+)$/.exec(header ?? '');
  return parts ? { sequence: Number(parts[1]), hash: parts[2] as string } : null;
}

function secureRandom(): number {
  return (crypto.getRandomValues(new Uint32Array(1))[0] as number) / 2 ** 32;
}

function sleepFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
