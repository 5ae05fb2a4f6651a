/** How long a link that was asked for may live. */
import { PlatformError } from '@freehold/contracts';

const HOUR_MS = 3_600_000;
/** A link that lies in a mailbox for longer than a month is forgotten, not waiting. */
const TTL_MAX_MS = 30 * 24 * HOUR_MS;

/** The time to live, or the default when none was asked for. @throws PlatformError `validation_failed` beyond 30 days. */
export function requireTtl(ttlMs: number | undefined, defaultMs: number): number {
  if (ttlMs === undefined) return defaultMs;
  if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0 || ttlMs > TTL_MAX_MS)
    throw new PlatformError('validation_failed', 'A link lives between a moment and 30 days.', {
      errors: [{ path: 'ttlMs', message: 'must be a whole number of milliseconds, at most 30 days' }],
    });
  return ttlMs;
}
