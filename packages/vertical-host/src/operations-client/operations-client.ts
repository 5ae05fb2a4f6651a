/** Calls of declared operations over HTTP, as `mountOperations` takes them (spec 4.5). */
import type { Problem, ProblemCode } from '@freehold/contracts';
import { fillPath, type HttpBinding, type OperationTable, queryOf } from '@freehold/operations';
import type { z } from 'zod';

/**
 * The addresses of operations that declare one; the others are at `POST /api/op/<name>`. `freehold client` writes this
 * table, and a vertical that has its addresses in a table of their own can pass that.
 */
export type OperationAddresses<T extends OperationTable> = {
  readonly [N in keyof T & string]?: HttpBinding;
};

/** The input of a caller: defaults may be left out. */
export type OperationInput<T extends OperationTable, N extends keyof T> = z.input<T[N]['input']>;
export type OperationOutput<T extends OperationTable, N extends keyof T> = z.output<T[N]['output']>;

/** The answer, with the version for `ifMatch` in a later change; null where there is none. */
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
  /** Makes a repeat the same call: one key for each press of a button. */
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
  /** Called for every 401, so that the page notices a session that ended elsewhere. */
  readonly onUnauthenticated?: () => void;
}

export interface OperationsClient<T extends OperationTable> {
  /**
   * Calls an operation.
   * @throws ApiError when it is refused or no answer comes; the signal's reason when it is aborted; TypeError for a
   * path field that no address can carry (empty, `.` and `..`).
   */
  call<N extends keyof T & string>(
    name: N,
    input: OperationInput<T, N>,
    options?: CallOptions,
  ): Promise<Answer<OperationOutput<T, N>>>;
  /**
   * Calls another route of the application. Its type is the caller's claim, and is not checked.
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

/** The problem's code, or `unreachable` when no answer came. */
export type ApiErrorCode = ProblemCode | 'unreachable';

/** A failure to show: `message` is the problem's `detail`. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0 when no answer came. */
  readonly status: number;
  readonly code: ApiErrorCode;
  readonly reason: string | undefined;
  /** Path of an input field → the fault in it. */
  readonly fields: ReadonlyMap<string, string>;
  /** For a report to the operator; null when the answer has none. */
  readonly requestId: string | null;

  constructor(
    status: number,
    problem: Pick<Partial<Problem>, 'reason' | 'errors' | 'requestId'> & {
      readonly code: ApiErrorCode;
      readonly detail: string;
    },
  ) {
    super(problem.detail);
    this.status = status;
    this.code = problem.code;
    this.reason = problem.reason;
    this.fields = new Map(problem.errors?.map(({ path, message }) => [path, message]));
    this.requestId = problem.requestId ?? null;
  }
}

/** The error of an answer without success: its status, and its body as JSON or null. */
export function apiErrorOf(status: number, body: unknown): ApiError {
  if (isProblem(body)) return new ApiError(status, body);
  // The answer is not the application's: a proxy, or a server that is being replaced.
  const isBusy = [502, 503, 504].includes(status);
  return new ApiError(status, {
    code: isBusy ? 'unavailable' : 'internal',
    detail: isBusy
      ? 'The application cannot be reached right now. Try again in a moment.'
      : 'Something went wrong on our side. Try again in a moment.',
  });
}

/** No answer came. */
export function unreachable(): ApiError {
  return new ApiError(0, {
    code: 'unreachable',
    detail: 'The server cannot be reached. Check your connection and try again.',
  });
}

function isProblem(body: unknown): body is Problem {
  return (
    typeof body === 'object' &&
    body !== null &&
    'code' in body &&
    typeof body.code === 'string' &&
    'detail' in body &&
    typeof body.detail === 'string'
  );
}
