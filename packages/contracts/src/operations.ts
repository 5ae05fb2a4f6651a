/** The values between an operation and its caller: records, calls and answers. */
import { z } from 'zod';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The record that an operation, a permission or an event is about. */
export interface EntityRef {
  readonly type: string;
  readonly id: string;
}

export const entityRef = z.strictObject({ type: z.string().min(1).max(64), id: z.string().min(1).max(128) });

/** The view of the vertical's and the platform's tables for a declaration of subjects. */
export interface SubjectReader {
  get<Row = unknown>(
    sql: string,
    ...params: readonly (null | number | string | Uint8Array)[]
  ): Row | undefined;
  all<Row = unknown>(sql: string, ...params: readonly (null | number | string | Uint8Array)[]): Row[];
}

/** The caller of an operation, for a declaration of subjects: it answers no more than they reach. */
export interface SubjectCaller {
  /** Returns the records of a type for which the caller holds a permission: all of them, or these. */
  reach(permission: string, entityType: string): 'all' | readonly string[];
  /** Returns the id of a long work of a kind that has a mark; null for none. */
  markedWork(kind: string, mark: string): string | null;
}

/** A call of an operation, through any surface. */
export interface InvokeRequest {
  readonly operation: string;
  readonly input: unknown;
  /** At most 255 visible ASCII characters; scoped to (principal, operation); kept for 24 hours. */
  readonly idempotencyKey?: string;
  /** The entity version the caller has seen; a stale one is `precondition_failed`. `*` means that one exists. */
  readonly ifMatch?: string;
}

/** The answer of an operation. */
export interface InvokeResult {
  readonly output: unknown;
  /** Null for a read, which is not recorded. */
  readonly invocation: string | null;
  /** The version of the record that the call made, or else was about; null where neither is declared, or it has no event. */
  readonly version: string | null;
  /** True when this is the stored answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
}

/** The extent of a program's grant: all that its person may do, reading alone, or these permissions. */
export type ProgramAccess =
  | { readonly access: 'all' | 'read' }
  | { readonly access: 'some'; readonly permissions: readonly string[] };

/** The grant of a program through which a person makes a call. What it allows is never more than what the person may do. */
export type ProgramGrant = ProgramAccess & {
  readonly id: string;
  /** As the program calls itself, or as the person named a token. */
  readonly name: string;
};

/** The program behind something that is on record. */
export const programRecord = z.object({ grant: z.string(), name: z.string() }).meta({ id: 'Program' });

/** A scope for one caller whose principal is settled, for `mountOperations` and MCP. */
export interface OperationStub {
  invoke(request: InvokeRequest): Promise<InvokeResult>;
}
