/**
 * The typed client: every operation by its name, with the types of its own declaration, and the few routes around
 * them. Failures become {@link ApiError}s whose message is a sentence for the person in front of the screen.
 */
import type { Problem } from '@freehold/contracts';
import type { z } from 'zod';
import { ADDRESSES, type AddressedOperation } from '../../src/addresses.ts';
import type { operations } from '../../src/operations.ts';

type Operations = typeof operations;
export type Input<N extends AddressedOperation> = z.input<Operations[N]['input']>;
export type Output<N extends AddressedOperation> = z.output<Operations[N]['output']>;

export type Order = Output<'order/get'>;
export type OrderSummary = Output<'order/list'>['items'][number];
export type Customer = Output<'customer/get'>;
export type Site = Output<'site/get'>;
export type Note = Output<'order/note-list'>['items'][number];
export type Rates = Output<'rates/get'>;
export type Reminder = Output<'reminder/list'>['items'][number];

/** What was answered, with the version to name in `ifMatch` when changing it. */
export interface Answer<T> {
  readonly value: T;
  readonly version: string | null;
}

export interface CallOptions {
  /** Refuses the change when the record is no longer at this version. */
  readonly ifMatch?: string | null | undefined;
  /** Makes a repeated call the same call. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A failure to tell. `code` is the problem's, or `unreachable` when no answer came. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: Problem['code'] | 'unreachable';
  readonly status: number;
  readonly reason: string | undefined;
  /** Field name → what is wrong with it. */
  readonly fields: ReadonlyMap<string, string>;

  constructor(
    status: number,
    problem: Pick<Partial<Problem>, 'reason' | 'errors'> & {
      readonly code: Problem['code'] | 'unreachable';
      readonly detail: string;
    },
  ) {
    super(problem.detail);
    this.status = status;
    this.code = problem.code;
    this.reason = problem.reason;
    this.fields = new Map(problem.errors?.map(({ path, message }) => [path, message]));
  }
}

/** Told of every 401, so that a session that ended elsewhere is noticed on the next click. */
let onSignedOut: () => void = () => undefined;
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/** Calls an operation. @throws ApiError */
export async function call<N extends AddressedOperation>(
  name: N,
  input: Input<N>,
  options: CallOptions = {},
): Promise<Answer<Output<N>>> {
  const { method, path } = ADDRESSES[name];
  const { address, rest } = fillPath(path, input as Record<string, unknown>);
  return request(method, method === 'GET' ? `${address}${queryOf(rest)}` : address, {
    ...options,
    body: method === 'GET' ? undefined : rest,
  }) as Promise<Answer<Output<N>>>;
}

/** Reads one of the routes around the operations. @throws ApiError */
export async function get<T>(path: string, options: CallOptions = {}): Promise<T> {
  return (await request('GET', path, options)).value as T;
}

/** Posts to one of the routes around the operations. @throws ApiError */
export async function post<T>(path: string, body: object = {}, options: CallOptions = {}): Promise<T> {
  return (await request('POST', path, { ...options, body })).value as T;
}

export interface UploadOptions {
  /** Told how much has left, from 0 to 1. */
  readonly onProgress: (fraction: number) => void;
  /** Calls it off; the promise then rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/**
 * Sends a file as it is, with its name in the query. The older way of asking, because only it tells how far it is.
 * @throws ApiError
 */
export function upload(address: string, file: File, { onProgress, signal }: UploadOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const request = new XMLHttpRequest();
  request.open('POST', `${address}?filename=${encodeURIComponent(file.name)}`);
  request.setRequestHeader('accept', 'application/json');
  request.setRequestHeader('content-type', file.type || 'application/octet-stream');
  request.responseType = 'json';
  request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
  request.onload = () => {
    if (request.status < 300) resolve();
    else reject(errorOf(request.status, request.response));
  };
  request.onerror = () => reject(unreachable());
  request.onabort = () => reject(signal.reason);
  signal.addEventListener('abort', () => request.abort(), { once: true });
  request.send(file);
  return promise;
}

/** A fresh idempotency key: one for each press of a button. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

async function request(
  method: string,
  address: string,
  options: CallOptions & { readonly body?: object | undefined },
): Promise<Answer<unknown>> {
  const response = await fetch(address, {
    method,
    headers: {
      accept: 'application/json',
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(options.ifMatch == null ? {} : { 'if-match': options.ifMatch }),
      ...(options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey }),
    },
    body: options.body === undefined ? null : JSON.stringify(options.body),
    signal: options.signal ?? null,
  }).catch((failure: unknown) => {
    if (options.signal?.aborted) throw failure;
    throw unreachable();
  });
  if (!response.ok) throw await toError(response);
  return {
    value: response.status === 204 ? null : await response.json(),
    version: response.headers.get('etag'),
  };
}

async function toError(response: Response): Promise<ApiError> {
  return errorOf(response.status, await response.json().catch(() => null));
}

function errorOf(status: number, body: unknown): ApiError {
  if (status === 401) onSignedOut();
  if (typeof body === 'object' && body !== null && 'code' in body && 'detail' in body) {
    return new ApiError(status, body as Problem);
  }
  return new ApiError(status, {
    code: status === 503 ? 'unavailable' : 'internal',
    detail: 'Something went wrong on our side. Try again in a moment.',
  });
}

function unreachable(): ApiError {
  return new ApiError(0, {
    code: 'unreachable',
    detail: 'The server cannot be reached. Check your connection and try again.',
  });
}

function fillPath(
  path: string,
  input: Record<string, unknown>,
): { address: string; rest: Record<string, unknown> } {
  const rest = { ...input };
  const address = path.replaceAll(/:(\w+)/g, (_all, name: string) => {
    const value = String(rest[name]);
    delete rest[name];
    return encodeURIComponent(value);
  });
  return { address, rest };
}

function queryOf(fields: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
