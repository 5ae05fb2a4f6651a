/** One suite for every place of backups. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { makeDirectoryArchive } from '@freehold/engine-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeArchiveBackups, makeFileBackups, openBackups } from './backups.ts';

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'freehold-backups-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

const bodyOf = (...chunks: string[]) =>
  new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const STORES = [
  ['files', () => makeFileBackups(directory())],
  // Four bytes a part, so that a few words make many parts.
  ['objects of an archive', () => makeArchiveBackups(makeDirectoryArchive(directory()), 4)],
] as const;

describe.each(STORES)('spec C-19: backups as %s', (_, make) => {
  const ADDRESS = 'scopes/scp_1/bkp_1.ndjson';
  const read = async (store: ReturnType<typeof make>, address = ADDRESS) => {
    const body = await store.open(address);
    return body && new Response(body).text();
  };

  test('are there whole, byte for byte, and listed with their size', async () => {
    const store = make();
    expect(await store.put(ADDRESS, bodyOf('as it ', 'was'))).toEqual({ address: ADDRESS, bytes: 9 });
    expect(await read(store)).toBe('as it was');
    await store.put('directory/bkp_2.ndjson', bodyOf('x'));
    expect(await all(store.list('scopes/'))).toEqual([{ address: ADDRESS, bytes: 9 }]);
    expect((await all(store.list(''))).length).toBe(2);
  });

  test('may be empty', async () => {
    const store = make();
    await store.put(ADDRESS, bodyOf());
    expect(await read(store)).toBe('');
  });

  test('replace the backup of the same address entirely', async () => {
    const store = make();
    await store.put(ADDRESS, bodyOf('something much longer than that'));
    await store.put(ADDRESS, bodyOf('short'));
    expect(await read(store)).toBe('short');
  });

  test('are not there when their bytes end early, and the caller gets that error', async () => {
    const store = make();
    const broken = new PlatformError('runtime_fault', 'The answer broke off.');
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        controller.enqueue(new TextEncoder().encode('a beginning'));
        controller.error(broken);
      },
    });
    await expect(store.put(ADDRESS, body)).rejects.toBe(broken);
    expect(await store.open(ADDRESS)).toBeNull();
    expect(await all(store.list(''))).toEqual([]);
  });

  test('are gone once they are deleted, also twice', async () => {
    const store = make();
    await store.put(ADDRESS, bodyOf('as it was'));
    await store.delete(ADDRESS);
    await store.delete(ADDRESS);
    expect(await store.open(ADDRESS)).toBeNull();
    expect(await all(store.list(''))).toEqual([]);
  });

  test.each(['../escape', 'scopes/../../x', '/etc/passwd', 'a', 'scopes//x', 'Scopes/x', 'scopes/x\0'])(
    'have no address like %j',
    async (address) => {
      const store = make();
      await expect(store.put(address, bodyOf('x'))).rejects.toBeInstanceOf(TypeError);
      await expect(store.open(address)).rejects.toBeInstanceOf(TypeError);
      await expect(store.delete(address)).rejects.toBeInstanceOf(TypeError);
    },
  );

  test('that were never made are null', async () => {
    expect(await make().open(ADDRESS)).toBeNull();
  });
});

test('files are for their owner alone', async () => {
  const path = directory();
  await makeFileBackups(path).put('scopes/a/b', bodyOf('x'));
  expect(statSync(join(path, 'scopes', 'a', 'b')).mode & 0o077).toBe(0);
});

test('a failing disk is named, without the path', async () => {
  const path = directory();
  writeFileSync(join(path, 'scopes'), 'in the way');
  const put = makeFileBackups(path).put('scopes/a/b', bodyOf('x'));
  await expect(put).rejects.toMatchObject({ code: 'unavailable', reason: 'storage_failed' });
  await expect(put).rejects.not.toThrow(path);
});

test('an archive that lacks a part fails on reading, and never returns less', async () => {
  const archive = makeDirectoryArchive(directory());
  const store = makeArchiveBackups(archive, 4);
  await store.put('scopes/a/b', bodyOf('twelve bytes'));
  await archive.delete('backups/scopes/a/b/part-000001');
  const body = await store.open('scopes/a/b');
  await expect(new Response(body).text()).rejects.toThrow('missing');
});

test('by default they lie beside the data directory, not in it', async () => {
  const path = directory();
  const data = join(path, 'data');
  await openBackups({ dataDirectory: data, archive: null, backupsDirectory: undefined }).put(
    'scopes/a/b',
    bodyOf('x'),
  );
  expect(readdirSync(path)).toEqual(['data-backups']);
  const other = join(path, 'other');
  await openBackups({ dataDirectory: data, archive: null, backupsDirectory: other }).put(
    'scopes/a/b',
    bodyOf('x'),
  );
  expect(readdirSync(other)).toEqual(['scopes']);
});

test('a start removes what a killed backup left, and nothing else', async () => {
  const backupsDirectory = directory();
  const settings = { dataDirectory: join(backupsDirectory, 'data'), archive: null, backupsDirectory };
  await openBackups(settings).put('scopes/scp_1/bkp_1.ndjson', bodyOf('x'));
  const folder = join(backupsDirectory, 'scopes', 'scp_1');
  writeFileSync(join(folder, 'bkp_2.ndjson.coming~'), 'half');
  mkdirSync(join(backupsDirectory, 'lost+found'));
  writeFileSync(join(backupsDirectory, 'lost+found', 'x.coming~'), '');
  const store = openBackups(settings);
  expect(readdirSync(folder)).toEqual(['bkp_1.ndjson']);
  expect(readdirSync(join(backupsDirectory, 'lost+found'))).toEqual(['x.coming~']);
  expect((await all(store.list(''))).length).toBe(1);
  expect(() => openBackups({ ...settings, backupsDirectory: join(folder, 'none') })).not.toThrow();
});

test('a folder that no address can name is not looked into: backups may lie in the root of a disk', async () => {
  const root = directory();
  mkdirSync(join(root, 'lost+found'));
  writeFileSync(join(root, 'lost+found', 'x'), '');
  const store = makeFileBackups(root);
  await store.put('scopes/scp_1/bkp_1.ndjson', bodyOf('x'));
  expect((await all(store.list(''))).length).toBe(1);
});
