/** The issues in SQL. */
import { type ScopeId, type TenantId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { IssueRecord } from '../declarations/issues.ts';
import type { Statement } from '../lib/pages.ts';

export interface IssueSample {
  readonly atMs: number;
  readonly tenant: TenantId | null;
  readonly scope: ScopeId | null;
  readonly version: string | null;
  readonly frames: readonly string[];
}

export interface IssueRow {
  readonly fingerprint: string;
  readonly kin: string;
  readonly status: IssueRecord['status'];
  readonly vertical: string | null;
  readonly place: string;
  readonly name: string;
  readonly message: string;
  readonly count: number;
  readonly regressions: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  readonly newestVersion: string | null;
  readonly resolvedIn: string | null;
  readonly resolvedAtMs: number | null;
  /** An {@link IssueSample} as JSON. */
  readonly sample: string;
  /** The admin-log row of the last verdict; 0 before there was one. */
  readonly revision: number;
}

const COLUMNS = `fingerprint, kin, status, vertical, place, name, message, count, regressions,
  first_seen AS firstSeenMs, last_seen AS lastSeenMs, newest_version AS newestVersion, resolved_in AS resolvedIn,
  resolved_at AS resolvedAtMs, sample, revision`;

export function loadIssue(db: SqlDatabase, fingerprint: string): IssueRow | undefined {
  return db.get<IssueRow>(`SELECT ${COLUMNS} FROM issues WHERE fingerprint = ?`, fingerprint);
}

export function saveIssue(db: SqlDatabase, row: IssueRow): void {
  db.run(
    `INSERT INTO issues (fingerprint, kin, status, vertical, place, name, message, count, regressions, first_seen,
       last_seen, newest_version, resolved_in, resolved_at, sample, revision)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (fingerprint) DO UPDATE SET status = excluded.status, count = excluded.count,
       regressions = excluded.regressions, first_seen = excluded.first_seen, last_seen = excluded.last_seen,
       newest_version = excluded.newest_version, resolved_in = excluded.resolved_in,
       resolved_at = excluded.resolved_at, sample = excluded.sample, revision = excluded.revision`,
    ...[row.fingerprint, row.kin, row.status, row.vertical, row.place, row.name, row.message, row.count],
    ...[row.regressions, row.firstSeenMs, row.lastSeenMs, row.newestVersion, row.resolvedIn],
    ...[row.resolvedAtMs, row.sample, row.revision],
  );
}

export const KIN_COUNT = 'SELECT count(*) AS count FROM issues WHERE kin = ?';

export function countKin(db: SqlDatabase, kin: string): number {
  return db.get<{ count: number }>(KIN_COUNT, kin)?.count ?? 0;
}

export function countIssues(db: SqlDatabase): number {
  return db.get<{ count: number }>('SELECT count(*) AS count FROM issues')?.count ?? 0;
}

/** The issue seen least recently, if that was before this time. */
export const STALE_ISSUE =
  'SELECT fingerprint FROM issues WHERE last_seen < ? ORDER BY last_seen, fingerprint LIMIT 1';
/** The resolved issue seen least recently. */
export const RESOLVED_ISSUE =
  "SELECT fingerprint FROM issues WHERE status = 'resolved' ORDER BY last_seen, fingerprint LIMIT 1";

/** Forgets one unneeded issue: unseen since `staleMs`, else resolved. @returns false where all are needed. */
export function makeRoom(db: SqlDatabase, staleMs: number): boolean {
  const spare =
    db.get<{ fingerprint: string }>(STALE_ISSUE, staleMs) ?? db.get<{ fingerprint: string }>(RESOLVED_ISSUE);
  if (!spare) return false;
  db.run('DELETE FROM issues WHERE fingerprint = ?', spare.fingerprint);
  return true;
}

export interface IssueFilter {
  readonly status?: string | undefined;
  readonly vertical?: string | undefined;
  readonly limit: number;
}

/** Most recently seen first. */
export function issuesPage({ status, vertical, limit }: IssueFilter): Statement {
  const given = Object.entries({ status, vertical }).flatMap(([column, value]) =>
    value === undefined ? [] : [{ sql: `${column} = ?`, value }],
  );
  const where = given.length === 0 ? '' : ` WHERE ${given.map(({ sql }) => sql).join(' AND ')}`;
  return {
    sql: `SELECT ${COLUMNS} FROM issues${where} ORDER BY last_seen DESC, fingerprint DESC LIMIT ?`,
    params: [...given.map(({ value }) => value), limit],
  };
}

export function listIssues(db: SqlDatabase, filter: IssueFilter): IssueRecord[] {
  const { sql, params } = issuesPage(filter);
  return db.all<IssueRow>(sql, ...params).map(issueOfRow);
}

export function issueOfRow(row: IssueRow): IssueRecord {
  const { atMs, frames, ...sample }: IssueSample = JSON.parse(row.sample);
  return {
    fingerprint: row.fingerprint,
    status: row.status,
    vertical: row.vertical,
    where: row.place,
    name: row.name,
    message: row.message,
    count: row.count,
    regressions: row.regressions,
    firstSeenAt: toTimestamp(row.firstSeenMs),
    lastSeenAt: toTimestamp(row.lastSeenMs),
    newestVersion: row.newestVersion,
    resolvedIn: row.resolvedIn,
    sample: { at: toTimestamp(atMs), ...sample, frames: [...frames] },
    // A regression changes the state without a row in the admin log, and must change the tag too.
    etag: `${row.revision}.${row.regressions}`,
  };
}
