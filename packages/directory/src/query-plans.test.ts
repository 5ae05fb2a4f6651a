/** Every hot statement is served by an index: its cost follows the size of the answer, not of the table. */

import { DatabaseSync } from 'node:sqlite';
import { beforeAll, expect, test } from 'vitest';
import { PROGRAM_CALLER } from './access/callers.ts';
import { accessLogPage } from './audit/access-log.ts';
import { adminLogPage } from './audit/admin-log.ts';
import { LEFT_BEHIND } from './audit/open-intents.ts';
import { BACKED_UP_PAGE, DIRECTORY_TIMES, SCHEDULED_OF } from './backups/schedule.ts';
import { backupsPage } from './backups/store.ts';
import { activityPage } from './connections/connection-record.ts';
import { CONNECTIONS_OF_SCOPE, connectionsPage, grantsPage, MAINTENANCE_PAGE } from './connections/store.ts';
import { snapshotsPage } from './copies/snapshot-store.ts';
import { EPOCHS_SO_FAR, INTENT_OF_BACKUP } from './directory-restore/operations.ts';
import { entitlementsPage } from './entitlements/store.ts';
import { BELOW, CALLED, NAMESAKE, NEIGHBOUR } from './hostnames/given-names.ts';
import { HELD_BY, HELD_BY_OTHER } from './hostnames/hostname-history.ts';
import { OTHER_NAMES } from './hostnames/operations.ts';
import { ACTIVE_HOSTNAMES, hostnamesPage, RECHECK_PAGE } from './hostnames/store.ts';
import { ATTEMPTS_OF_TENANT } from './hostnames/verify.ts';
import { identitiesPage } from './identities/store.ts';
import type { Statement } from './lib/pages.ts';
import { CANCEL_WORK_OF, operationsPage } from './long-work/store.ts';
import { PREVIEW_ROUTE, PREVIEWS, previewsPage } from './previews/store.ts';
import { projections } from './projections.ts';
import { dueStatement, farAheadStatement } from './projector/outbox.ts';
import { ERASED } from './reap/erasure.ts';
import { OF_SCOPE } from './reap/forget-scope.ts';
import {
  BACKUPS_OF_TENANT_TO_ERASE,
  BACKUPS_TO_ERASE,
  CONNECTIONS_TO_ERASE,
  SCOPES_TO_ERASE,
} from './reap/tenants.ts';
import { COUNT_TAKEN_SINCE, REVOCATIONS_SINCE, TAKEN_SINCE } from './revocations/store.ts';
import { rolesPage } from './roles/store.ts';
import { ACTING_CONNECTIONS, ACTIVE_NAMES } from './scopes/status.ts';
import { scopesPage } from './scopes/store.ts';
import { SIGNED } from './session-secret/operations.ts';
import { PROGRAMS_OF, SESSIONS_OF, TOKENS_OF } from './staff/operations.ts';
import { staffProgramsPage } from './staff/program-store.ts';
import { staffPage } from './staff/store.ts';
import { staffTokensPage } from './staff/token-store.ts';
import { SERVED } from './tenants/operations.ts';
import { tenantsPage } from './tenants/store.ts';
import { DESCENDANTS, MADE_BY } from './tokens/lineage.ts';
import { pushTokensPage, serviceTokensPage } from './tokens/store.ts';
import { directoryUnit } from './unit.ts';
import { FOLLOWING } from './vertical-registry/channels.ts';

const database = new DatabaseSync(':memory:');
beforeAll(() => {
  for (const { migrations } of directoryUnit.migrations) for (const { sql } of migrations) database.exec(sql);
});

const planOf = ({ sql, params }: Statement): string[] =>
  database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...params)
    .map(({ detail }) => String(detail));

const page = { limit: 20 };
/** Pages of text keys and of numbers. */
const cursor = btoa('12');

