/** Limits of calls: of each actor, and of anonymous senders by their network address. */
import type { PlatformError } from '@freehold/contracts';
import {
  type Allowance,
  makeRateLimiter,
  type RateLimit,
  type RateLimiter,
  senderOf,
  tooManyCalls,
  UNKNOWN_ADDRESS,
} from '@freehold/contracts/http';
import type { Context, MiddlewareHandler } from 'hono';
import type { ControlPlaneEnv } from './env.ts';

/** Enough for a script that goes through a fleet page by page, and too little to slow down the others. */
export const RATE_LIMIT_DEFAULT: RateLimit = { calls: 1_200, windowSeconds: 60 };

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
