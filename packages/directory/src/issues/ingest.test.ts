/** Incidents that come late or out of turn, and their issue (spec C-26). */
import { DatabaseSync } from 'node:sqlite';
import type { SqlDatabase, SqlValue, UnitContext } from '@freehold/store';
import { expect, test } from 'vitest';
import { type CountedIncident, ingest } from './ingest.ts';
import { issueMigrations } from './schema.ts';
import { type IssueRow, issuesPage, loadIssue, saveIssue } from './store.ts';

const FAULT = 'f'.repeat(32);
const SEEN_MS = 1_000_000;

const line = (fault: string, seenMs: number, more: Partial<CountedIncident> = {}): CountedIncident => ({
  fingerprint: fault,
  kin: fault,
  vertical: 'fieldwork',
  where: 'scope-fieldwork.invoke',
  name: 'TypeError',
  message: 'it broke',
  count: 1,
  firstSeenMs: seenMs,
  lastSeenMs: seenMs,
  sample: { atMs: seenMs, tenant: null, scope: null, version: '1.0.0', frames: [`at ${seenMs}`] },
  ...more,
});

function open() {
  const database = new DatabaseSync(':memory:');
  for (const { sql } of issueMigrations.migrations) database.exec(sql);
  const db = {
    run: (sql: string, ...params: SqlValue[]) => void database.prepare(sql).run(...params),
    get: (sql: string, ...params: SqlValue[]) => database.prepare(sql).get(...params),
    all: (sql: string, ...params: SqlValue[]) => database.prepare(sql).all(...params),
  } as unknown as SqlDatabase;
  const context = { db, now: () => SEEN_MS } as unknown as UnitContext;
  const see = (seenMs: number, more?: Partial<CountedIncident>) => ingest(context, line(FAULT, seenMs, more));
  const issue = (): IssueRow => loadIssue(db, FAULT) ?? expect.fail('there is no issue');
  const resolve = (atMs: number) =>
    saveIssue(db, { ...issue(), status: 'resolved', resolvedIn: '1.0.0', resolvedAtMs: atMs });
  return { db, context, see, issue, resolve };
}

test('what was last seen before the verdict, and is written after it, is no regression; from then on it is', () => {
  const { see, issue, resolve } = open();
  see(SEEN_MS);
  resolve(SEEN_MS + 10);
  see(SEEN_MS + 9);
  expect(issue()).toMatchObject({ status: 'resolved', regressions: 0, count: 2 });
  see(SEEN_MS + 10);
  expect(issue()).toMatchObject({ status: 'regressed', regressions: 1, count: 3 });
});

test('a line that comes late makes an issue older, and neither younger nor another one to look at', () => {
  const { see, issue } = open();
  see(SEEN_MS);
  see(SEEN_MS - 500);
  expect(issue()).toMatchObject({ firstSeenMs: SEEN_MS - 500, lastSeenMs: SEEN_MS, count: 2 });
  expect(issue().sample).toMatchObject({ atMs: SEEN_MS });
  see(SEEN_MS + 500);
  expect(issue()).toMatchObject({ firstSeenMs: SEEN_MS - 500, lastSeenMs: SEEN_MS + 500, count: 3 });
  expect(issue().sample).toMatchObject({ atMs: SEEN_MS + 500 });
});

test('the list goes by when each was last seen: not by how often, nor by when it began', () => {
  const { db, context } = open();
  ingest(context, line('a'.repeat(32), SEEN_MS, { firstSeenMs: 5, lastSeenMs: 30, count: 1 }));
  ingest(context, line('b'.repeat(32), SEEN_MS, { firstSeenMs: 10, lastSeenMs: 20, count: 9 }));
  ingest(context, line('c'.repeat(32), SEEN_MS, { firstSeenMs: 15, lastSeenMs: 40, count: 5 }));
  const { sql, params } = issuesPage({ limit: 10 });
  const listed = db.all<{ fingerprint: string }>(sql, ...params);
  expect(listed.map(({ fingerprint }) => fingerprint[0])).toEqual(['c', 'a', 'b']);
});
