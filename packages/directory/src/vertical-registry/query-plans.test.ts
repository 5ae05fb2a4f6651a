/** Every hot statement of the registry is served by an index: its cost follows the size of the answer. */
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Statement } from '../lib/pages.ts';
import { PLATFORM_GRANT } from '../platform-grants/store.ts';
import { serviceRefsPage } from '../service-refs/operations.ts';
import { directoryUnit } from '../unit.ts';
import { secretsPage } from '../vertical-secrets/store.ts';
import { ROLLBACK_TARGET, SCOPES_OF } from './discard.ts';
import { instancesPage } from './operations.ts';
import { USED_BY_OTHERS } from './reviews.ts';
import { OTHERS_BOUND } from './scope-version.ts';
import { BOUND, DEPLOYED, versionsPage } from './versions-store.ts';
import { verticalsPage } from './verticals-store.ts';

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

const page = { limit: 20, cursor: btoa('m') };

test.each<[string, Statement]>([
  ['all of them', verticalsPage(page)],
  ["an owner's", verticalsPage({ ...page, ownerTenant: 'tnt_1' })],
  ['what a tenant sees', verticalsPage({ ...page, visibleTo: 'tnt_1' })],
  ['both', verticalsPage({ ...page, visibleTo: 'tnt_1', ownerTenant: 'tnt_2' })],
  ['versions', versionsPage({ ...page, vertical: 'app' })],
  ['versions in one state', versionsPage({ ...page, vertical: 'app', status: 'pending' })],
  ['secrets', secretsPage({ ...page, vertical: 'app' })],
  ['instances', instancesPage({ ...page, vertical: 'app' })],
  ["instances of a builder's", instancesPage({ ...page, vertical: 'app', tenant: 'tnt_1' })],
])('%s: a search, no scan, no sort', (_, statement) => {
  const plan = planOf(statement);
  expect(plan).toMatch(/SEARCH/);
  expect(plan).not.toMatch(/SCAN|TEMP B-TREE FOR ORDER BY/);
});

test('all scripts: two walks along their names, each cut before they are merged', () => {
  const plan = planOf(serviceRefsPage(page));
  expect(plan).toMatch(/MERGE \(UNION ALL\)/);
  expect(plan).toMatch(/SEARCH v USING PRIMARY KEY \(slug>\?\)/);
  expect(plan).toMatch(/SEARCH r USING INDEX \w+ \(script>\?\)/);
  // Only the two pages are scanned and sorted.
  expect(plan).not.toMatch(/SCAN (?!\(subquery)/);
});

test("a tenant's scripts: from its verticals to their versions, past those of other tenants", () => {
  const plan = planOf(serviceRefsPage({ ...page, tenant: 'tnt_1' }));
  expect(plan.match(/SEARCH v USING (COVERING )?INDEX verticals_owner/g)).toHaveLength(2);
  expect(plan).toMatch(/SEARCH r USING INDEX \w+ \(vertical=\?\)/);
  expect(plan).not.toMatch(/SCAN (?!\(subquery)/);
});

describe('statements inside of transactions', () => {
  test.each([
    USED_BY_OTHERS,
    OTHERS_BOUND,
    BOUND,
    DEPLOYED,
    ROLLBACK_TARGET,
    SCOPES_OF,
    PLATFORM_GRANT,
    'SELECT 1 FROM vertical_versions WHERE vertical = ? AND version = ?',
    'SELECT 1 FROM scope_versions WHERE scope = ?',
  ])('%s: a search', (sql) => {
    const plan = planOf({ sql, params: Array.from(sql.matchAll(/\?/g), () => 'x') });
    expect(plan).toMatch(/SEARCH/);
    expect(plan).not.toMatch(/SCAN/);
  });
});
