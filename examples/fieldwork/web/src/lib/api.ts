/**
 * The typed client: every operation by its name, with the types of its own declaration, and the few routes around
 * them. Failures become {@link ApiError}s whose message is a sentence for the person in front of the screen.
 */
import {
  type Answer,
  ApiError,
  apiErrorOf,
  type CallOptions,
  makeOperationsClient,
  type OperationInput,
  type OperationOutput,
  unreachable,
} from '@freehold/vertical-host/operations-client';
import { ADDRESSES, type AddressedOperation } from '../../../src/lib/addresses.ts';
import type { operations } from '../../../src/vertical/operations.ts';

type Operations = typeof operations;
export type Input<N extends AddressedOperation> = OperationInput<Operations, N>;
export type Output<N extends AddressedOperation> = OperationOutput<Operations, N>;

export type Order = Output<'order/get'>;
export type OrderSummary = Output<'order/list'>['items'][number];
export type Customer = Output<'customer/get'>;
export type Site = Output<'site/get'>;
export type Note = Output<'order/note-list'>['items'][number];
export type Rates = Output<'rates/get'>;
export type Reminder = Output<'reminder/list'>['items'][number];

export type WidgetSites = Output<'widget/get'>;
export type AppointmentRequest = Output<'request/list'>['items'][number];

export { type Answer, ApiError, apiErrorOf, type CallOptions };

/** Told of every 401, so that a session that ended elsewhere is noticed on the next click. */
let onSignedOut: () => void = () => undefined;
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

const client = makeOperationsClient<Operations>(ADDRESSES, { onUnauthenticated: () => onSignedOut() });

/** Calls an operation. What a filter leaves empty is not asked for. @throws ApiError */
export function call<N extends AddressedOperation>(
  name: N,
  input: Input<N>,
  options?: CallOptions,
): Promise<Answer<Output<N>>> {
  const given = ADDRESSES[name].method === 'GET' ? withoutBlanks(input) : input;
  return client.call(name, given, options);
}

/** Reads one of the routes around the operations. @throws ApiError */
export async function get<T>(path: string, options?: CallOptions): Promise<T> {
  return (await client.request<T>('GET', path, undefined, options)).value;
}

/** Posts to one of the routes around the operations. @throws ApiError */
export async function post<T>(path: string, body: object = {}, options?: CallOptions): Promise<T> {
  return (await client.request<T>('POST', path, body, options)).value;
}

export interface UploadOptions {
  /** Told how much has left, from 0 to 1. */
  readonly onProgress: (fraction: number) => void;
  /** Calls it off; the promise then rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/**
 * Sends a file as it is, with its name in the query. XMLHttpRequest, because only it reports progress.
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
    else reject(refused(request.status, request.response));
  };
  request.onerror = () => reject(unreachable());
  request.onabort = () => reject(signal.reason);
  signal.addEventListener('abort', () => request.abort(), { once: true });
  request.send(file);
  return promise;
}

export interface EventOptions<T> {
  /** Told of each message when it comes. */
  readonly onMessage: (message: T) => void;
  /** Calls it off; the promise then rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** Posts, and takes the answer as server-sent events, each of them one line of JSON. @throws ApiError */
export async function postForEvents<T>(
  path: string,
  body: object,
  { onMessage, signal }: EventOptions<T>,
): Promise<void> {
  try {
    const response = await fetch(path, {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
    if (!response.ok || !response.body)
      throw refused(response.status, await response.json().catch(() => null));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) onMessage(JSON.parse(part.replace(/^data: /, '')) as T);
    }
  } catch (failure) {
    throw signal.aborted || failure instanceof ApiError ? failure : unreachable();
  }
}

/** A fresh idempotency key: one for each press of a button. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

function refused(status: number, body: unknown): ApiError {
  if (status === 401) onSignedOut();
  return apiErrorOf(status, body);
}

function withoutBlanks<T>(input: T): T {
  return Object.fromEntries(
    Object.entries(input as Record<string, unknown>).filter(([, value]) => value !== ''),
  ) as T;
}
