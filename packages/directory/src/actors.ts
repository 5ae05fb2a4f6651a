/**
 * Who calls the control plane (spec 5.5): the actor that is written into every audit row. A service's and a
 * builder's `id` is the id of the token that was shown.
 */
import type { TenantId } from '@freehold/contracts';

export type Actor =
  /** A person of the platform's staff, from a session. */
  | { readonly kind: 'staff'; readonly id: string; readonly name: string }
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
}

export interface AdminResult {
  readonly status: 200 | 201 | 204;
  readonly value: unknown;
  /** The bytes, where the operation answers some; `value` is then what is said of them. Whoever gets them reads or cancels them. */
  readonly body?: ReadableStream<Uint8Array>;
  /** The version of the resource, without quotes. */
  readonly etag?: string;
  /** The head of the admin log after a mutation: evidence for the caller. */
  readonly head?: { readonly sequence: number; readonly hash: string };
  /** True when this is the stored answer of an earlier call with the same idempotency key. */
  readonly replayed: boolean;
}
