import type { ScopeId, TenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

/** What is backed up without anybody asking, in SQL. */

/** A scope, and how old the newest backup is that the platform made of it by itself. */
export interface UnitOfBackups {
  readonly scope: ScopeId;
  readonly tenant: TenantId;
  readonly vertical: string;
  /**
   * `kept`: it is backed up. `still`: nothing is done there, so that what there is stays as it is. `gone`: it was reaped.
   * `erased`: its whole tenant was.
   */
  readonly state: 'kept' | 'still' | 'gone' | 'erased';
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** Null where there is none. What a clock that was ahead has dated into the future is not it. */
  readonly newestAtMs: number | null;
  /** Of all of them; null where there is none. */
  readonly oldestAtMs: number | null;
}

export interface ScheduledCopy {
  readonly id: string;
  readonly atMs: number;
}

/** How many are handed out at a time. */
const PAGE = 200;

const STATE = `CASE
    WHEN t.status = 'reaped' THEN 'erased'
    WHEN s.status = 'reaped' THEN 'gone'
    WHEN s.kind = 'live' AND s.status IN ('active', 'suspended') AND t.status IN ('active', 'suspended') THEN 'kept'
    ELSE 'still'
  END`;

const OF_SCOPE = "FROM backups b WHERE b.scope = s.id AND b.origin = 'scheduled'";

/** By id; each scope costs a look at the newest and the oldest of its own. Takes now, and the id before the page. */
export const BACKED_UP_PAGE = `SELECT s.id AS scope, s.tenant, s.vertical, ${STATE} AS state, s.created_at AS createdAtMs,
    (SELECT max(b.at) ${OF_SCOPE} AND b.at <= ?) AS newestAtMs, (SELECT min(b.at) ${OF_SCOPE}) AS oldestAtMs
  FROM scopes s JOIN tenants t ON t.id = s.tenant WHERE s.id > ? ORDER BY s.id LIMIT ${PAGE}`;

export function backedUpPage(
  db: SqlDatabase,
  { after, nowMs }: { readonly after: string | null; readonly nowMs: number },
): readonly UnitOfBackups[] {
  return db.all<UnitOfBackups & Record<string, never>>(BACKED_UP_PAGE, nowMs, after ?? '');
}

/** Those of the directory have no scope. */
export const SCHEDULED_OF =
  "SELECT id, at AS atMs FROM backups WHERE scope IS ? AND origin = 'scheduled' ORDER BY at DESC, id DESC";

export function scheduledOf(db: SqlDatabase, scope: string | null): readonly ScheduledCopy[] {
  return db.all<ScheduledCopy & Record<string, never>>(SCHEDULED_OF, scope);
}

/** When the directory was last backed up, or was to be. Two rows each; these are some days, however often that is. */
export const DIRECTORY_TIMES =
  "SELECT at FROM admin_log WHERE action = 'directory-backups.create' ORDER BY sequence DESC LIMIT 600";

export function directoryTimes(db: SqlDatabase): readonly number[] {
  return db.all<{ at: number }>(DIRECTORY_TIMES).map(({ at }) => at);
}

/**
 * Which of the backups that the platform makes by itself are due, and which of them have had their time. Pure.
 *
 * Days and weeks that have no backup do not count: where none is made any more, because each fails, none is deleted.
 */

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
