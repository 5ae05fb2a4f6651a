/** Durations in buckets: they add up, and tell quantiles of what was added. */

/** The upper bounds of the buckets, in milliseconds; a last one takes the rest. */
const BOUNDS_MS = [
  ...[1, 1.5, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 85, 113, 151, 201, 268, 357, 476, 635, 846, 1_128],
  ...[2_000, 5_000, 10_000, 30_000],
];

/** One column for each bucket. */
export const BUCKETS = [...BOUNDS_MS, Number.POSITIVE_INFINITY].map((_, index) => `h${index}`);

export function bucketOf(durationMs: number): number {
  const index = BOUNDS_MS.findIndex((bound) => durationMs <= bound);
  return index < 0 ? BOUNDS_MS.length : index;
}

/**
 * The duration below which this part of the requests lies, interpolated within its bucket; null for no request.
 * @param part 0.95 for the 95th percentile.
 */
export function quantileOf(counts: readonly number[], part: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = part * total;
  for (const [index, count] of counts.entries()) {
    const from = index === 0 ? 0 : (BOUNDS_MS[index - 1] as number);
    // Nothing is known of the longest: they count as the last bound.
    const to = BOUNDS_MS[index] ?? from;
    if (left <= count) return count === 0 ? from : from + ((to - from) * left) / count;
    left -= count;
  }
  return BOUNDS_MS.at(-1) as number;
}
