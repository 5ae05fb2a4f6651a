/** Which days a question about usage covers. */
import { PlatformError, toTimestamp } from '@freehold/contracts';

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS_DEFAULT = 30;

export interface Period {
  /** The first day, in UTC: `2026-11-01`. */
  readonly since: string;
  /** The last. */
  readonly until: string;
}

/** The day of a time, in UTC. */
export function dayOf(ms: number): string {
  return toTimestamp(ms).slice(0, 10);
}

/** @throws PlatformError `validation_failed` for a period that ends before it begins. */
export function periodOf(
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
  nowMs: number,
): Period {
  const last = until ?? dayOf(nowMs);
  const first = since ?? dayBefore(last, DAYS_DEFAULT - 1);
  if (first > last)
    throw new PlatformError('validation_failed', 'The period ends before it begins.', {
      errors: [{ path: 'since', message: `is after ${last}` }],
    });
  return { since: first, until: last };
}

function dayBefore(day: string, days: number): string {
  const ms = Date.parse(`${day}T00:00:00.000Z`) - days * DAY_MS;
  // Days are compared as text, and years before 0 would not sort as such.
  return ms < Date.parse('0000-01-01T00:00:00.000Z') ? '0000-01-01' : dayOf(ms);
}
