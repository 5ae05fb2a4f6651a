/** The state that hono carries through one request, and the types that all routes share. */

import type { Allowance, RateLimit } from '@freehold/contracts/http';
import type { Actor } from '@freehold/directory';
import type { Context } from 'hono';

/** The place of an incident. */
export interface IncidentPlace {
  readonly requestId: string;
  /** The operation's name; null outside of the operations. */
  readonly operation: string | null;
}

/** One request, for the log. Of the caller's input it holds the request id alone. */
export interface RequestLine extends IncidentPlace {
  /** The caller's own `x-request-id`, beside ours; null without a usable one. */
  readonly clientRequestId: string | null;
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
  /** The caller, once it is known. */
  readonly actor: Actor | null;
}

interface Variables {
  requestId: string;
  operation: string | null;
  actor: Actor | null;
  /** The rest of the allowance of the actor, or of an anonymous sender; null for an uncounted request. */
  allowance: Allowance | null;
  /** The limit of that allowance. */
  limit: RateLimit | null;
}

/** Facts of the wiring beside a request: `app.fetch(request, { uncounted: true })`. */
interface Bindings {
  /** True for the platform's own work, which goes through a fleet page by page and must not wait. */
  readonly uncounted?: boolean;
  /**
   * The network address of the sender. Null or absent: unknown, and all such senders share one allowance. Never taken from a
   * header that a sender can write.
   */
  readonly clientAddress?: string | null;
}

export interface ControlPlaneEnv {
  readonly Variables: Variables;
  readonly Bindings: Bindings;
}

/**
 * Notes the actor of a request and counts the call.
 * @throws PlatformError `rate_limited`.
 */
export type AdmitActor = (c: Context<ControlPlaneEnv>, actor: Actor) => void;
