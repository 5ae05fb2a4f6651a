import { createHash } from 'node:crypto';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Archive, makeDirectoryArchive, makeNodeBlobStore } from '@freehold/engine-node';
import type { BlobStore } from '@freehold/store';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseSettings } from '../settings/settings.ts';
import { BlobArchive, restoreBlobs } from './blob-archive.ts';
import { BlobJournal } from './blob-journal.ts';
import { openStorage } from './storage.ts';

let home: string;
let isOurs: boolean;
let nowMs: number;
let incidents: unknown[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'freehold-blobs-'));
  isOurs = true;
  nowMs = 0;
  incidents = [];
});
afterEach(() => rmSync(home, { recursive: true }));

const storeIn = (name: string) => (scopeId: string) =>
  makeNodeBlobStore({ dataDirectory: join(home, name), scopeId, now: () => 0 });

/** An archive that a test can break. */
function open(
  putting: () => Promise<void> = async () => undefined,
  storeOf: (scopeId: string) => BlobStore = storeIn('data'),
) {
  const directory = makeDirectoryArchive(join(home, 'archive'));
  const state = { fails: false };
  const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
    if (state.fails) throw new Error('the store is away');
    return work();
  };
  const archive: Archive = {
    ...directory,
    put: (key, bytes) =>
      guarded(async () => {
        await putting();
        await directory.put(key, bytes);
      }),
    delete: (key) => guarded(() => directory.delete(key)),
  };
  const blobArchive = new BlobArchive({
    archive,
    name: 'archive',
    journal: new BlobJournal(join(home, 'data')),
    storeOf,
    now: () => nowMs,
    isOurs: async () => isOurs,
    onIncident: (error) => incidents.push(error),
  });
  return { archive, state, blobArchive };
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const put = (store: BlobStore, text: string) => store.put(new Blob([text]).stream(), { bytesMax: 100 });
async function keysOf(archive: Archive): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of archive.list('')) keys.push(key);
  return keys.sort();
}
async function* ids(...scopes: string[]): AsyncIterable<string> {
  yield* scopes;
}

test('bytes are in the archive a moment after they are stored, and are restored from it', async () => {
  const { archive, blobArchive } = open();
  await put(blobArchive.blobs('scp_a'), 'a photo');
  await put(blobArchive.blobs('scp_b'), 'a plan');
  await blobArchive.flush();
  expect(await keysOf(archive)).toEqual([
    `blobs/scp_a/${digestOf('a photo')}`,
    `blobs/scp_b/${digestOf('a plan')}`,
  ]);
  expect(await restoreBlobs(archive, storeIn('new'))).toEqual({ restored: 2, damaged: 0 });
  const body = await storeIn('new')('scp_a').open(digestOf('a photo'));
  expect(await new Response(body).text()).toBe('a photo');
});

test('damaged bytes in the archive are left out, and counted', async () => {
  const { archive } = open();
  await archive.put(`blobs/scp_a/${digestOf('a photo')}`, new TextEncoder().encode('another photo'));
  await archive.put('blobs/scp_a/odd', new Uint8Array(1));
  expect(await restoreBlobs(archive, storeIn('new'))).toEqual({ restored: 0, damaged: 1 });
  expect(await storeIn('new')('scp_a').open(digestOf('a photo'))).toBeNull();
});

test('an upload does not wait for the archive, and failed copies are sent later', async () => {
  const { archive, state, blobArchive } = open();
  state.fails = true;
  await put(blobArchive.blobs('scp_a'), 'a photo');
  await blobArchive.flush();
  expect([await keysOf(archive), incidents.length]).toEqual([[], 1]);
  state.fails = false;
  await blobArchive.reconcile(ids('scp_a'));
  expect(await keysOf(archive)).toEqual([`blobs/scp_a/${digestOf('a photo')}`]);
});

test('deleted bytes are gone from the archive first: a failure leaves them known', async () => {
  const { archive, state, blobArchive } = open();
  const store = blobArchive.blobs('scp_a');
  const { digest } = await put(store, 'a photo');
  await blobArchive.flush();
  state.fails = true;
  await expect(store.delete(digest)).rejects.toThrow('the store is away');
  expect(await store.open(digest)).not.toBeNull();
  state.fails = false;
  await store.delete(digest);
  expect([await keysOf(archive), await store.open(digest)]).toEqual([[], null]);
});

