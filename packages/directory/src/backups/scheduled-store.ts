/** What is backed up without anybody asking, in SQL. */
import type { ScopeId, TenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

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
