import { expect, test } from 'vitest';
import { archiveVerdict, attachmentsVerdict, freshnessUnits, LAG_MAX_MS } from './jobs.ts';

test.each([
  ['current', 0, 'fresh', 'current'],
  ['shipping', 2_000, 'fresh', 'shipping'],
  // A retry comes before the archive is late.
  ['failing', 2_000, 'fresh', 'failing'],
  ['failing', LAG_MAX_MS + 1, 'stale', 'failing'],
  ['shipping', LAG_MAX_MS + 1, 'stale', 'lagging'],
  ['refused', 0, 'stale', 'archive_not_ours'],
] as const)('spec 6.4: an archive that is %s and %i ms behind is %s', (state, lagMs, outcome, reason) => {
  expect(archiveVerdict({ state, lagMs })).toEqual({ outcome, reason });
});

test('attachments are stale when one waits for too long, however many wait', () => {
  expect(attachmentsVerdict({ waiting: 5_000, lagMs: LAG_MAX_MS })).toEqual({
    outcome: 'fresh',
    reason: 'shipping',
  });
  expect(attachmentsVerdict({ waiting: 1, lagMs: LAG_MAX_MS + 1 })).toEqual({
    outcome: 'stale',
    reason: 'lagging',
  });
});

test('without an archive there is no verdict', () => {
  expect([...freshnessUnits({ state: 'off', lagMs: 0 }, null)]).toEqual([]);
  const units = [...freshnessUnits({ state: 'current', lagMs: 0 }, { waiting: 0, lagMs: 0 })];
  expect(units.map(({ unit, outcome }) => [unit, outcome])).toEqual([
    ['archive/databases', 'fresh'],
    ['archive/attachments', 'fresh'],
  ]);
});
