/**
 * The callers of the control plane (spec 5.5). Every audit row names its actor. The `id` of a member of staff, and of a
 * builder who is a person, is that of the member of the roster; the `id` of a service or a push token is the token's own.
 */
import type { ProgramGrant, TenantId } from '@freehold/contracts';
import type { OperationRecord } from '../declarations/long-work.ts';
import type { LogHead } from '../declarations/records.ts';
import type { StaffRole } from '../declarations/staff.ts';
import type { TokenRights } from '../declarations/tokens.ts';

export type Actor =
  /** A member of the platform's staff, with the role of this moment: a session, or the token of a program of theirs. */
  | {
      readonly kind: 'staff';
      readonly id: string;
      readonly name: string;
      readonly role: StaffRole;
      /** The id of the token, or of the program's grant, that was shown; absent for a session. */
      readonly token?: string;
      /** The id of the session that was shown; absent for a token. */
      readonly session?: string;
      /** The program that acts, and what it may do of what the member may. Absent for a session and for a staff token. */
      readonly program?: ProgramGrant;
    }
  /**
   * A service token: software of the platform's operator. A token that a member of staff made belongs to them: `owner` is
   * that member, `role` their role of this moment, and it may do what they may. Without an owner it may do everything.
   */
  | {
      readonly kind: 'service';
      readonly id: string;
      readonly name: string;
      readonly owner?: string;
      readonly role?: StaffRole;
    }
  /**
   * A tenant's builder; the tenant is forced into every call. Either a push token, which is software: the id is the
   * token's, and there is neither token nor session. Or a person on the roster, with the fields of staff.
   */
  | {
      readonly kind: 'builder';
      readonly id: string;
      readonly name: string;
      readonly tenant: TenantId;
      /** The rights of a push token; absent for a person, who may do what a token of the kind `operate` may. */
      readonly rights?: TokenRights;
      readonly token?: string;
      readonly session?: string;
      readonly program?: ProgramGrant;
    }
  /** A vertical that showed its own secret: id and name are its slug. The platform's grants say what it may do. */
  | { readonly kind: 'vertical'; readonly id: string; readonly name: string }
  /** The platform itself, at work of its own: the id names the work. No request comes from it. */
  | { readonly kind: 'system'; readonly id: string; readonly name: string };

/** A member of the roster, by a session or a program of theirs. */
export type MemberActor = Extract<Actor, { readonly kind: 'staff' | 'builder' }>;

/** An admin call, after its input was parsed and its caller authenticated. */
export interface AdminCall {
  /** The operation's name. */
  readonly operation: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly actor: Actor;
  readonly requestId: string;
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
  /** The bytes of a call that is declared with `upload`. The performer reads or cancels them. */
  readonly upload?: { readonly mediaType: string; readonly body: ReadableStream<Uint8Array> };
  /** Where the bytes of an upload were put, for the transaction. Two calls that differ in this alone are the same call. */
  readonly stored?: { readonly id: string; readonly address: string };
  /** True asks for events, where the operation has some. */
  readonly events?: boolean;
}

/** One event of work that is being followed; `heartbeat` says only that nothing happened. */
export interface OperationEvent<Said = OperationRecord> {
  readonly event: 'progress' | 'done' | 'failed' | 'cancelled' | 'heartbeat';
  /** The whole record of long work; for a call that reports its steps, the form that its declaration gives (`StepEvents`). */
  readonly record: Said;
  /** The head of the admin log after a change that was done. */
  readonly head?: LogHead;
}

export interface AdminResult {
  readonly status: 200 | 201 | 202 | 204;
  readonly value: unknown;
  /** The bytes, where the operation answers some; `value` then describes them. The receiver reads or cancels them. */
  readonly body?: ReadableStream<Uint8Array>;
  /** The events, for a call that asked for them; `value` is then the present state. Cancelling the stream stops no work. */
  readonly events?: ReadableStream<OperationEvent<unknown>>;
  /** The version of the resource, without quotes. */
  readonly etag?: string;
  /** The head of the admin log after a mutation: evidence for the caller. */
  readonly head?: LogHead;
  /** True when this is the stored answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
}
