/**
 * A limit on what one network address sends to a form of the public surface. The platform itself counts no request there
 * (spec 4.6, 8): which form needs a limit, and which limit, only the vertical knows.
 */
import { PlatformError } from '@freehold/contracts';
import { senderOf, UNKNOWN_ADDRESS } from '@freehold/contracts/http';

export interface VisitorLimitOptions {
  /** The times that one address may send in one window. */
  readonly times: number;
  /** The window, in seconds; the counts of all addresses begin anew with each. */
  readonly windowSeconds: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Counts one use.
 * @param form what is counted for itself: the scope, so that one tenant's visitors use up nothing of another's.
 * @param clientAddress from the router, never from a header; null when it is not known.
 * @throws PlatformError `rate_limited`, with `Retry-After`.
 */
export type VisitorLimit = (form: string, clientAddress: string | null) => void;

/** Senders of unknown address cannot be told apart, and share this multiple of the limit. */
const UNKNOWN_TIMES = 20;
/** Beyond so many addresses in one window, at some hundred bytes each, the counts begin anew. */
const KEPT_MAX = 20_000;

/** Counts in memory: each process, and each node of a cluster, admits the limit for itself. */
export function makeVisitorLimit({ times, windowSeconds, now }: VisitorLimitOptions): VisitorLimit {
  const windowMs = windowSeconds * 1_000;
  let counts = new Map<string, number>();
  let window = 0;
  return (form, clientAddress) => {
    const nowMs = now();
    const current = Math.floor(nowMs / windowMs);
    if (current !== window || counts.size > KEPT_MAX) counts = new Map();
    window = current;
    const sender = senderOf(clientAddress);
    const key = `${form} ${sender}`;
    const used = counts.get(key) ?? 0;
    if (used >= (sender === UNKNOWN_ADDRESS ? times * UNKNOWN_TIMES : times))
      throw tooOften(Math.ceil(((current + 1) * windowMs - nowMs) / 1_000));
    counts.set(key, used + 1);
  };
}

function tooOften(seconds: number): PlatformError {
  return new PlatformError(
    'rate_limited',
    'This was sent too often from your network address. Try again later.',
    { reason: 'too_many_from_address', headers: { 'retry-after': String(seconds) } },
  );
}
