/**
 * Decides which scheduled backups are due and which have expired. Pure, beside the statements that it reads from.
 *
 * Days and weeks without a backup do not count: where every backup fails, none is deleted.
 */
import type { ScopeId, TenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

/** A scope, with the times of its scheduled backups. */
export interface UnitOfBackups {
  readonly scope: ScopeId;
  readonly tenant: TenantId;
  readonly vertical: string;
  /**
   * `kept`: it is backed up. `still`: it is not, and its backups stay. `gone`: it was reaped. `erased`: its whole tenant
   * was.
   */
  readonly state: 'kept' | 'still' | 'gone' | 'erased';
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** Null where there is none. Ignores backups dated into the future by a wrong clock. */
  readonly newestAtMs: number | null;
  /** Of all of them; null where there is none. */
  readonly oldestAtMs: number | null;
}

export interface ScheduledCopy {
  readonly id: string;
  readonly atMs: number;
}

const PAGE = 200;

const STATE = `CASE
    WHEN t.status = 'reaped' THEN 'erased'
    WHEN s.status = 'reaped' THEN 'gone'
    WHEN s.kind = 'live' AND s.status IN ('active', 'suspended') AND t.status IN ('active', 'suspended') THEN 'kept'
    ELSE 'still'
  END`;

const OF_SCOPE = "FROM backups b WHERE b.scope = s.id AND b.origin = 'scheduled'";

/** By id; each scope costs two look-ups in the index. Takes now, and the id before the page. */
export const BACKED_UP_PAGE = `SELECT s.id AS scope, s.tenant, s.vertical, ${STATE} AS state, s.created_at AS createdAtMs,
    (SELECT max(b.at) ${OF_SCOPE} AND b.at <= ?) AS newestAtMs, (SELECT min(b.at) ${OF_SCOPE}) AS oldestAtMs
  FROM scopes s JOIN tenants t ON t.id = s.tenant WHERE s.id > ? ORDER BY s.id LIMIT ${PAGE}`;

export function backedUpPage(
  db: SqlDatabase,
  { after, nowMs }: { readonly after: string | null; readonly nowMs: number },
): readonly UnitOfBackups[] {
  return db.all<UnitOfBackups & Record<string, never>>(BACKED_UP_PAGE, nowMs, after ?? '');
}

/** The scheduled backups of a scope, or of the directory (null), newest first. */
export const SCHEDULED_OF =
  "SELECT id, at AS atMs FROM backups WHERE scope IS ? AND origin = 'scheduled' ORDER BY at DESC, id DESC";

export function scheduledOf(db: SqlDatabase, scope: string | null): readonly ScheduledCopy[] {
  return db.all<ScheduledCopy & Record<string, never>>(SCHEDULED_OF, scope);
}

/** The times of the directory's recent backups, two rows each. */
export const DIRECTORY_TIMES =
  "SELECT at FROM admin_log WHERE action = 'directory-backups.create' ORDER BY sequence DESC LIMIT 600";

export function directoryTimes(db: SqlDatabase): readonly number[] {
  return db.all<{ at: number }>(DIRECTORY_TIMES).map(({ at }) => at);
}

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

/** The least time between two moments, both after the expiration of a copy, before it is deleted. */
const CONFIRMED_MS = 20 * 60 * 60 * 1000;

/**
 * The expired copies. A copy younger than a day stays, and so does the newest, however old it is. A copy dated into the
 * future by a wrong clock replaces no other, and stays until that time.
 */
export function expiredOf(
  copies: readonly ScheduledCopy[],
  { keepDaily, keepWeekly }: BackupPolicy,
  nowMs: number,
): readonly ScheduledCopy[] {
  const newestFirst = copies.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => b.atMs - a.atMs);
  const retained = new Set([
    ...newestOfEach(newestFirst, keepDaily, ({ atMs }) => Math.floor(atMs / DAY_MS)),
    ...newestOfEach(newestFirst, keepWeekly, ({ atMs }) => Math.floor((atMs + MONDAY_MS) / WEEK_MS)),
  ]);
  return newestFirst.slice(1).filter((copy) => !retained.has(copy) && copy.atMs <= nowMs - DAY_MS);
}

/** The retention of the copies of a reaped scope: as long as the oldest of a living one. */
export function keptAfterReapMs({ keepDaily, keepWeekly }: BackupPolicy): number {
  return Math.max(keepDaily * DAY_MS, keepWeekly * WEEK_MS);
}

/**
 * The expired copies of a reaped scope, which gets no newer one. They are retained as long as the oldest of a living scope,
 * in case the reap is regretted.
 *
 * A clock that is ahead for a while would expire all of them at once. So an expiration counts only once the platform was
 * seen working after it at two moments that are most of a day apart.
 * @param seenMs when the platform was working.
 */
export function expiredOfReaped(
  copies: readonly ScheduledCopy[],
  policy: BackupPolicy,
  { nowMs, seenMs }: { readonly nowMs: number; readonly seenMs: readonly number[] },
): readonly ScheduledCopy[] {
  const retainedMs = keptAfterReapMs(policy);
  return copies.filter(({ atMs }) => {
    if (atMs >= nowMs - retainedMs) return false;
    const behind = seenMs.filter((ms) => ms >= atMs + retainedMs && ms <= nowMs);
    return Math.max(...behind) - Math.min(...behind) >= CONFIRMED_MS;
  });
}

/**
 * Whether a unit is due: its slot has passed since its newest backup. The id decides the slot within the interval, so that
 * the fleet is not copied all at once. A backup in the future was dated by a wrong clock and counts as none; callers leave
 * it out of `newestAtMs`.
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

/** FNV-1a, 32 bits: spreads evenly; nothing depends on its secrecy. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
