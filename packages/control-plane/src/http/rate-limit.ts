/**
 * Limits of calls: of each actor, and of anonymous senders by their network address. The generic cell rate algorithm
 * keeps one number for each: the time at which its allowance is whole again.
 */
import { PlatformError } from '@freehold/contracts';
import { senderOf, UNKNOWN_ADDRESS } from '@freehold/contracts/http';
import type { Context, MiddlewareHandler } from 'hono';
import type { ControlPlaneEnv } from './env.ts';

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
  /** Counts a call. */
  take(actor: string): Allowance;
}

/** Enough for a script that goes through a fleet page by page, and too little to slow down the others. */
export const RATE_LIMIT_DEFAULT: RateLimit = { calls: 1_200, windowSeconds: 60 };

/** More than the actors of one time. An actor with a whole allowance is forgotten before that. */
const KEPT_MAX = 10_000;

/** Counts in this process alone: two processes admit twice as much. `now` returns milliseconds. */
export function makeRateLimiter(now: () => number, limit: RateLimit = RATE_LIMIT_DEFAULT): RateLimiter {
  const windowMs = limit.windowSeconds * 1_000;
  const intervalMs = windowMs / limit.calls;
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
    take: (actor) => {
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

/**
 * The headers of an allowance: `RateLimit-Policy: "calls";q=1200;w=60` and
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

/** The refusal of a call beyond the limit (RFC 6585, section 4). */
export function tooManyCalls({ resetSeconds }: Allowance): PlatformError {
  const seconds = Math.max(1, resetSeconds);
  return new PlatformError(
    'rate_limited',
    `That is too many calls. Try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}

/**
 * The kinds of anonymous calls:
 * - `refused`: a call without a valid credential where one is needed: 401, or 403 for a wrong secret. Beyond the limit
 * it is answered 429 instead, after the same look-up;
 * - `signIn`: `/oauth/*`, `/device`, `/auth/*` and `/api/auth/*`;
 * - `reading`: `/docs` and `/openapi.json`.
 */
export type AnonymousKind = 'refused' | 'signIn' | 'reading';

export interface AnonymousLimits extends Readonly<Record<AnonymousKind, RateLimit>> {
  /** The multiple of the limits for all senders of unknown address together. */
  readonly anybodyTimes: number;
}

/**
 * For each address. A network of people behind one address signs in with hundreds of requests a minute at most, since
 * a program without a browser polls twelve times; a program with a revoked token learns it at the first refusal.
 */
export const ANONYMOUS_LIMITS_DEFAULT: AnonymousLimits = {
  refused: { calls: 300, windowSeconds: 60 },
  signIn: { calls: 300, windowSeconds: 60 },
  reading: { calls: 600, windowSeconds: 60 },
  anybodyTimes: 20,
};

export interface AnonymousDeps {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: AnonymousLimits;
  /**
   * Whether the request proves its sender. Asked only for a call beyond the limit, so that a known caller is not held
   * up by anonymous senders of the same address. It counts the call for the actor, and may throw that actor's own
   * refusal.
   */
  readonly isKnown: (c: Context<ControlPlaneEnv>) => Promise<boolean>;
  /** Answers a call beyond the limit. */
  readonly refuse: (c: Context<ControlPlaneEnv>, error: PlatformError) => Response;
}

/**
 * Limits anonymous senders, before every route. The platform's own work is not counted.
 * At open addresses the limits bound the work of anonymous senders. Failed authentications they only slow down: a
 * credential is looked up before its call is counted, or anonymous senders could hold up known callers of the same
 * address. No secret relies on them: tokens have 256 bits, and user codes a limit of their own.
 */
export function limitAnonymous(deps: AnonymousDeps): MiddlewareHandler<ControlPlaneEnv> {
  const limiters = {
    refused: makeAnonymousLimiter('refused', deps),
    signIn: makeAnonymousLimiter('signIn', deps),
    reading: makeAnonymousLimiter('reading', deps),
  } as const;
  const take = (kind: AnonymousKind, c: Context<ControlPlaneEnv>): PlatformError | null => {
    const { limit, allowance } = limiters[kind](senderOfCall(c));
    c.set('limit', limit);
    c.set('allowance', allowance);
    return allowance.admitted ? null : tooManyCalls(allowance);
  };

  return async (c, next) => {
    if (c.env?.uncounted) return next();
    const kind = kindOf(c.req.path);
    if (kind) {
      const tooMany = take(kind, c);
      return tooMany && !(await deps.isKnown(c)) ? deps.refuse(c, tooMany) : next();
    }
    await next();
    if (!isRefusedAnonymous(c)) return;
    const tooMany = take('refused', c);
    if (!tooMany) return;
    // Without this, hono would keep the headers of the refusal, its challenge included.
    c.res = undefined;
    c.res = deps.refuse(c, tooMany);
  };
}

/** The sender of a call, by the wiring's address. See {@link senderOf}. */
export function senderOfCall(c: Context<ControlPlaneEnv>): string {
  return senderOf(c.env?.clientAddress ?? null);
}

type Counted = Pick<RateLimiter, 'limit'> & { readonly allowance: ReturnType<RateLimiter['take']> };

/** Senders of unknown address cannot be told apart: they share one larger allowance. */
function makeAnonymousLimiter(
  kind: AnonymousKind,
  { now, limits }: Pick<AnonymousDeps, 'now' | 'limits'>,
): (sender: string) => Counted {
  const { calls, windowSeconds } = limits[kind];
  const each = makeRateLimiter(now, { calls, windowSeconds });
  const together = makeRateLimiter(now, { calls: calls * limits.anybodyTimes, windowSeconds });
  return (sender) => {
    const limiter = sender === UNKNOWN_ADDRESS ? together : each;
    return { limit: limiter.limit, allowance: limiter.take(sender) };
  };
}

/** An issuer's own calls come in bursts and are signed: only refused ones count. */
const BACKCHANNEL = '/api/auth/backchannel-logout';
const SIGN_IN = /^\/(?:oauth\/.*|device|(?:api\/)?auth\/.*)$/;
const READING = /^\/(?:docs(?:\/.*)?|openapi\.json)$/;

/** The kind of an address that needs no credential. Null for one that needs one, and for one that costs nothing. */
function kindOf(path: string): AnonymousKind | null {
  if (path === BACKCHANNEL || path === '/auth/me') return null;
  if (SIGN_IN.test(path)) return 'signIn';
  return READING.test(path) ? 'reading' : null;
}

function isRefusedAnonymous(c: Context<ControlPlaneEnv>): boolean {
  const { status } = c.res;
  const { path } = c.req;
  if (c.var.actor !== null) return false;
  if (path === BACKCHANNEL) return status === 400;
  // A browser on a consent round shows a ticket, which cannot be guessed.
  return status === 401 || (status === 403 && !path.startsWith('/connect/'));
}
