/** When a call is tried again, and after how long. */

/** Statuses after which the same request may succeed: too many, or something between here and the directory is down. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const BACKOFF_BASE_MS = 250;
const BACKOFF_MAX_MS = 8_000;

/** A server that asks for more patience than this gets its error reported instead. */
const RETRY_AFTER_MAX_MS = 60_000;

export interface RetrySources {
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Milliseconds since the epoch, for a `Retry-After` that is a date. */
  readonly now: () => number;
}

/**
 * How long to wait before the next attempt, in milliseconds; null when there should be none.
 * @param attempt how many attempts were made, at least 1.
 */
export function retryDelayMs(
  answer: Pick<Response, 'status' | 'headers'>,
  attempt: number,
  sources: RetrySources,
): number | null {
  if (!RETRYABLE.has(answer.status)) return null;
  const askedMs = retryAfterMs(answer.headers.get('retry-after'), sources.now());
  if (askedMs === null) return backoffMs(attempt, sources);
  return askedMs > RETRY_AFTER_MAX_MS ? null : askedMs;
}

/** Exponential, with full jitter, so that clients that failed together do not come back together. */
export function backoffMs(attempt: number, sources: Pick<RetrySources, 'random'>): number {
  return sources.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** (attempt - 1));
}

/** RFC 9110, section 10.2.3: seconds, or an HTTP date. */
function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}
