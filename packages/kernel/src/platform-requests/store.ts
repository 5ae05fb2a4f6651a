/** The SQL of platform requests, typed in and out. */
import {
  cutPage,
  decodeCursor,
  type EventId,
  type InvocationId,
  type Page,
  type PlatformRequest,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';

type Status = PlatformRequest['status'];

interface RequestRow {
  readonly id: string;
  readonly kind: string;
  readonly payload: string;
  readonly status: Status;
  readonly revision: number;
  readonly requestedBy: string;
  readonly invocation: InvocationId;
  readonly cause: EventId | null;
  readonly atMs: number;
  readonly settledAtMs: number | null;
  readonly result: string | null;
}

/** A filter of requests; absent fields match all. */
export interface RequestFilter {
  readonly kind?: string | undefined;
  readonly status?: Status | undefined;
}

interface PageOptions {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

const READ = `SELECT id, kind, payload, status, revision, requested_by AS requestedBy, invocation, cause, at AS atMs,
  settled_at AS settledAtMs, result FROM _spine_platform_requests`;

export const REQUEST_SQL = {
  one: `${READ} WHERE id = ?`,
  pending: `${READ} WHERE status = 'pending' AND id > ? ORDER BY id LIMIT ?`,
  pendingOfKind: `${READ} WHERE kind = ? AND status = 'pending' AND id > ? ORDER BY id LIMIT ?`,
  all: `${READ} WHERE id < ? ORDER BY id DESC LIMIT ?`,
  ofStatus: `${READ} WHERE status = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  ofKindAndStatus: `${READ} WHERE kind = ? AND status = ? AND id < ? ORDER BY id DESC LIMIT ?`,
} as const;

/** Counts the waiting requests up to a bound. */
export const COUNT_PENDING_SQL = `SELECT count(*) AS n FROM (SELECT 1 FROM _spine_platform_requests WHERE status = 'pending' LIMIT ?)`;
/** Read along the primary key when a scope is opened. */
export const NEWEST_REQUEST_SQL = 'SELECT id FROM _spine_platform_requests ORDER BY id DESC LIMIT 1';
/** Sorts after every id. */
const NEWEST = '~';
const STATUSES: readonly Status[] = ['pending', 'done', 'refused', 'failed'];

export function makeRequestStore(db: SqlDatabase) {
  const page = (sql: string, params: readonly SqlValue[], limit: number): Page<PlatformRequest> =>
    cutPage(db.all<RequestRow>(sql, ...params, limit + 1), limit, (row) => row.id, recordOf);

  /** Returns requests, newest first. */
  const history = ({ kind, status, limit, cursor }: RequestFilter & PageOptions): Page<PlatformRequest> => {
    const before = cursor === undefined ? NEWEST : decodeCursor(cursor);
    if (kind === undefined)
      return status === undefined
        ? page(REQUEST_SQL.all, [before], limit)
        : page(REQUEST_SQL.ofStatus, [status, before], limit);
    // One search for each status: an index over the kind alone would have no other use.
    const rows = (status === undefined ? STATUSES : [status])
      .flatMap((each) => db.all<RequestRow>(REQUEST_SQL.ofKindAndStatus, kind, each, before, limit + 1))
      .sort((a, b) => (a.id < b.id ? 1 : -1));
    return cutPage(rows.slice(0, limit + 1), limit, (row) => row.id, recordOf);
  };

  return {
    history,
    one: (id: string): PlatformRequest | null => {
      const row = db.get<RequestRow>(REQUEST_SQL.one, id);
      return row ? recordOf(row) : null;
    },
    /** Returns waiting requests, oldest first. */
    pending: ({ kind, limit, cursor }: Pick<RequestFilter, 'kind'> & PageOptions): Page<PlatformRequest> => {
      const after = cursor === undefined ? '' : decodeCursor(cursor);
      return kind === undefined
        ? page(REQUEST_SQL.pending, [after], limit)
        : page(REQUEST_SQL.pendingOfKind, [kind, after], limit);
    },
    countPending: (max: number): number => db.get<{ n: number }>(COUNT_PENDING_SQL, max)?.n ?? 0,
    insert: (row: Omit<RequestRow, 'status' | 'revision' | 'settledAtMs' | 'result'>): void =>
      db.run(
        `INSERT INTO _spine_platform_requests (id, kind, payload, status, revision, requested_by, invocation, cause, at)
         VALUES (?, ?, ?, 'pending', 1, ?, ?, ?, ?)`,
        row.id,
        row.kind,
        row.payload,
        row.requestedBy,
        row.invocation,
        row.cause,
        row.atMs,
      ),
    settle: (to: {
      readonly id: string;
      readonly status: Status;
      readonly result: string;
      readonly atMs: number;
    }): void =>
      db.run(
        `UPDATE _spine_platform_requests SET status = ?, result = ?, settled_at = ?, revision = revision + 1 WHERE id = ?`,
        to.status,
        to.result,
        to.atMs,
        to.id,
      ),
    newestId: (): string | undefined => db.get<{ id: string }>(NEWEST_REQUEST_SQL)?.id,
  };
}

function recordOf({ payload, result, atMs, settledAtMs, ...row }: RequestRow): PlatformRequest {
  return {
    ...row,
    payload: JSON.parse(payload),
    result: result === null ? null : JSON.parse(result),
    at: toTimestamp(atMs),
    settledAt: settledAtMs === null ? null : toTimestamp(settledAtMs),
  };
}
