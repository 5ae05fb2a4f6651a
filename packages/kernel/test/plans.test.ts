/** The cost of a read follows the size of its answer, not of the log: what SQLite intends to do says so. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ATTACHMENT_SQL } from '../src/attachments/store.ts';
import { DELIVERY_SQL } from '../src/deliveries/store.ts';
import { DENIAL_SQL, NEWEST_DENIAL_SQL } from '../src/denials/store.ts';
import { FACET_SQL } from '../src/events/facets.ts';
import { EVENT_SQL, NEWEST_EVENT_SQL } from '../src/events/store.ts';
import { IDEMPOTENCY_SQL } from '../src/idempotency/idempotency.ts';
import { PRUNED_SQL } from '../src/lib/pruned.ts';
import { LONG_WORK_SQL } from '../src/long-work/store.ts';
import { PARENT_SQL } from '../src/permissions/parents.ts';
import { PERMISSION_SQL } from '../src/permissions/store.ts';
import { COUNT_PENDING_SQL, NEWEST_REQUEST_SQL, REQUEST_SQL } from '../src/platform-requests/store.ts';
import { RETENTION_SQL } from '../src/retention/store.ts';
import { REDACT_SQL } from '../src/sealing/erasures.ts';
import { openShop, scopeId } from './shop.ts';

let shop: Awaited<ReturnType<typeof openShop>>;
let db: DatabaseSync;

beforeAll(async () => {
  shop = await openShop();
  db = new DatabaseSync(join(shop.dataDirectory, 'scope-shop', `${scopeId}.sqlite`), { readOnly: true });
});
afterAll(async () => {
  db.close();
  await shop[Symbol.asyncDispose]();
});

function planOf(sql: string): string {
  const parameters = Array(sql.split('?').length - 1).fill('1');
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters) as { detail: string }[];
  return steps.map((step) => step.detail).join('; ');
}

const { summaryByActor, summaryByOperation, list, ...denialSearches } = DENIAL_SQL;
const { due: dueWork, unfinished: unfinishedWork, ...workSearches } = LONG_WORK_SQL;
const searches = Object.entries({
  ...prefixed('events', EVENT_SQL),
  ...prefixed('facets', FACET_SQL),
  ...prefixed('attachments', ATTACHMENT_SQL),
  ...prefixed('deliveries', DELIVERY_SQL),
  ...prefixed('platform requests', REQUEST_SQL),
  ...prefixed('permissions', PERMISSION_SQL),
  ...prefixed('parents', PARENT_SQL),
  ...prefixed('idempotency', IDEMPOTENCY_SQL),
  ...prefixed('retention', RETENTION_SQL),
  ...prefixed('long work', workSearches),
  ...prefixed('pruned', PRUNED_SQL),
  ...prefixed('denials', { ...denialSearches, list }),
});

test.each(searches)('%s is a search that needs no sorting', (_name, sql) => {
  const plan = planOf(sql);
  expect(plan).toMatch(/^SEARCH /);
  expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
});

test.each([
  [
    'permissions for one key',
    PERMISSION_SQL.grant,
    'subject=? AND permission=? AND entity_type=? AND entity_id=?',
  ],
  [
    'the reach of one permission',
    PERMISSION_SQL.grantedEntities,
    'subject=? AND permission=? AND entity_type=?',
  ],
  ['grants for the whole scope', PERMISSION_SQL.scopeWideGrants, '_spine_grants_wide (subject=?)'],
  ['denials of one actor', DENIAL_SQL.listOfActor, '_spine_denials_of_actor (actor=? AND id<?)'],
  [
    'denials of a permission',
    DENIAL_SQL.listOfPermission,
    '_spine_denials_permission (permission=? AND id<?)',
  ],
  ['denials of both', DENIAL_SQL.listOfActorAndPermission, '(actor=? AND permission=? AND id<?)'],
  ['the version of a record', EVENT_SQL.version, '_spine_events_entity (entity_type=? AND entity_id=?)'],
  ['the history of a record', EVENT_SQL.history, '(entity_type=? AND entity_id=? AND id>?)'],
  ['effects', EVENT_SQL.effects, '_spine_events_cause (cause=?)'],
  ['a key', IDEMPOTENCY_SQL.recall, '(principal=? AND operation=? AND key=?)'],
  ['expired keys', IDEMPOTENCY_SQL.expired, 'COVERING INDEX _spine_idempotency_at (at<?)'],
])('%s: every condition narrows the search', (_name, sql, part) => {
  expect(planOf(sql)).toContain(part);
});

test.each([
  ['the newest event', NEWEST_EVENT_SQL.event],
  ['the newest invocation', NEWEST_EVENT_SQL.invocation],
  ['the newest denial', NEWEST_DENIAL_SQL],
  ['the newest request to the platform', NEWEST_REQUEST_SQL],
])('%s is the first row along the key, backwards', (_name, sql) => {
  expect(planOf(sql)).toMatch(/^SCAN \w+$/);
  expect(sql).toMatch(/ ORDER BY id DESC LIMIT 1$/);
});

test.each([
  ['the work that is due', dueWork, '_spine_works_due'],
  ['unfinished works', unfinishedWork, '_spine_works_unfinished'],
])('%s: read along an index of these alone', (_name, sql, index) => {
  expect(planOf(sql)).toContain(index);
  expect(planOf(sql)).not.toContain('TEMP B-TREE');
});

test('the events of a person are found by an index when the person is erased', () => {
  expect(planOf(REDACT_SQL)).toBe('SEARCH _spine_events USING INDEX _spine_events_subject (subject=?)');
});

test('requests that wait are counted along an index, and no further than the bound', () => {
  expect(planOf(COUNT_PENDING_SQL)).toContain('COVERING INDEX _spine_platform_requests_status (status=?)');
  expect(COUNT_PENDING_SQL).toContain('LIMIT ?');
});

test.each([
  ['by actor', summaryByActor, '_spine_denials_actor'],
  ['by operation', summaryByOperation, '_spine_denials_operation'],
])('the summary of denials %s counts over an index alone', (_name, sql, index) => {
  const plan = planOf(sql);
  expect(plan).toContain(`SCAN _spine_denials USING COVERING INDEX ${index}`);
  expect(plan).toContain('SEARCH newest USING PRIMARY KEY (id=?)');
  expect(plan).not.toContain('TEMP B-TREE FOR GROUP BY');
});

function prefixed(prefix: string, statements: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(statements).map(([name, sql]) => [`${prefix} ${name}`, sql]));
}