const FILTERED: [string, Statement][] = [
  ['tenants by status', tenantsPage({ ...page, status: 'active' })],
  ['tenants by status, second page', tenantsPage({ ...page, status: 'active', cursor })],
  ['tenants by q', tenantsPage({ ...page, q: 'ac' })],
  ['tenants by q and status', tenantsPage({ ...page, q: 'ac', status: 'active', cursor })],
  ["a builder's tenant", tenantsPage({ ...page, only: 'tnt_1' })],
  ['identities by tenant', identitiesPage({ ...page, tenant: 'tnt_1', cursor })],
  ['entitlements by tenant', entitlementsPage({ ...page, tenant: 'tnt_1', cursor })],
  ['entitlements to be delivered', { sql: dueStatement(projections.entitlements, {}), params: [0, 20] }],
  [
    'entitlements of a clock that was ahead',
    { sql: farAheadStatement(projections.entitlements), params: [0, 0] },
  ],
  ['roles of a clock that was ahead', { sql: farAheadStatement(projections.roles), params: [0, 0] }],
  [
    "a tenant's entitlements to be delivered",
    { sql: dueStatement(projections.entitlements, { tenant: 'tnt_1' }), params: ['tnt_1', 0, 20] },
  ],
  ['the active host names of a scope', { sql: ACTIVE_HOSTNAMES, params: ['scp_1'] }],
  ['a name of another scope in an area', { sql: NEIGHBOUR, params: ['example.pipes.', 'scp_1'] }],
  ['previews of a vertical', previewsPage({ ...page, vertical: 'app', cursor })],
  ['previews of a branch', previewsPage({ ...page, vertical: 'app', branch: 'next' })],
  ['the preview at a host name', { sql: PREVIEW_ROUTE, params: ['a.localhost'] }],
  ...Object.entries(PREVIEWS).map(([name, sql]): [string, Statement] => [
    `previews: ${name}`,
    { sql, params: ['x'] },
  ]),
  ['scopes to be erased', { sql: SCOPES_TO_ERASE, params: ['tnt_1', '', 50] }],
  ['connections to be erased', { sql: CONNECTIONS_TO_ERASE, params: ['tnt_1', 50] }],
  ['backups to be erased', { sql: BACKUPS_TO_ERASE, params: ['scp_1', 50] }],
  ["a tenant's backups to be erased", { sql: BACKUPS_OF_TENANT_TO_ERASE, params: ['tnt_1', 50] }],
  ["a tenant's scopes that stop", { sql: SERVED.scopes, params: ['tnt_1'] }],
  ["a tenant's host names that stop", { sql: SERVED.hostnames, params: ['tnt_1'] }],
  ["a tenant's push tokens that stop", { sql: SERVED.pushTokens, params: ['tnt_1', 0] }],
  ["a tenant's builders who are shut out", { sql: SERVED.builders, params: ['tnt_1'] }],
  ['names of a scope that stop', { sql: ACTIVE_NAMES, params: ['scp_1'] }],
  [
    'connections that stop acting in a scope',
    { sql: ACTING_CONNECTIONS, params: ['tnt_1', 'scp_1', 'scp_1'] },
  ],
  ['the tenant whose slug is a label', { sql: NAMESAKE, params: ['acrne'] }],
  ["another tenant's names in an area", { sql: BELOW, params: ['exarnple.acrne.', 'tnt_1'] }],
  ['the tenant that is called like a label', { sql: CALLED, params: ['acme'] }],
  ['a name that a tenant held before', { sql: HELD_BY, params: ['acme.example', 'tnt_1'] }],
  ['other names of a surface', { sql: OTHER_NAMES, params: ['scp_1', 'app', 'a.example tnt_1'] }],
  ['scopes that a promotion moves', { sql: FOLLOWING, params: ['fieldwork', null, null] }],
  ['scopes that one session secret signs for', { sql: SIGNED, params: ['tnt_1', 'fieldwork'] }],
  ['sessions of a member', { sql: SESSIONS_OF, params: ['stf_1', 0] }],
  ['programs of a member', { sql: PROGRAMS_OF, params: ['stf_1', 0] }],
  ['staff tokens of a member', { sql: TOKENS_OF, params: ['stf_1', 0] }],
  ['the caller behind a program’s token', { sql: PROGRAM_CALLER, params: ['hash', 0, 'issuer'] }],
  ['scopes by tenant', scopesPage({ ...page, tenant: 'tnt_1', cursor })],
  ['scopes by vertical', scopesPage({ ...page, vertical: 'fieldwork', cursor })],
  [
    'scopes by vertical and version',
    scopesPage({ ...page, vertical: 'fieldwork', version: '1.0.0', cursor }),
  ],
  ['scopes by status', scopesPage({ ...page, status: 'active', cursor })],
  ['scopes by all', scopesPage({ ...page, tenant: 'tnt_1', vertical: 'fieldwork', status: 'active' })],
  ['snapshots of a scope', snapshotsPage({ ...page, scope: 'scp_1', cursor })],
  ['unfinished work of a program', { sql: CANCEL_WORK_OF, params: [0, 'grt_1'] }],
  ['long work by tenant', operationsPage({ ...page, tenant: 'tnt_1', cursor })],
  ['long work by scope', operationsPage({ ...page, scope: 'scp_1', cursor })],
  ['long work by state', operationsPage({ ...page, state: 'running', cursor })],
  ['what is backed up by itself', { sql: BACKED_UP_PAGE, params: [0, 'scp_1'] }],
  ['when the directory was backed up', { sql: DIRECTORY_TIMES, params: [] }],
  ['backups that were made by themselves', { sql: SCHEDULED_OF, params: ['scp_1'] }],
  ['backups of a scope', backupsPage({ ...page, scope: 'scp_1', cursor })],
  ['backups of the directory', backupsPage({ ...page, kind: 'directory', cursor })],
  ['host names by tenant', hostnamesPage({ ...page, tenant: 'tnt_1', cursor })],
  ['host names by scope', hostnamesPage({ ...page, scope: 'scp_1', cursor })],
  ['host names by status', hostnamesPage({ ...page, status: 'active', cursor })],
  ['push tokens', pushTokensPage({ ...page, cursor })],
  ['service tokens', serviceTokensPage({ ...page, cursor })],
  ['service tokens of an owner', serviceTokensPage({ ...page, owner: 'stf_1', cursor })],
  ['the descendants of a push token', { sql: DESCENDANTS, params: ['tok_1'] }],
  ['push tokens that a member made', { sql: MADE_BY, params: ['stf_1'] }],
  ['push tokens by tenant', pushTokensPage({ ...page, tenant: 'tnt_1', cursor })],
  ['builders of a tenant', staffPage({ ...page, tenant: 'tnt_1', cursor })],
  ['staff tokens of a member', staffTokensPage({ ...page, member: 'stf_1', cursor })],
  ['programs of a member', staffProgramsPage({ ...page, member: 'stf_1', nowMs: 0, cursor })],
  ['connections by tenant', connectionsPage({ ...page, tenant: 'tnt_1', cursor })],
  ['connections by scope', connectionsPage({ ...page, tenant: 'tnt_1', scope: 'scp_1', cursor })],
  ['connections by state', connectionsPage({ ...page, tenant: 'tnt_1', state: 'active', cursor })],
  ['activity of a connection', activityPage({ ...page, connection: 'con_1', cursor })],
  ['grants of a connection', grantsPage({ ...page, connection: 'con_1', cursor })],
  ['admin log by tenant', adminLogPage({ ...page, tenant: 'tnt_1', cursor })],
  ['admin log by scope', adminLogPage({ ...page, scope: 'scp_1', cursor })],
  ['admin log by actor', adminLogPage({ ...page, actor: 'ada', cursor })],
  ['admin log by action', adminLogPage({ ...page, action: 'roles.put', cursor })],
  ['admin log by outcome', adminLogPage({ ...page, outcome: 'failed', cursor })],
  ['access log by tenant', accessLogPage({ ...page, tenant: 'tnt_1', cursor })],
  ['access log by scope', accessLogPage({ ...page, scope: 'scp_1', cursor })],
  ['access log by actor', accessLogPage({ ...page, actor: 'ada', cursor })],
  ['access log by operation', accessLogPage({ ...page, operation: 'denials.list', cursor })],
];

