/**
 * How many calls one actor may make: so many at once, and then as many as time brings back. The generic cell rate
 * algorithm, which keeps one number for each actor: the time at which its allowance is whole again.
 */
import { PlatformError } from '@freehold/contracts';

export interface RateLimit {
  /** How many calls fit into one window. */
  readonly calls: number;
  /** The window, in seconds. */
  readonly windowSeconds: number;
}

/** What an actor has left after a call. */
export interface Allowance {
  /** False when the call is one too many. */
  readonly admitted: boolean;
  /** Calls that may follow at once. */
  readonly remaining: number;
  /** Seconds, rounded up: until another call is admitted, for one that was not; else until the allowance is whole. */
  readonly resetSeconds: number;
}

export interface RateLimiter {
  readonly limit: RateLimit;
  /** Counts a call. */
  take(actor: string): Allowance;
}

/** As many as a script makes that goes through a fleet page by page, and fewer than hold up everybody else. */
export const RATE_LIMIT_DEFAULT: RateLimit = { calls: 1_200, windowSeconds: 60 };

/** More actors than there are at a time. Whoever is whole again is forgotten before that. */
const KEPT_MAX = 10_000;

/** Counts in this process alone: two processes admit twice as much. `now` answers milliseconds. */
export function makeRateLimiter(now: () => number, limit: RateLimit = RATE_LIMIT_DEFAULT): RateLimiter {
  const windowMs = limit.windowSeconds * 1_000;
  const intervalMs = windowMs / limit.calls;
  /** Actor → when its allowance is whole again, the one that called last at the end. */
  const wholeAt = new Map<string, number>();

  const forget = (nowMs: number): void => {
    for (const [actor, at] of wholeAt) {
      // The longest unused comes first. Should nobody be whole, the one who waited longest is given a new allowance.
      if (at > nowMs && wholeAt.size <= KEPT_MAX) return;
      wholeAt.delete(actor);
    }
  };

  return {
    limit,
    take: (actor) => {
      const nowMs = now();
      const known = wholeAt.get(actor) ?? nowMs;
      const at = Math.min(known, nowMs + windowMs);
      // Further away than a window it was put by a clock that was ahead. Kept so, it would refuse until time catches up.
      if (at < known) wholeAt.set(actor, at);
      const next = Math.max(at, nowMs) + intervalMs;
      const overMs = next - nowMs - windowMs;
      // Fractions of a millisecond add up to a little more than a window.
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

/**
 * The headers that tell a caller where it stands: `RateLimit-Policy: "calls";q=1200;w=60` and
 * `RateLimit: "calls";r=1199;t=1` (draft-ietf-httpapi-ratelimit-headers).
 */
export function rateLimitHeaders(
  { calls, windowSeconds }: RateLimit,
  { remaining, resetSeconds }: Allowance,
): Readonly<Record<string, string>> {
  return {
    'ratelimit-policy': `"calls";q=${calls};w=${windowSeconds}`,
    ratelimit: `"calls";r=${remaining};t=${resetSeconds}`,
  };
}

/** The refusal of a call that is one too many (RFC 6585, section 4). */
export function tooManyCalls({ resetSeconds }: Allowance): PlatformError {
  const seconds = Math.max(1, resetSeconds);
  return new PlatformError(
    'rate_limited',
    `That is too many calls. Try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}
