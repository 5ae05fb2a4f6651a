/** The archive in a directory: what a kill left of an object is removed, and is never taken for one. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeDirectoryArchive, openNodeEngine } from '../src/index.ts';
import { newDirectory, openPlain } from './archive-fixture.ts';
import { historyUnit } from './history-unit.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const keysOf = async (directory: string, prefix = '') => {
  const keys: string[] = [];
  for await (const key of makeDirectoryArchive(directory).list(prefix)) keys.push(key);
  return keys.sort();
};

test('lists below a prefix, in a folder or within a name', async () => {
  const directory = newDirectory();
  const archive = makeDirectoryArchive(directory);
  for (const key of ['owner', 'units/a/1/x', 'units/a/2/x', 'units/ab/1/x', 'blobs/1'])
    await archive.put(key, bytes(key));
  expect(await keysOf(directory, 'units/a/')).toEqual(['units/a/1/x', 'units/a/2/x']);
  expect(await keysOf(directory, 'units/a')).toEqual(['units/a/1/x', 'units/a/2/x', 'units/ab/1/x']);
  expect(await keysOf(directory, 'owner')).toEqual(['owner']);
  expect(await keysOf(directory, 'nothing/here/')).toEqual([]);
  expect(await keysOf(directory, 'owner/')).toEqual([]);
  expect(await keysOf(directory)).toHaveLength(5);
});

test('a folder that no key can name is not looked into: the archive may be the root of a disk', async () => {
  const directory = newDirectory();
  mkdirSync(join(directory, 'lost+found'));
  writeFileSync(join(directory, 'lost+found', 'x'), '');
  await makeDirectoryArchive(directory).put('owner', bytes('owner'));
  expect(await keysOf(directory)).toEqual(['owner']);
});

test.each(['now', 'by an earlier version'])(
  'half of an object, left %s, is none, and is gone once its owner starts',
  async (when) => {
    const [directory, dataDirectory] = [newDirectory(), newDirectory()];
    const photo = join(directory, 'blobs', 'scp_reaped', 'f'.repeat(64));
    const half = when === 'now' ? join(directory, '.coming', 'x') : `${photo}.coming`;
    mkdirSync(join(half, '..'), { recursive: true });
    writeFileSync(half, 'half of a photograph');
    expect(await keysOf(directory)).toEqual([]);
    const open = () =>
      openNodeEngine({
        dataDirectory,
        onIncident: (error) => {
          throw error;
        },
        archive: { archive: makeDirectoryArchive(directory), intervalMs: 60_000 },
      });
    for (let starts = 0; starts < 2; starts++) {
      const engine = open();
      await engine.unit(historyUnit, 'a', { create: true }).add({ note: 'one' });
      await engine.close();
      expect(existsSync(half)).toBe(false);
      writeFileSync(join(directory, '.coming', 'y'), 'again');
    }
    expect(readdirSync(join(directory, '.coming'))).toEqual(['y']);
    await openPlain(dataDirectory).unit(historyUnit, 'a').count();
  },
);