test.each(FILTERED)('%s: a search, no scan, no sort', (_, statement) => {
  const plan = planOf(statement).join('\n');
  expect(plan).toMatch(/SEARCH/);
  expect(plan).not.toMatch(/SCAN/);
  expect(plan).not.toMatch(/TEMP B-TREE FOR ORDER BY/);
});

test.each(Object.entries(ERASED))('C-03: %s of a tenant are counted without a scan', (_, from) => {
  const plan = planOf({ sql: `SELECT COUNT(*) FROM ${from}`, params: ['tnt_1'] }).join('\n');
  expect(plan).toMatch(/SEARCH/);
  expect(plan).not.toMatch(/SCAN/);
});

const UNFILTERED: [string, Statement][] = [
  ['tenants', tenantsPage({ ...page, cursor })],
  ['scopes', scopesPage({ ...page, cursor })],
  ['scopes by version', scopesPage({ ...page, version: '1.0.0', cursor })],
  ['host names', hostnamesPage({ ...page, cursor })],
  ['roles', rolesPage({ ...page, cursor })],
  ['staff', staffPage({ ...page, cursor })],
  ['staff tokens', staffTokensPage({ ...page, cursor })],
  ['admin log', adminLogPage({ ...page, cursor })],
  ['access log', accessLogPage({ ...page, cursor })],
];

