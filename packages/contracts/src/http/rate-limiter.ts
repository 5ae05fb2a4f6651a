/**
 * Limits of calls by the generic cell rate algorithm, which keeps one number for each caller: the time at which their
 * allowance is whole again.
 */
import { PlatformError } from '../problems.ts';

export interface RateLimit {
  /** The calls of one window. */
  readonly calls: number;
  /** The window, in seconds. */
  readonly windowSeconds: number;
}

/** The state of an actor's allowance after a call. */
export interface Allowance {
  /** False when the call exceeds the limit. */
  readonly admitted: boolean;
  /** Calls that may follow at once. */
  readonly remaining: number;
  /** Seconds, rounded up: until the next call is admitted, for a refused one; else until the allowance is whole. */
  readonly resetSeconds: number;
}

export interface RateLimiter {
  readonly limit: RateLimit;
  /** Counts a call. @param limit of this caller. Default: that of the limiter. */
  take(actor: string, limit?: RateLimit): Allowance;
}

/** More than the actors of one time. An actor with a whole allowance is forgotten before that. */
const KEPT_MAX = 10_000;

/** Counts in this process alone: two processes admit twice as much. `now` returns milliseconds. */
export function makeRateLimiter(now: () => number, limit: RateLimit): RateLimiter {
  /** Actor → the time at which its allowance is whole again, the most recent caller last. */
  const wholeAt = new Map<string, number>();

  const forget = (nowMs: number): void => {
    for (const [actor, at] of wholeAt) {
      // The longest unused comes first. If none is whole, it loses its count and starts anew.
      if (at > nowMs && wholeAt.size <= KEPT_MAX) return;
      wholeAt.delete(actor);
    }
  };

  return {
    limit,
    take: (actor, { calls, windowSeconds } = limit) => {
      const windowMs = windowSeconds * 1_000;
      const intervalMs = windowMs / calls;
      const nowMs = now();
      const known = wholeAt.get(actor) ?? nowMs;
      const at = Math.min(known, nowMs + windowMs);
      // A time beyond the window was set by a clock that was ahead. Kept, it would refuse calls until then.
      if (at < known) wholeAt.set(actor, at);
      const next = Math.max(at, nowMs) + intervalMs;
      const overMs = next - nowMs - windowMs;
      // Fractions of a millisecond add up to slightly more than a window.
      if (overMs > 1e-6) return { admitted: false, remaining: 0, resetSeconds: Math.ceil(overMs / 1_000) };
      wholeAt.delete(actor);
      wholeAt.set(actor, next);
      if (wholeAt.size > KEPT_MAX) forget(nowMs);
      return {
        admitted: true,
        remaining: Math.floor((windowMs - (next - nowMs)) / intervalMs + 1e-6),
        resetSeconds: Math.ceil((next - nowMs) / 1_000),
      };
    },
  };
}

/** The refusal of a call beyond the limit (RFC 6585, section 4). */
export function tooManyCalls({ resetSeconds }: Allowance): PlatformError {
  const seconds = Math.max(1, resetSeconds);
  return new PlatformError(
    'rate_limited',
    `That is too many calls. Try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}
