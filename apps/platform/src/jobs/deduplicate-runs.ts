/**
 * What of a sweep is written down: everything that was done, judged or tried. Only silence is not repeated. Most units have
 * nothing due most of the time, and thousands of rows a day that say so would push out the few that say something: of a
 * unit that is skipped for the same reason there is one row a day, and one an hour of a job of the platform, which is how
 * one sees that it still comes by.
 */
import type { SweepUnit } from '@freehold/directory';
import type { Repeats } from '../feeds/repeats.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Lets through what is news. */
export async function* deduplicateRuns(
  units: AsyncIterable<SweepUnit> | Iterable<SweepUnit>,
  repeats: Repeats,
): AsyncGenerator<SweepUnit, void, undefined> {
  for await (const unit of units) {
    const name = `${unit.kind} ${unit.scope ?? ''} ${unit.unit}`;
    const word = `${unit.outcome} ${unit.reason ?? ''}`;
    // Also remembered of what is always news: after it, the same silence as before is news again.
    if (repeats.isNews(name, word, quietMs(unit))) yield unit;
  }
}

/** For how long the same is not said again. */
function quietMs({ kind, outcome, tenant }: SweepUnit): number {
  if (outcome !== 'skipped') return 0;
  return kind === 'schedule' && (tenant ?? null) === null ? HOUR_MS : DAY_MS;
}
