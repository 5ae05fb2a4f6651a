/** The issues in SQL. */
import { type ScopeId, type TenantId, toTimestamp } from '@freehold/contracts';
import {
  defineTable,
  hidden,
  integer,
  json,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { IssueRecord } from '../declarations/issues.ts';
import type { Statement } from '../lib/pages.ts';

export interface IssueSample {
  readonly atMs: number;
  readonly tenant: TenantId | null;
  readonly scope: ScopeId | null;
  readonly version: string | null;
  readonly frames: readonly string[];
}

const issues = defineTable('issues', ['fingerprint'], {
  fingerprint: text(),
  kin: hidden(text()),
  status: text<IssueRecord['status']>(),
  vertical: nullable(text()),
  place: hidden(text()),
  name: text(),
  message: text(),
  count: integer(),
  regressions: hidden(integer()),
  firstSeenMs: hidden(time()),
  lastSeenMs: hidden(time()),
  newestVersion: nullable(text()),
  resolvedIn: nullable(text()),
  resolvedAtMs: hidden(nullable(time())),
  sample: hidden(json<IssueSample>()),
  /** The admin-log row of the last verdict; 0 before there was one. */
  revision: hidden(integer()),
});
export type IssueRow = RowOf<typeof issues>;

export const loadIssue = issues.get;
export const saveIssue = issues.saving(
  ...(['status', 'count', 'regressions', 'firstSeenMs', 'lastSeenMs', 'newestVersion'] as const),
  ...(['resolvedIn', 'resolvedAtMs', 'sample', 'revision'] as const),
);
const shown =
  issues.recording<
    Omit<IssueRecord, 'where' | 'regressions' | 'firstSeenAt' | 'lastSeenAt' | 'sample' | 'etag'>
  >();

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
    sql: `${issues.select}${where} ORDER BY last_seen DESC, fingerprint DESC LIMIT ?`,
    params: [...given.map(({ value }) => value), limit],
  };
}

export function listIssues(db: SqlDatabase, filter: IssueFilter): IssueRecord[] {
  const { sql, params } = issuesPage(filter);
  return issues.all(db, sql, ...params).map(issueOfRow);
}

export function issueOfRow(row: IssueRow): IssueRecord {
  const { atMs, frames, ...sample } = row.sample;
  return {
    ...shown(row),
    where: row.place,
    regressions: row.regressions,
    firstSeenAt: toTimestamp(row.firstSeenMs),
    lastSeenAt: toTimestamp(row.lastSeenMs),
    sample: { at: toTimestamp(atMs), ...sample, frames: [...frames] },
    // A regression changes the state without a row in the admin log, and must change the tag too.
    etag: `${row.revision}.${row.regressions}`,
  };
}
