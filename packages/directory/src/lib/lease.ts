/** Leases: the exclusive right of one process to a piece of work, until a time. */

/**
 * Whether another process still has the lease.
 * @param leaseMs the length of such a lease: a time further ahead was written by a clock that was ahead, and counts for nothing.
 */
export function isLeased(untilMs: number, nowMs: number, leaseMs: number): boolean {
  const leftMs = untilMs - nowMs;
  return leftMs > 0 && leftMs <= leaseMs;
}
