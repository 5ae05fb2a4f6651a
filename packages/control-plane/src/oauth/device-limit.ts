/**
 * How often device codes are given. Nobody has to be anybody to ask for one, and codes that wait push each other out once
 * there are too many (`startDevice` of the directory). So there is a limit for all sources together.
 *
 * Each source has a share of it. Whoever asks more often is not refused for that, because their own oldest code gives way;
 * but they ask at the expense of others who do so, and of nobody else. Without shares one network would use up what all
 * have together, and keep everybody out.
 */
import { type Allowance, makeRateLimiter, type RateLimit } from '../http/rate-limit.ts';
import { UNKNOWN_ADDRESS } from '../http/rate-limit-address.ts';

/** An IPv4 address, or of IPv6 a /48: `192.0.2.1`, `2001:db8:1::/48`. Null: nobody knows. */
export type SourceOfCodes = string | null;

export interface DeviceLimits {
  /** The share of one source that is known. */
  readonly source: RateLimit;
  /** The share of all whose address nobody says. */
  readonly unknown: RateLimit;
  /** All sources together, each within its share. */
  readonly everybody: RateLimit;
  /** All sources together that are beyond their share. */
  readonly beyond: RateLimit;
}

/**
 * Honest use meets none of them. A class of people who sign in at the same time, behind one address, are fewer than fifty,
 * and two thousand sign-ins a minute is no staff. It takes 400 sources to use those up for long, each with the five a
 * minute that are left of its share. A code that was given waits for a minute at least, whoever else asks: 5,000 may
 * wait.
 */
export const DEVICE_LIMITS: DeviceLimits = {
  source: { calls: 50, windowSeconds: 600 },
  unknown: { calls: 1_000, windowSeconds: 600 },
  everybody: { calls: 2_000, windowSeconds: 60 },
  beyond: { calls: 500, windowSeconds: 60 },
};

/** A code that is one too many. */
export interface TooManyCodes {
  /** The one that is used up. */
  readonly limit: RateLimit;
  readonly allowance: Allowance;
}

/** Counts a code, and answers null while it may be given. */
export type DeviceLimiter = (source: SourceOfCodes) => TooManyCodes | null;

/**
 * Counts in this process alone.
 * @param now answers milliseconds.
 */
export function makeDeviceLimiter(now: () => number, limits: DeviceLimits = DEVICE_LIMITS): DeviceLimiter {
  const each = makeRateLimiter(now, limits.source);
  const unknown = makeRateLimiter(now, limits.unknown);
  const everybody = makeRateLimiter(now, limits.everybody);
  const beyond = makeRateLimiter(now, limits.beyond);
  return (source) => {
    const share = (source === null ? unknown : each).take(source ?? UNKNOWN_ADDRESS);
    const { limit, take } = share.admitted ? everybody : beyond;
    const allowance = take(UNKNOWN_ADDRESS);
    return allowance.admitted ? null : { limit, allowance };
  };
}

/**
 * The source that a sender is of. A site is given a /48 of IPv6 at most (RFC 6177), which has 65,536 of the /64s by which
 * senders are told apart.
 * @param sender as `senderOf` answers it.
 */
export function sourceOfCodes(sender: string): SourceOfCodes {
  if (sender === UNKNOWN_ADDRESS) return null;
  const [groups = '', length] = sender.split('::/');
  return length === undefined ? sender : `${groups.split(':').slice(0, 3).join(':')}::/48`;
}