test.each(UNFILTERED)('%s, all of them: a walk along the key, which the limit ends', (_, statement) => {
  const plan = planOf(statement);
  expect(plan[0]).toMatch(/^SEARCH \w+ USING (INTEGER )?PRIMARY KEY/);
  // The look-up for each row finds one row, by its key.
  for (const step of plan.slice(1)) expect(step).toMatch(/^SEARCH \w+ USING .*\(\w+=\?\) LEFT-JOIN$/);
});

test.each([
  ['how often the directory was restored', EPOCHS_SO_FAR],
  ['with what a backup of the directory began', INTENT_OF_BACKUP],
])('%s is looked up by the action: half of the log has the same outcome', (_, sql) => {
  const plan = planOf({ sql, params: Array.from(sql.matchAll(/\?/g), () => 'x') }).join('\n');
  expect(plan).toMatch(/^SEARCH admin_log USING INDEX admin_log_action \(action=\?\)$/);
});

test.each([
  ['applied', REVOCATIONS_SINCE],
  ['counted', COUNT_TAKEN_SINCE],
  ['named', TAKEN_SINCE],
])('what was taken away since is %s in the order of the log, without a sort', (_, sql) => {
  const plan = planOf({ sql, params: Array.from(sql.matchAll(/\?/g), () => 'x') }).join('\n');
  expect(plan).toMatch(/^SEARCH (r|revocations) USING INDEX revocations_sequence/);
  expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
});

test('C-03: what a reaped scope or tenant left is found without a scan, table by table', () => {
  const left = [
    ...OF_SCOPE.map((table) => `DELETE FROM ${table} WHERE scope = ?`),
    ...['hostnames', 'connect_rounds', 'tenant_identities', 'entitlements', 'entitlement_sets', 'staff'].map(
      (table) => `DELETE FROM ${table} WHERE tenant = ?`,
    ),
  ];
  for (const sql of left) {
    const plan = planOf({ sql, params: ['x'] });
    expect([sql, plan.filter((step) => !step.startsWith('SEARCH'))]).toEqual([sql, []]);
  }
});

test('whatever refers to a row is found by an index, because deleting that row looks for it', () => {
  const references = database
    .prepare(
      `SELECT m.name AS "table", f."from" AS "column" FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f
       WHERE m.type = 'table'`,
    )
    .all();
  expect(references.length).toBeGreaterThan(10);
  for (const { table, column } of references) {
    const sql = `SELECT 1 FROM "${table}" WHERE "${column}" = ?`;
    expect([sql, planOf({ sql, params: ['x'] })[0]]).toEqual([sql, expect.stringMatching(/^SEARCH/)]);
  }
});

test('unsettled intents are found from their own small table', () => {
  const plan = planOf(adminLogPage({ ...page, outcome: 'unsettled' })).join('\n');
  expect(plan).toMatch(/SEARCH admin_log USING INTEGER PRIMARY KEY \(rowid=\?\)/);
  expect(plan).not.toMatch(/SCAN admin_log/);
});

