import { PlatformError } from '@freehold/contracts';
import { ControlPlaneError } from '@freehold/control-plane/client';
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

test('a directory that cannot be written and a database that cannot be read are named, from a unit and from an API', () => {
  const readOnly =
    "The data directory /data cannot be written. Mount it for writing, or give it to the platform's user, and start again: what was stored before is as it was.";
  const file = Object.assign(new Error('read-only file system'), { code: 'EROFS' });
  const problem = { status: 503, requestId: null, problem: { reason: 'storage_read_only' } as never };
  for (const error of [file, new ControlPlaneError('It cannot.', problem)])
    expect(startFailureOf(error, '/data')).toBe(readOnly);
  const full = new PlatformError('unavailable', 'Full.', { reason: 'storage_full' });
  expect(startFailureOf(full, '/data')).toBe(FULL);
  const damaged = new PlatformError('unavailable', 'Damaged.', { reason: 'unit_unreadable' });
  expect(startFailureOf(damaged, '/data')).toMatch(/^A database .* A line above names it/);
});

test('every other failure keeps its own message', () => {
  const other = new PlatformError('unavailable', 'Something else.', { reason: 'shutting_down' });
  expect(startFailureOf(other, '/data', () => 0)).toBeNull();
  expect(startFailureOf(Object.assign(new Error('x'), { errcode: 10 }), '/data', () => 0)).toBeNull();
  expect(startFailureOf('full', '/data', () => 0)).toBeNull();
});
