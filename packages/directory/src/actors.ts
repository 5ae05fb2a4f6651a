/**
 * Who calls the control plane (spec 5.5): the actor that is written into every audit row. A service's and a
 * builder's `id` is the id of the token that was shown, that of staff names the member of the roster.
 */
import type { TenantId } from '@freehold/contracts';
import type { OperationRecord } from './declarations/long-work.ts';
import type { StaffRole } from './declarations/staff.ts';

export type Actor =
  /**
   * A person of the platform's staff, from a session or from the token of a program that acts for them. The role is the
   * one they have at this moment.
   */
  | {
      readonly kind: 'staff';
      readonly id: string;
      readonly name: string;
      readonly role: StaffRole;
      /** The id of the token that was shown; absent for a session. */
      readonly token?: string;
    }
  /** A service token: software of the platform's operator. */
  | { readonly kind: 'service'; readonly id: string; readonly name: string }
  /** A push token: software of one tenant's builder. Its tenant is forced into every call. */
  | { readonly kind: 'builder'; readonly id: string; readonly name: string; readonly tenant: TenantId };

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
  /** The bytes of a call that is declared with `upload`. Whoever gets them reads or cancels them. */
  readonly upload?: { readonly mediaType: string; readonly body: ReadableStream<Uint8Array> };
  /** Where the bytes of an upload were put: for the transaction, and no part of what makes two calls the same. */
  readonly stored?: { readonly id: string; readonly address: string };
  /** True asks for the events of long work, where the operation has some. */
  readonly events?: boolean;
}

/** One event of work that is being followed; `heartbeat` says only that nothing happened. */
export interface OperationEvent {
  readonly event: 'progress' | 'done' | 'failed' | 'cancelled' | 'heartbeat';
  readonly record: OperationRecord;
}

export interface AdminResult {
  readonly status: 200 | 201 | 202 | 204;
  readonly value: unknown;
  /** The bytes, where the operation answers some; `value` is then what is said of them. Whoever gets them reads or cancels them. */
  readonly body?: ReadableStream<Uint8Array>;
  /** The events of long work, for a call that asked for them; `value` is then where it stands. Cancelling it ends them. */
  readonly events?: ReadableStream<OperationEvent>;
  /** The version of the resource, without quotes. */
  readonly etag?: string;
  /** The head of the admin log after a mutation: evidence for the caller. */
  readonly head?: { readonly sequence: number; readonly hash: string };
  /** True when this is the stored answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
}
