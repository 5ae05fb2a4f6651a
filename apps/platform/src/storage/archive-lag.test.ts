import { expect, test } from 'vitest';
import { lagOfArchive } from './storage.ts';

const of = (
  state: 'off' | 'current' | 'failing',
  [units, lagMs]: readonly [number, number],
  [waiting, blobsLagMs]: readonly [number, number],
) =>
  lagOfArchive({
    engine: {
      archiveStatus: () => ({ state, units, lagMs, shippedAtMs: null, failures: 0, lastError: 'a secret' }),
    },
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
