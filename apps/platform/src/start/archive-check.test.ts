import { PlatformError } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { checkArchive } from './checks.ts';

type State = 'current' | 'failing' | 'refused' | 'shipping';

const engine = (state: State, flush: () => Promise<void>, lastError: string | null = null) => ({
  flushArchive: flush,
  archiveStatus: () => ({ state, units: 0, lagMs: 0, shippedAtMs: null, failures: 0, lastError }),
});
const never = () => new Promise<void>(() => undefined);

test('an archive that answers causes no warning', async () => {
  expect(await checkArchive(engine('current', async () => undefined))).toBeNull();
});

test('a slow one delays no start', async () => {
  expect(await checkArchive(engine('shipping', never), 1)).toBeNull();
});

test('a failing one causes a warning with its error', async () => {
  const failing = engine('failing', () => Promise.reject(new Error('x')), 'The store cannot be reached.');
  expect(await checkArchive(failing)).toBe('nothing is archived at the moment: The store cannot be reached.');
});

test('a directory that cannot be written causes a warning that says so', async () => {
  const error = Object.assign(new Error('EROFS: read-only file system, mkdir /backup'), { code: 'EROFS' });
  const failing = engine('failing', () => Promise.reject(error), error.message);
  expect(await checkArchive(failing)).toBe(
    'nothing is archived at the moment: its directory cannot be written (EROFS); mount it, or make room. It is tried again.',
  );
});

test("one of another data directory fails the start, with the archive's own message", async () => {
  const refused = new PlatformError('conflict', 'It belongs to another.', { reason: 'archive_not_ours' });
  await expect(checkArchive(engine('refused', () => Promise.reject(refused)))).rejects.toBe(refused);
  await expect(checkArchive(engine('refused', never), 1)).rejects.toMatchObject({
    reason: 'archive_not_ours',
  });
});
