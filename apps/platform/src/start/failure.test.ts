import { PlatformError } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { startFailureOf } from './checks.ts';

const FULL =
  'The disk of the data directory /data is full. Make room, and start again: what was stored before is as it was.';
const unkept = new PlatformError('unavailable', 'This could not be stored.', { reason: 'commit_failed' });

test('a full disk is named, for errors of SQLite and of the file system', () => {
  const sqlite = Object.assign(new Error('database or disk is full'), { errcode: 13 });
  const file = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  for (const error of [sqlite, file, new Error('behind', { cause: file })])
    expect(startFailureOf(error, '/data', () => 10 ** 9)).toBe(FULL);
});

test('a failed commit is the disk’s fault where there is no room, and not elsewhere', () => {
  expect(startFailureOf(unkept, '/data', () => 300_000)).toBe(FULL);
  expect(startFailureOf(unkept, '/data', () => 10 ** 9)).toBeNull();
  expect(startFailureOf(unkept, '/no/such/directory')).toBeNull();
});

test('every other failure keeps its own message', () => {
  const other = new PlatformError('unavailable', 'Something else.', { reason: 'shutting_down' });
  expect(startFailureOf(other, '/data', () => 0)).toBeNull();
  expect(startFailureOf(Object.assign(new Error('x'), { errcode: 10 }), '/data', () => 0)).toBeNull();
  expect(startFailureOf('full', '/data', () => 0)).toBeNull();
});
