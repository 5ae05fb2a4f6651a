/**
 * A declared operation: data plus a function. Its route, validation, OpenAPI entry, MCP tool and client method
 * are all derived from this one declaration (design: architecture, "One declaration per operation").
 */
import { z } from 'zod';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The record that an operation, a permission or an event is about. */
export interface EntityRef {
  readonly type: string;
  readonly id: string;
}

export const entityRef = z.strictObject({ type: z.string().min(1).max(64), id: z.string().min(1).max(128) });

/** Where an operation is reached over HTTP. Path parameters (`/orders/:id`) and, for GET, the query are input fields. */
export interface HttpBinding {
  readonly method: HttpMethod;
  readonly path: string;
}

/**
 * One operation of a vertical, without its context: `Ctx` is what the kernel hands to `run`.
 * `run` is synchronous; a promise is refused.
 */
export interface OperationDeclaration<
  Ctx = unknown,
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
> {
  /** One line for people: the title in the documentation and the MCP tool list. */
  readonly summary: string;
  readonly description?: string;
  readonly input: I;
  readonly output: O;
  /** The permission that the caller needs, checked before `run`; narrowed to `entity` when there is one. */
  readonly permission: string;
  /**
   * The record this operation is about. It narrows the permission check, and its version (the id of the last
   * event on it) is the operation's ETag.
   */
  readonly entity?: (input: z.output<I>) => EntityRef;
  /** Default: `POST /api/op/<name>`. */
  readonly http?: HttpBinding;
  /** True when `run` changes nothing: no invocation is recorded. Default: true exactly for `http.method` GET. */
  readonly readOnly?: boolean;
  /** False keeps the operation out of the MCP tool list. */
  readonly mcp?: false | { readonly title?: string; readonly destructive?: boolean };
  readonly run: (ctx: Ctx, input: z.output<I>) => z.input<O>;
}

/** The declarations of one vertical, by name: `order/create`. */
// biome-ignore lint/suspicious/noExplicitAny: a table of declarations mixes contexts and schemas; each was checked where it was declared.
export type OperationTable = Readonly<Record<string, OperationDeclaration<any, any, any>>>;

/** Operation names are `noun/verb`, lower case. */
export const OPERATION_NAME = /^[a-z][a-z0-9-]*(\/[a-z][a-z0-9-]*)+$/;

/** Whether an operation changes nothing (see {@link OperationDeclaration.readOnly}). */
export function isReadOnly(operation: Pick<OperationDeclaration, 'readOnly' | 'http'>): boolean {
  return operation.readOnly ?? operation.http?.method === 'GET';
}

/** Where an operation is reached when its declaration does not say (design: vertical-host). */
export function httpBinding(name: string, operation: Pick<OperationDeclaration, 'http'>): HttpBinding {
  return operation.http ?? { method: 'POST', path: `/api/op/${name}` };
}

/** A call of an operation, whatever surface it came in through. */
export interface InvokeRequest {
  readonly operation: string;
  readonly input: unknown;
  /** At most 255 visible ASCII characters; scoped to (principal, operation); kept for 24 hours. */
  readonly idempotencyKey?: string;
  /** The entity version the caller has seen; a stale one is `precondition_failed`. `*` means that one exists. */
  readonly ifMatch?: string;
}

/** What an operation answered. */
export interface InvokeResult {
  readonly output: unknown;
  /** Null for a read, which is not recorded. */
  readonly invocation: string | null;
  /** The version of the operation's entity after the call, or null when it declares none (or has no event yet). */
  readonly version: string | null;
  /** True when this is the stored answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
}

/** A scope, seen by one caller whose principal is settled: what `mountOperations` and MCP call. */
export interface OperationStub {
  invoke(request: InvokeRequest): Promise<InvokeResult>;
}
