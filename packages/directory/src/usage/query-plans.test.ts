/** Every hot statement of issues, the operations log and usage is served by an index. */
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, expect, test } from 'vitest';
import { issuesPage, KIN_COUNT, RESOLVED_ISSUE, STALE_ISSUE } from '../issues/store.ts';
import type { Statement } from '../lib/pages.ts';
import { opsFailuresPage, TOLD_ALREADY } from '../operations-log/failures-store.ts';
import { ageTrim, OPS_FAILURES, SWEEP_RUNS, shelfTrim } from '../operations-log/retention.ts';
import { sweepRunsPage } from '../operations-log/sweep-runs-store.ts';
import { directoryUnit } from '../unit.ts';
import { metersPage, usagePage } from './fold-store.ts';
import { AGED_LINES, LINE_TAKEN } from './lines-store.ts';

const database = new DatabaseSync(':memory:');
beforeAll(() => {
  for (const { migrations } of directoryUnit.migrations) for (const { sql } of migrations) database.exec(sql);
});

const planOf = ({ sql, params }: Statement): string =>
  database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...params)
    .map(({ detail }) => String(detail))
    .join('\n');

const page = { limit: 20 };
const cursor = btoa('12');
const days = { since: '2026-11-01', until: '2026-11-30' };
const after = btoa('tnt_1 openai:gpt-5-mini');

const SEARCHES: [string, Statement][] = [
  ['issues by state', issuesPage({ ...page, status: 'open' })],
  ['issues by vertical', issuesPage({ ...page, vertical: 'fieldwork' })],
  ['issues by both', issuesPage({ ...page, status: 'open', vertical: 'fieldwork' })],
  ['kin of an issue', { sql: KIN_COUNT, params: ['x'] }],
  ['an issue without an occurrence for long', { sql: STALE_ISSUE, params: [1] }],
  ['an issue that is resolved', { sql: RESOLVED_ISSUE, params: [] }],
  ['failures by tenant', opsFailuresPage({ ...page, tenant: 'tnt_1', cursor })],
  ['failures by scope', opsFailuresPage({ ...page, scope: 'scp_1', cursor })],
  ['failures by operation', opsFailuresPage({ ...page, operation: 'x', cursor })],
  ['failures, all of them', opsFailuresPage({ ...page, cursor })],
  ['sweep runs by tenant', sweepRunsPage({ ...page, tenant: 'tnt_1', cursor })],
  ['sweep runs by scope', sweepRunsPage({ ...page, scope: 'scp_1', cursor })],
  ['sweep runs by kind', sweepRunsPage({ ...page, kind: 'connection', cursor })],
  ['sweep runs by unit', sweepRunsPage({ ...page, unit: 'platform/meters', cursor })],
  ['sweep runs by outcome', sweepRunsPage({ ...page, outcome: 'failed', cursor })],
  ['sweep runs by run', sweepRunsPage({ ...page, run: 'req_1', cursor })],
  ['sweep runs, all of them', sweepRunsPage({ ...page, cursor })],
  ['old failures', { sql: ageTrim(OPS_FAILURES), params: [1] }],
  ["a tenant's failures beyond the bound", shelfTrim(OPS_FAILURES, { tenant: 'tnt_1' })],
  ['a failure of the last hour', { sql: TOLD_ALREADY, params: ['x', 'y', 1, 9, 'z'] }],
  ['old sweep runs', { sql: ageTrim(SWEEP_RUNS), params: [1] }],
  ["a tenant's sweep runs beyond the bound", shelfTrim(SWEEP_RUNS, { tenant: 'tnt_1', kind: 'schedule' })],
  ['whether a line was taken', { sql: LINE_TAKEN, params: ['scp_1', 'prq_1'] }],
  ['old lines', { sql: AGED_LINES, params: [1] }],
  ['usage of a tenant', usagePage({ ...page, ...days, tenant: 'tnt_1' })],
  ['usage of a tenant, next page', usagePage({ ...page, ...days, tenant: 'tnt_1', cursor: after })],
  ['usage of everybody, next page', usagePage({ ...page, ...days, cursor: after })],
  ['meters of a tenant', metersPage({ ...page, ...days, tenant: 'tnt_1' })],
  ['meters of everybody, next page', metersPage({ ...page, ...days, cursor: after })],
];

test.each(SEARCHES)('%s: a search, no scan, no sort', (_, statement) => {
  const plan = planOf(statement);
  expect(plan).toMatch(/SEARCH/);
  expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
});

test.each([
  ['issues', issuesPage(page), /^SCAN issues USING INDEX issues_last_seen$/],
  ['usage of everybody', usagePage({ ...page, ...days }), /^SCAN model_usage_days$/],
  ['meters of everybody', metersPage({ ...page, ...days }), /^SCAN meter_days$/],
] as const)('%s: a walk along the order, which the limit ends', (_, statement, walk) => {
  expect(planOf(statement)).toMatch(walk);
});
