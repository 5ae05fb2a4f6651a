/**
 * What of a sweep is written down. A sweep comes by every few minutes, and most units have nothing to tell: one row a day
 * says that a unit was looked at, and one an hour that it goes on failing. Otherwise the 2,000 rows that are kept of a
 * tenant would be a few hours of silence.
 */
import type { Repeats } from '../feeds/repeats.ts';

/** What a unit came to: a connection's line, or a row. */
export interface Outcome {
  readonly outcome: string;
  readonly reason?: string | null | undefined;
}

const HOUR_MS = 3_600_000;
/** How long an outcome is not repeated for the same unit and reason. What is not named here is always news. */
const QUIET_MS: Readonly<Record<string, number>> = {
  skipped: 24 * HOUR_MS,
  fresh: 24 * HOUR_MS,
  stale: HOUR_MS,
  failed: HOUR_MS,
};

/** Lets through what is news. @param unitOf names a unit among all that this sweep goes over. */
export async function* newsOf<T extends Outcome>(
  units: AsyncIterable<T> | Iterable<T>,
  unitOf: (unit: T) => string,
  repeats: Repeats,
): AsyncGenerator<T, void, undefined> {
  for await (const unit of units) {
    const word = `${unit.outcome} ${unit.reason ?? ''}`;
    // Also remembered of what is always news: after it, the same silence as before is news again.
    if (repeats.isNews(unitOf(unit), word, QUIET_MS[unit.outcome] ?? 0)) yield unit;
  }
}
