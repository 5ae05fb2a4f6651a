/** One call over HTTP: the request of a declaration, sent until it is answered, and the check of its answer. */
import type { Problem, ProblemCode } from '@freehold/contracts';
import type { AdminOperation } from '@freehold/directory/declarations';
import { fillPath, queryOf } from '@freehold/operations';
import {
  type Answer,
  ConnectionBroken,
  EVENT_STREAM,
  parseJson,
  problemOf,
  type RetryOptions,
  readToEnd,
  untilAnswered,
  versionIn,
} from '@freehold/operations/client';
import { answerForm, takesIdempotencyKey } from '../declared/operations.ts';

export interface ClientOptions extends RetryOptions {
  /** The control plane's base address, with or without a path. */
  readonly baseUrl: string | URL;
  /** The bearer token, or a function that returns it before every attempt. */
  readonly token: string | (() => string | Promise<string>);
  /** Default: the global one. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** A fresh idempotency key. Default: a random UUID. */
  readonly newIdempotencyKey?: () => string;
}

export interface CallOptions {
  /**
   * Default: a new one for every call that changes something, the same for all its attempts. Give one to repeat a call
   * later. A read goes out without one.
   */
  readonly idempotencyKey?: string;
  /** The etag of the version that the caller has read, without quotes, or `*`. */
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
}

/**
 * For a call that reports its steps. It is sent asking for events, and resolves to the answer without them. A retry
 * reports all steps again. The status is that of the events, 200.
 */
export interface FollowOptions<Step = unknown> extends CallOptions {
  readonly onProgress?: (step: Step) => void;
}

/** The parts of an input, without their types. */
export interface RawInput {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** The bytes of an operation that takes some. A call with bytes is not retried. */
  readonly upload?: Upload | undefined;
  /** The files of an operation that takes a form; the body is then sent as one. */
  readonly files?: readonly FormFile[] | undefined;
}

/** Bytes to send, with their media type. */
export interface Upload {
  readonly mediaType: string;
  readonly content: ReadableStream<Uint8Array> | Uint8Array | Blob;
}

/** An answer with its headers. */
export interface ClientResponse<T> {
  readonly value: T;
  readonly status: number;
  readonly requestId: string | null;
  /** The version of the resource, without quotes. */
  readonly etag: string | null;
  /** True when this is the stored answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
  /** The head of the admin log after a mutation. Keep it: it proves the state of the log. */
  readonly head: { readonly sequence: number; readonly hash: string } | null;
}

/** Makes calls by declaration, without types, for derived programs such as a command line. */
export type Caller = (
  operation: AdminOperation,
  input: RawInput,
  options?: FollowOptions,
) => Promise<ClientResponse<unknown>>;

/**
 * Builds a {@link Caller}. It rejects with a {@link ControlPlaneError}, with `fetch`'s TypeError for a network
 * failure, with the signal's reason, and with a TypeError for an input that has no address.
 */
export function makeCaller(options: ClientOptions): Caller {
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const newKey = options.newIdempotencyKey ?? (() => crypto.randomUUID());

  return async (operation, input, callOptions = {}) => {
    const url = addressOf(options.baseUrl, operation, input);
    // All attempts have one key, so that the retry of an unsafe call is safe.
    const key = takesIdempotencyKey(operation) ? (callOptions.idempotencyKey ?? newKey()) : undefined;
    const { signal } = callOptions;
    const follows = listenerOf(operation, callOptions);
    const attempt = async (): Promise<Answer | TypeError> => {
      const headers = headersOf(await tokenOf(options.token), key, callOptions.ifMatch);
      if (follows) headers.set('accept', `${EVENT_STREAM}, application/json;q=0.9`);
      const request = requestOf(operation, url, headers, input, signal);
      return attemptOnce(send, request, { streams: operation.bytes !== undefined, follows }, signal);
    };
    // A stream can be sent only once.
    const isOnce = input.upload?.content instanceof ReadableStream;
    const answer = await untilAnswered(attempt, isOnce ? { ...options, retriesMax: 0 } : options, signal);
    return processAnswer(operation, answer);
  };
}

/** The listener for the steps of a call, each in its declared form. Unknown steps are left out. */
function listenerOf(
  { events }: AdminOperation,
  { onProgress }: FollowOptions,
): ((step: unknown) => void) | undefined {
  if (typeof events !== 'object' || !onProgress) return undefined;
  return (step) => {
    const parsed = events.progress.safeParse(step);
    if (parsed.success) onProgress(parsed.data);
  };
}