test('a cleared scope leaves nothing, at the latest when everything is compared', async () => {
  const { archive, state, blobArchive } = open();
  await put(blobArchive.blobs('scp_a'), 'a photo');
  await put(blobArchive.blobs('scp_b'), 'a plan');
  await blobArchive.flush();
  state.fails = true;
  await blobArchive.blobs('scp_a').clear();
  state.fails = false;
  expect(await keysOf(archive)).toHaveLength(2);
  await blobArchive.reconcile(ids('scp_b'));
  expect(await keysOf(archive)).toEqual([`blobs/scp_b/${digestOf('a plan')}`]);
});

test('bytes that are missing here do not count as deleted', async () => {
  const { archive, blobArchive } = open();
  await put(blobArchive.blobs('scp_a'), 'a photo');
  await blobArchive.flush();
  rmSync(join(home, 'data'), { recursive: true });
  await blobArchive.reconcile(ids('scp_a'));
  expect(await keysOf(archive)).toHaveLength(1);
});

test('the archive of another data directory is neither written to nor deleted from', async () => {
  const { archive, blobArchive } = open();
  await archive.put(`blobs/scp_x/${digestOf('theirs')}`, new TextEncoder().encode('theirs'));
  isOurs = false;
  const store = blobArchive.blobs('scp_a');
  const { digest } = await put(store, 'a photo');
  await blobArchive.flush();
  await store.delete(digest);
  await store.clear();
  await blobArchive.reconcile(ids('scp_a'));
  expect(await keysOf(archive)).toEqual([`blobs/scp_x/${digestOf('theirs')}`]);
});

test('says how many attachments have not arrived, and for how long', async () => {
  const { blobArchive, state } = open();
  expect(blobArchive.status()).toEqual({ waiting: 0, lagMs: 0 });
  state.fails = true;
  await put(blobArchive.blobs('scp_a'), 'one');
  nowMs = 7_000;
  await put(blobArchive.blobs('scp_a'), 'two');
  // The retry leaves the waiting time as it was.
  await blobArchive.flush();
  nowMs = 9_000;
  expect(blobArchive.status()).toEqual({ waiting: 2, lagMs: 9_000 });
  state.fails = false;
  await blobArchive.flush();
  expect(blobArchive.status()).toEqual({ waiting: 0, lagMs: 0 });
});

test('what waits is sent right after the next start, also after a kill, and with its age', async () => {
  const { state, blobArchive } = open();
  state.fails = true;
  nowMs = 1_000;
  await Promise.all(['one', 'two', 'three'].map((text) => put(blobArchive.blobs('scp_a'), text)));
  // The process is killed: nothing of it is closed.
  nowMs = 5_000;
  const next = open();
  expect(next.blobArchive.status()).toEqual({ waiting: 3, lagMs: 4_000 });
  await next.blobArchive.begin(ids('scp_a'));
  expect(await keysOf(next.archive)).toHaveLength(3);
  expect(open().blobArchive.status()).toEqual({ waiting: 0, lagMs: 0 });
});

test('an upload is acknowledged only when its line is on the disk', async () => {
  const { blobArchive } = open();
  rmSync(join(home, 'data', '.archive'), { recursive: true });
  await expect(put(blobArchive.blobs('scp_a'), 'a photo')).rejects.toMatchObject({
    code: 'unavailable',
    reason: 'blob_store_failed',
  });
});

test('a line that a crash cut off is passed over, and the next one is whole', async () => {
  const { blobArchive, state } = open();
  state.fails = true;
  await put(blobArchive.blobs('scp_a'), 'one');
  appendFileSync(join(home, 'data', '.archive', 'attachments'), '1 scp_a 12');
  const next = open();
  next.state.fails = true;
  await put(next.blobArchive.blobs('scp_a'), 'two');
  expect(open().blobArchive.status().waiting).toBe(2);
});

test('an append that a full disk cut off does not swallow the next line', async () => {
  let isFull = true;
  const append = (async (path: string, text: string, options: object) => {
    if (!isFull) return appendFile(path, text, options);
    await appendFile(path, text.slice(0, 20), options);
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  }) as typeof appendFile;
  const journal = new BlobJournal(join(home, 'data'), append);
  const owed = (text: string) => ({ scopeId: 'scp_a', digest: digestOf(text), sinceMs: 1 });
  await expect(journal.add(owed('one'))).rejects.toThrow('no space');
  isFull = false;
  await journal.add(owed('two'));
  await journal.add(owed('three'));
  expect(new BlobJournal(join(home, 'data')).found).toEqual([owed('two'), owed('three')]);
});

