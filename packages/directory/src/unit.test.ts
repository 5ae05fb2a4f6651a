/** The methods of the unit, and its parts. */
import { expect, test } from 'vitest';
import { adminOperations } from './admin-operations.ts';
import { mergeHandlers } from './lib/feature.ts';
import { directoryUnit, features } from './unit.ts';

/** Operations that a vertical, a provider or the wiring answers: the unit has a method for a part of them at most. */
const WIRING = [
  ...['admin-log.verify', 'alerts.test', 'fleet-migrations.get', 'model-usage.list', 'owner-seat.get'],
  ...['bookmarks.list', 'migrations.get', 'scope-version.set', 'scopes.export', 'verticals.egress'],
  ...['verticals.modules', 'secrets.set', 'secrets.rotate'],
  ...['connections.create', 'connections.rotate', 'connections.verify'],
  ...['cause.get', 'dead-letters.list', 'denials.list', 'denials.summary', 'effects.get', 'facets.get'],
  ...['health.get', 'history.get', 'invocation.get', 'query.run', 'tables.list', 'tables.read'],
  ...['observability.logs', 'observability.metrics', 'observability.metrics-series'],
  ...[
    'observability.tenant-lines',
    'observability.tenant-logs',
    'observability.tenant-metrics',
    'observability.tenant-metrics-series',
  ],
];

test('every operation is answered by one room of the unit, or by the wiring alone', () => {
  // That no two rooms answer the same one was seen to when they were merged.
  const { plans, ...answering } = mergeHandlers(features);
  const answered = Object.values(answering).flatMap((handlers) => Object.keys(handlers));
  expect([...answered, ...WIRING].sort()).toEqual(Object.keys(adminOperations).sort());
  expect(Object.keys(plans).filter((name) => !answered.includes(name))).toEqual([]);
});

/** As databases know them that are there already. A set that is new comes behind these. */
const APPLIED = [
  ...['directory', 'hostnames', 'roles', 'erasures', 'connections', 'entitlements', 'identities'],
  ...['snapshots', 'issues', 'operations-log', 'usage', 'vertical-registry', 'platform-grants', 'staff'],
  ...['staff-devices', 'tokens', 'long-work', 'backups', 'incoming-copies', 'fleet', 'open-intents'],
  'expiries',
];

test('sets of migrations keep their names and their order', () => {
  const names = directoryUnit.migrations.map(({ name }) => name);
  expect(names.slice(0, APPLIED.length)).toEqual(APPLIED);
  expect(new Set(names).size).toBe(names.length);
});