/**
 * Returns an answer, or the TypeError of a network failure. Every other error, an abort included, goes on to the
 * caller.
 */
async function attemptOnce(
  send: (request: Request) => Promise<Response>,
  request: Request,
  {
    streams,
    follows,
  }: { readonly streams: boolean; readonly follows: ((step: unknown) => void) | undefined },
  signal: AbortSignal | undefined,
): Promise<Answer | TypeError> {
  let response: Response;
  try {
    response = await send(request);
    const { status, headers } = response;
    if (streams && response.ok) return { status, headers, text: '', body: response.body };
    if (!follows || headers.get('content-type') !== EVENT_STREAM)
      return { status, headers, text: await response.text(), body: null };
  } catch (error) {
    if (error instanceof TypeError && !signal?.aborted) return error;
    throw error;
  }
  try {
    return { ...(await readToEnd(response, follows, signal)), body: null };
  } catch (error) {
    // A TypeError of the listener is the listener's own.
    if (error instanceof ConnectionBroken) return error;
    throw error;
  }
}

function addressOf(
  baseUrl: string | URL,
  { path }: AdminOperation,
  { params = {}, query }: RawInput,
): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/$/, '')}${fillPath(path, params).address}`;
  url.search = queryOf(query);
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
  { body, upload, files }: RawInput,
  signal: AbortSignal | undefined,
): Request {
  // A form brings its media type by itself, with its boundary.
  const json = files ? undefined : body;
  if (json !== undefined) headers.set('content-type', 'application/json');
  if (upload) headers.set('content-type', upload.mediaType);
  // A variable, because workerd streams without `duplex` and its types do not know the word.
  const bytes = upload ? { body: upload.content as Blob, duplex: 'half' as const } : {};
  const content = files ? { body: formOf({ body }, files) } : bytes;
  const init = {
    method: operation.method,
    headers,
    // The control plane never redirects. A server that does is another one, and must not get our token.
    redirect: 'manual' as const,
    ...(json === undefined ? content : { body: JSON.stringify(json) }),
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
  const said = saidBy(operation, answer);
  const parsed = answerForm(operation, status, said).safeParse(said);
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
    etag: versionIn(headers),
    replayed: headers.get('idempotency-replayed') === 'true',
    head: headOf(headers.get('x-admin-log-head')),
  };
}

/** The unchecked value of an answer: its JSON, or the headers that describe its bytes. */
function saidBy({ bytes }: AdminOperation, { status, headers, text }: Answer): unknown {
  if (!bytes) return status === 204 ? null : parseJson(text);
  return Object.fromEntries(Object.entries(bytes.headers).map(([name, field]) => [field, headers.get(name)]));
}

function headOf(header: string | null): ClientResponse<unknown>['head'] {
  const parts = /^(\d+):(.+)$/.exec(header ?? '');
  return parts ? { sequence: Number(parts[1]), hash: parts[2] as string } : null;
}

/**
 * The control plane refused, or the answer was not one of a control plane. When it cannot be reached, `fetch`'s own
 * TypeError is thrown instead.
 */
export class ControlPlaneError extends Error {
  override readonly name = 'ControlPlaneError';
  /** The HTTP status. */
  readonly status: number;
  /** The problem document; null when the answer was none (a proxy's page, an answer of another form). */
  readonly problem: Problem | null;
  /** The id to report to the operator of the control plane; null when the answer had none. */
  readonly requestId: string | null;

  constructor(message: string, answer: Pick<ControlPlaneError, 'status' | 'problem' | 'requestId'>) {
    super(message);
    this.status = answer.status;
    this.problem = answer.problem;
    this.requestId = answer.requestId;
  }

  /** The closed code of the problem; null when there is no problem document. */
  get code(): ProblemCode | null {
    return this.problem?.code ?? null;
  }

  /** The narrower reason, where there is one. */
  get reason(): string | null {
    return this.problem?.reason ?? null;
  }
}

/** One file of a form. Its name may hold directories. */
export interface FormFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Uint8Array<ArrayBuffer> | Blob | string;
}

/** The field `meta` holds everything but the files, and each other part is a file. */
export function formOf({ body = {} }: Pick<RawInput, 'body'>, files: readonly FormFile[]): FormData {
  const form = new FormData();
  form.set('meta', JSON.stringify(body));
  for (const { name, mediaType, content } of files)
    form.append('file', new File([content], name, { type: mediaType }));
  return form;
}
