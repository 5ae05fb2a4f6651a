/**
 * Limits for whoever is nobody yet: failed authentications and the open addresses, by network address. At the open
 * addresses they bound the work that strangers cause. Of failed authentications they bound none: a credential is looked
 * up before its call is counted, or strangers could hold up whoever is known at the same address. There they tell
 * programs that keep trying when to come again. They are not what keeps a secret: tokens have 256 bits, and user codes a
 * limit of their own.
 */
import type { PlatformError } from '@freehold/contracts';
import type { Context, MiddlewareHandler } from 'hono';
import type { ControlPlaneEnv } from '../app.ts';
import { makeRateLimiter, type RateLimit, type RateLimiter, tooManyCalls } from './rate-limit.ts';
import { senderOf, UNKNOWN_ADDRESS } from './rate-limit-address.ts';

/**
 * What an address is for, and what it costs to ask there:
 * - `refused`: a call that had to show a credential and showed none that counts: 401, or 403 for a wrong secret. One too
 *   many is answered 429 instead, after the same look;
 * - `signIn`: `/oauth/*`, `/device`, `/auth/*` and `/api/auth/*`;
 * - `reading`: `/docs` and `/openapi.json`.
 */
export type AnonymousKind = 'refused' | 'signIn' | 'reading';

export interface AnonymousLimits extends Readonly<Record<AnonymousKind, RateLimit>> {
  /** How many times as much all senders have together whose address nobody says. */
  readonly anybodyTimes: number;
}

/**
 * For each address. A network of people behind one address signs in with hundreds of requests a minute at worst, since a
 * program without a browser asks twelve times; a program whose token was revoked learns it with the first refusal.
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
   * Whether the request proves who sends it, asked only of one that is too many: nobody is held up by strangers who have
   * the same address. It counts the call for that actor, and may throw that the actor's own allowance is used up.
   */
  readonly isKnown: (c: Context<ControlPlaneEnv>) => Promise<boolean>;
  /** Answers a call that is one too many. */
  readonly refuse: (c: Context<ControlPlaneEnv>, error: PlatformError) => Response;
}

/** Goes before everything else that answers. The platform's own work is not counted. */
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
    // Without this the headers of the refusal would be taken over, its challenge with them.
    c.res = undefined;
    c.res = deps.refuse(c, tooMany);
  };
}

/** Whoever sends a call, by what the wiring says of it. See {@link senderOf}. */
export function senderOfCall(c: Context<ControlPlaneEnv>): string {
  return senderOf(c.env?.clientAddress ?? null);
}

type Counted = Pick<RateLimiter, 'limit'> & { readonly allowance: ReturnType<RateLimiter['take']> };

/** Senders without an address cannot tell themselves apart: they share one allowance, which is larger. */
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

/** The issuer's own calls come in bursts, and prove themselves: only refused ones count. */
const BACKCHANNEL = '/api/auth/backchannel-logout';
const SIGN_IN = /^\/(?:oauth\/.*|device|(?:api\/)?auth\/.*)$/;
const READING = /^\/(?:docs(?:\/.*)?|openapi\.json)$/;

/** The kind of an address that asks for no credential; null where one has to be shown, and for what costs nothing. */
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
  // A browser on a consent round shows a ticket, and nothing that could be guessed.
  return status === 401 || (status === 403 && !path.startsWith('/connect/'));
}
