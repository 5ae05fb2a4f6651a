/**
 * Which of the backups that the platform makes by itself are due, and which of them have had their time. Pure.
 *
 * Days and weeks that have no backup do not count: where none is made any more, because each fails, none is deleted.
 */
import type { ScheduledCopy } from './scheduled-store.ts';

export interface BackupPolicy {
  /** From one backup of something to the next, in milliseconds. */
  readonly everyMs: number;
  /** The newest backup of each of so many days of UTC is kept. At least 1. */
  readonly keepDaily: number;
  /** The newest backup of each of so many weeks, which begin on Monday, is kept. */
  readonly keepWeekly: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const WEEK_MS = 7 * DAY_MS;
/** The epoch was a Thursday: the Monday of that week came three days before it. */
const MONDAY_MS = 3 * DAY_MS;

/** How far apart two moments have to be, both behind the end of a copy's time, before that end is believed. */
const BELIEVED_MS = 20 * 60 * 60 * 1000;

/**
 * Those that are not kept any more. What is younger than a day stays, and so does the newest, however old it is. What was
 * made while a clock was ahead takes no other's place, and stays until its day has come.
 */
export function expiredOf(
  copies: readonly ScheduledCopy[],
  { keepDaily, keepWeekly }: BackupPolicy,
  nowMs: number,
): readonly ScheduledCopy[] {
  const newestFirst = copies.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => b.atMs - a.atMs);
  const kept = new Set([
    ...newestOfEach(newestFirst, keepDaily, ({ atMs }) => Math.floor(atMs / DAY_MS)),
    ...newestOfEach(newestFirst, keepWeekly, ({ atMs }) => Math.floor((atMs + MONDAY_MS) / WEEK_MS)),
  ]);
  return newestFirst.slice(1).filter((copy) => !kept.has(copy) && copy.atMs <= nowMs - DAY_MS);
}

/** For how long the copies of a scope that was reaped are kept: as long as the oldest of a living one. */
export function keptAfterReapMs({ keepDaily, keepWeekly }: BackupPolicy): number {
  return Math.max(keepDaily * DAY_MS, keepWeekly * WEEK_MS);
}

/**
 * Those of a scope that was reaped: there will be no newer one. They are kept for as long as the oldest of a living scope
 * would be, for whoever is sorry, and no longer.
 *
 * A clock that is ahead for a while would end all of them at once, and for ever. So the end of one counts once the
 * platform was at work behind it at two moments that are most of a day apart.
 * @param seenMs when the platform was at work.
 */
export function expiredOfReaped(
  copies: readonly ScheduledCopy[],
  policy: BackupPolicy,
  { nowMs, seenMs }: { readonly nowMs: number; readonly seenMs: readonly number[] },
): readonly ScheduledCopy[] {
  const keptMs = keptAfterReapMs(policy);
  return copies.filter(({ atMs }) => {
    if (atMs >= nowMs - keptMs) return false;
    const behind = seenMs.filter((ms) => ms >= atMs + keptMs && ms <= nowMs);
    return Math.max(...behind) - Math.min(...behind) >= BELIEVED_MS;
  });
}

/**
 * Whether something is due: its own time has come round since its newest backup. The times of a fleet lie all over the
 * interval, each where the id says, so that not everything is copied at once. A backup that lies in the future was made
 * while a clock was ahead, and says nothing: whoever asks leaves it out of `newestAtMs`, and here it counts as none.
 */
export function isDue(
  unit: string,
  { newestAtMs, everyMs, nowMs }: { newestAtMs: number | null; everyMs: number; nowMs: number },
): boolean {
  if (newestAtMs === null || newestAtMs > nowMs) return true;
  const offsetMs = hash(unit) % everyMs;
  const latestMs = Math.floor((nowMs - offsetMs) / everyMs) * everyMs + offsetMs;
  return newestAtMs < latestMs;
}

function newestOfEach(
  newestFirst: readonly ScheduledCopy[],
  count: number,
  periodOf: (copy: ScheduledCopy) => number,
): ScheduledCopy[] {
  const periods = new Map<number, ScheduledCopy>();
  for (const copy of newestFirst) {
    const period = periodOf(copy);
    if (!periods.has(period) && periods.size < count) periods.set(period, copy);
  }
  return [...periods.values()];
}

/** FNV-1a, 32 bits: spreads, and is nobody's secret. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
