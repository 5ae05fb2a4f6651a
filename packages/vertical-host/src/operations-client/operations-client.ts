/** Calls of declared operations over HTTP, as `mountOperations` takes them (spec 4.5). */
import { fillPath, type HttpBinding, type OperationTable, queryOf } from '@freehold/operations';
import type { z } from 'zod';
import { apiErrorOf, unreachable } from './api-error.ts';

/**
 * Where operations are reached that say so themselves; the others are at `POST /api/op/<name>`. `freehold client`
 * writes this table, and a vertical that keeps its addresses in a table of their own can pass that.
 */
export type OperationAddresses<T extends OperationTable> = {
  readonly [N in keyof T & string]?: HttpBinding;
};

/** What a caller writes: defaults may be left out. */
export type OperationInput<T extends OperationTable, N extends keyof T> = z.input<T[N]['input']>;
export type OperationOutput<T extends OperationTable, N extends keyof T> = z.output<T[N]['output']>;

/** What was answered, with the version to name in `ifMatch` when changing it; null where there is none. */
export interface Answer<T> {
  readonly value: T;
  readonly version: string | null;
  /** The recorded call; null for a read. */
  readonly invocation: string | null;
  /** True when this is the stored answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
}

export interface CallOptions {
  /** Refuses the change when the record is no longer at this version. */
  readonly ifMatch?: string | null | undefined;
  /** Makes a repeated call the same call: one key for each press of a button. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface OperationsClientOptions {
  /** The origin that is called. Default: the page's own, with its cookies. */
  readonly baseUrl?: string;
  /** Default: the browser's. */
  readonly fetch?: (address: string, init: RequestInit) => Promise<Response>;
  /** Sent with every call: `authorization`, for a front end without cookies. */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** Told of every 401, so that a session that ended elsewhere is noticed on the next click. */
  readonly onUnauthenticated?: () => void;
}

export interface OperationsClient<T extends OperationTable> {
  /**
   * Calls an operation.
   * @throws ApiError when it is refused or nobody answers; the signal's reason when it is aborted; TypeError for a path
   * field that no address can carry (empty, `.` and `..`).
   */
  call<N extends keyof T & string>(
    name: N,
    input: OperationInput<T, N>,
    options?: CallOptions,
  ): Promise<Answer<OperationOutput<T, N>>>;
  /**
   * Reaches one of the application's routes around the operations. Its type is the caller's claim: nothing checks it.
   * @throws as {@link call}.
   */
  request<V>(method: string, path: string, body?: object, options?: CallOptions): Promise<Answer<V>>;
}

/** @typeParam T the table of operations: `makeOperationsClient<typeof operations>(ADDRESSES)`, with `import type`. */
export function makeOperationsClient<T extends OperationTable>(
  addresses: OperationAddresses<T>,
  options: OperationsClientOptions = {},
): OperationsClient<T> {
  const { baseUrl = '', headers = () => ({}), onUnauthenticated = () => undefined } = options;
  const send = options.fetch ?? ((address: string, init: RequestInit) => fetch(address, init));

  const request = async <V>(
    method: string,
    path: string,
    body?: object,
    { ifMatch, idempotencyKey, signal }: CallOptions = {},
  ): Promise<Answer<V>> => {
    const response = await send(`${baseUrl}${path}`, {
      method,
      headers: {
        accept: 'application/json',
        ...headers(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch == null ? {} : { 'if-match': ifMatch }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    }).catch((failure: unknown) => {
      if (signal?.aborted) throw failure;
      throw unreachable();
    });
    if (response.status === 401) onUnauthenticated();
    if (!response.ok) throw apiErrorOf(response.status, await response.json().catch(() => null));
    return {
      value: (response.status === 204 ? null : await response.json()) as V,
      version: response.headers.get('etag'),
      invocation: response.headers.get('x-invocation-id'),
      replayed: response.headers.get('idempotency-replayed') === 'true',
    };
  };

  return {
    request,
    call: async (name, input, callOptions) => {
      const { method, path } = addresses[name] ?? { method: 'POST', path: `/api/op/${name}` };
      const { address, rest } = fillPath(path, input as Readonly<Record<string, unknown>>);
      return method === 'GET'
        ? request(method, `${address}${queryOf(rest)}`, undefined, callOptions)
        : request(method, address, rest, callOptions);
    },
  };
}