test('intents that were left behind are found from that table too', () => {
  const plan = planOf({
    sql: LEFT_BEHIND,
    params: [9, 0, 'scopes.configure', 'scp_1', null, null, null, 10],
  }).join('\n');
  expect(plan).toMatch(/SEARCH l USING INTEGER PRIMARY KEY \(rowid=\?\)/);
  expect(plan).not.toMatch(/SCAN l|TEMP B-TREE/);
});

test('the upkeep of connections walks along the credentials, which the limit ends', () => {
  const plan = planOf({ sql: MAINTENANCE_PAGE, params: ['con_1', 100] }).join('\n');
  expect(plan).toMatch(/SEARCH k USING PRIMARY KEY/);
  expect(plan).toMatch(/SEARCH c USING PRIMARY KEY/);
  expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
});

test('the look at host names walks along the claims, and scopes that are due for roles are found by their time', () => {
  const names = planOf({ sql: RECHECK_PAGE, params: ['a', 50] }).join('\n');
  expect(names).toMatch(/SEARCH hostnames USING/);
  expect(names).not.toMatch(/SCAN|TEMP B-TREE/);
  const due = planOf({ sql: dueStatement(projections.roles, {}), params: [0, 20] }).join('\n');
  expect(due).toMatch(/SEARCH role_outbox USING (COVERING )?INDEX role_outbox_due/);
  expect(due).not.toMatch(/SCAN|TEMP B-TREE/);
});

test.each([
  "SELECT id FROM connections WHERE tenant = ? AND vertical = ? AND provider = ? AND account_key = ? AND state <> 'disconnected'",
  'SELECT 1 FROM connection_grants WHERE connection = ? AND scope = ? LIMIT 1',
  'SELECT id FROM connect_rounds WHERE state_hash = ?',
  'SELECT id FROM connect_rounds WHERE expires_at <= ? ORDER BY expires_at LIMIT ?',
  'SELECT id FROM tokens WHERE hash = ?',
  "SELECT id FROM tokens WHERE kind = 'service' AND name = ? AND revoked_at IS NULL AND expires_at > ?",
  'SELECT id FROM scopes WHERE tenant = ? AND slug = ?',
  'SELECT id FROM tenants WHERE slug = ?',
  'SELECT id FROM operations WHERE subject = ? AND finished_at IS NULL',
  'SELECT id FROM operations WHERE finished_at < ? ORDER BY finished_at LIMIT ?',
  'SELECT id FROM tenant_identities WHERE issuer_key = ? AND kind = ? AND value = ?',
  'SELECT id FROM tenant_identities WHERE issuer_key = ? AND tenant <> ? LIMIT 1',
  'SELECT revision FROM entitlements WHERE tenant = ? AND key = ?',
  'SELECT COUNT(*) FROM entitlement_outbox WHERE tenant = ?',
  "SELECT hostname FROM hostnames WHERE scope = ? AND surface = 'app' AND status = 'active'",
  "SELECT claim FROM hostnames WHERE hostname = ? AND status IN ('active', 'disabled')",
  'SELECT claim FROM hostnames WHERE claim = ?',
  'SELECT claim FROM hostnames WHERE hostname = ?',
  'SELECT token FROM hostnames WHERE token = ? AND hostname = ?',
  ATTEMPTS_OF_TENANT,
  HELD_BY_OTHER,
  CONNECTIONS_OF_SCOPE,
  'SELECT attempts FROM hostname_attempts WHERE tenant = ? AND hostname = ?',
  'SELECT hostname FROM hostname_attempts WHERE since <= ?',
  'SELECT receipt FROM erasures WHERE scope = ? AND subject_hash = ?',
  'SELECT attempts FROM role_outbox WHERE scope = ?',
  'SELECT rowid FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?',
  'SELECT answer FROM idempotency_keys WHERE actor = ? AND operation = ? AND key = ?',
])('%s: a search', (sql) => {
  const params = Array.from(sql.matchAll(/\?/g), () => 'x');
  expect(planOf({ sql, params }).join('\n')).toMatch(/^SEARCH \w+ USING/);
});
