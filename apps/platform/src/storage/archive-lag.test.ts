import { expect, test } from 'vitest';
import { lagOfArchive, withCopies } from './storage.ts';

const statusOf = (state: 'off' | 'current' | 'failing', units: number, lagMs: number) => ({
  ...{ state, units, lagMs },
  ...{ shippedAtMs: null, failures: 0, lastError: 'a secret' },
});

const of = (
  state: 'off' | 'current' | 'failing',
  [units, lagMs]: readonly [number, number],
  [waiting, blobsLagMs]: readonly [number, number],
) =>
  lagOfArchive({
    archiveStatus: () => statusOf(state, units, lagMs),
    blobArchive: { status: () => ({ waiting, lagMs: blobsLagMs }) },
  });

test('the lag is that of the oldest change, of a database or an attachment', () => {
  expect(of('off', [0, 0], [0, 0])).toEqual({});
  expect(of('current', [0, 0], [0, 0])).toEqual({
    archive: { state: 'current', lagSeconds: 0, databases: 0, attachments: 0 },
  });
  expect(of('current', [0, 0], [2, 1_500])).toEqual({
    archive: { state: 'shipping', lagSeconds: 1.5, databases: 0, attachments: 2 },
  });
  expect(of('failing', [3, 90_000], [1, 500])).toEqual({
    archive: { state: 'failing', lagSeconds: 90, databases: 3, attachments: 1 },
  });
});

test('what a deployed instance changed counts before its copy is made', () => {
  const copies = { waiting: 2, lagMs: 700 };
  expect(withCopies(statusOf('off', 0, 0), copies)).toMatchObject({ state: 'off', units: 0 });
  expect(withCopies(statusOf('current', 0, 0), copies)).toMatchObject({
    state: 'shipping',
    units: 2,
    lagMs: 700,
  });
  expect(withCopies(statusOf('failing', 1, 900), copies)).toMatchObject({
    state: 'failing',
    units: 3,
    lagMs: 900,
  });
});