test('a deletion while the archive is not known to be ours is owed, also after a kill', async () => {
  const { archive, blobArchive } = open();
  const { digest } = await put(blobArchive.blobs('scp_a'), 'a photo');
  const again = await put(blobArchive.blobs('scp_a'), 'a plan');
  await blobArchive.flush();
  isOurs = false;
  const store = open().blobArchive.blobs('scp_a');
  await store.delete(digest);
  await store.delete(again.digest);
  await put(store, 'a plan');
  expect([await store.open(digest), await keysOf(archive)]).toEqual([
    null,
    expect.objectContaining({ length: 2 }),
  ]);
  isOurs = true;
  const next = open().blobArchive;
  expect(next.status().waiting).toBe(2);
  await next.flush();
  expect(await keysOf(archive)).toEqual([`blobs/scp_a/${again.digest}`]);
});

test('uploads while the archive is switched off reach it once it is back', async () => {
  const { archive, blobArchive } = open();
  await blobArchive.begin(ids('scp_a'));
  const settings = parseSettings({ FREEHOLD_DATA: join(home, 'data') });
  const storage = await openStorage(settings, {
    now: () => nowMs,
    onIncident: (error) => incidents.push(error),
  });
  await put(storage.blobs('scp_a'), 'a photo');
  await storage.close();
  await open().blobArchive.begin(ids('scp_a'));
  expect([await keysOf(archive), incidents]).toEqual([[`blobs/scp_a/${digestOf('a photo')}`], []]);
});

test('everything is compared with an archive once, and again with another', async () => {
  const { archive, blobArchive } = open();
  await put(storeIn('data')('scp_a'), 'from before there was an archive');
  await blobArchive.begin(ids('scp_a'));
  expect(await keysOf(archive)).toHaveLength(1);
  await put(storeIn('data')('scp_a'), 'by hand');
  await open().blobArchive.begin(ids('scp_a'));
  expect(await keysOf(archive)).toHaveLength(1);
  const journal = new BlobJournal(join(home, 'data'));
  expect([journal.isComparedWith('archive'), journal.isComparedWith('another')]).toEqual([true, false]);
});

test('a copy on its way does not outlive the deletion of its bytes, nor of its scope', async () => {
  for (const end of ['delete', 'clear'] as const) {
    const { promise: arrives, resolve } = Promise.withResolvers<void>();
    const { archive, blobArchive } = open(() => arrives);
    const store = blobArchive.blobs('scp_a');
    const { digest } = await put(store, 'a photo');
    const sent = blobArchive.flush();
    await expect.poll(() => blobArchive.status().waiting).toBe(1);
    const gone = end === 'delete' ? store.delete(digest) : store.clear();
    resolve();
    await Promise.all([sent, gone]);
    expect(await keysOf(archive)).toEqual([]);
  }
});

test('the copies of a scope do not outlive a round that meets its clearing', async () => {
  const { promise: mayClear, resolve } = Promise.withResolvers<void>();
  const { archive, blobArchive } = open(undefined, (scopeId) => {
    const store = storeIn('data')(scopeId);
    return { ...store, clear: () => mayClear.then(() => store.clear()) };
  });
  const store = blobArchive.blobs('scp_a');
  await put(store, 'a photo');
  await blobArchive.flush();
  const cleared = store.clear();
  // The round finds what is to be cleared still there.
  await expect
    .poll(async () => {
      await blobArchive.flush();
      return blobArchive.status().waiting;
    })
    .toBe(0);
  resolve();
  await cleared;
  expect(await keysOf(archive)).toEqual([]);
});

test('the copies of a cleared scope are deleted after the next start when a kill came between', async () => {
  const { archive, state, blobArchive } = open();
  await put(blobArchive.blobs('scp_a'), 'a photo');
  await blobArchive.flush();
  state.fails = true;
  await blobArchive.blobs('scp_a').clear();
  expect(await keysOf(archive)).toHaveLength(1);
  const next = open();
  await next.blobArchive.flush();
  expect(await keysOf(archive)).toEqual([]);
});

test('the journal is emptied when nothing waits, and stays short while something does', async () => {
  const path = join(home, 'data', '.archive', 'attachments');
  const journal = new BlobJournal(join(home, 'data'));
  const owed = { scopeId: 'scp_a', digest: digestOf('x'), sinceMs: 1 };
  await Promise.all(Array.from({ length: 1_100 }, () => journal.add(owed)));
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(1_102);
  await journal.settle(() => [owed]);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(3);
  await journal.settle(() => []);
  expect(readFileSync(path, 'utf8').trim()).toBe('compared');
  await journal.compared('archive', () => [owed]);
  const again = new BlobJournal(join(home, 'data'));
  expect([again.found, again.isComparedWith('archive')]).toEqual([[owed], true]);
});
