/** Unfinished files in the store of attachments, beyond the contract of every store. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlobEntry, BlobStore } from '@freehold/store';
import { expect, onTestFinished, test } from 'vitest';
import { makeNodeBlobStore } from './blob-store.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 5, 1);

function open(): { readonly dataDirectory: string; readonly store: BlobStore } {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-blobs-'));
  onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }));
  return { dataDirectory, store: makeNodeBlobStore({ dataDirectory, scopeId: 's', now: () => NOW_MS }) };
}

function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

const bodyOf = (text: string) => new Blob([text]).stream();

async function listed(store: BlobStore): Promise<BlobEntry[]> {
  const entries: BlobEntry[] = [];
  for await (const entry of store.list()) entries.push(entry);
  return entries;
}

test('unfinished files of an earlier process are removed a day later, and nothing else is', async () => {
  const { dataDirectory, store } = open();
  const { digest } = await store.put(bodyOf('whole'), { bytesMax: 100 });
  const root = join(dataDirectory, 'blobs', 's');
  const folder = digest.slice(0, 2);
  for (const [name, ageMs] of [
    ['.coming-old', 25 * HOUR_MS],
    ['.coming-late', 23 * HOUR_MS],
    // Of uploads that ended between the list and the blob.
    [`${folder}/old.chunks`, 25 * HOUR_MS],
    [`${folder}/late.chunks`, 23 * HOUR_MS],
  ] as const) {
    writeFileSync(join(root, name), 'half');
    const at = new Date(NOW_MS - ageMs);
    utimesSync(join(root, name), at, at);
  }
  expect(await listed(store)).toEqual([{ digest, bytes: 5, atMs: NOW_MS }]);
  expect(readdirSync(root).sort()).toEqual(['.coming-late', folder]);
  expect(readdirSync(join(root, folder)).sort()).toEqual([digest, 'late.chunks']);
});

test('an upload in progress is left alone, however long it takes', async () => {
  const { dataDirectory, store } = open();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const stored = store.put(readable, { bytesMax: 100 });
  const writer = writable.getWriter();
  await writer.write(Buffer.from('slow'));
  const root = join(dataDirectory, 'blobs', 's');
  await expect.poll(() => readdirSync(root, { encoding: 'utf8' })).toHaveLength(1);
  const [coming = ''] = readdirSync(root);
  const at = new Date(NOW_MS - 48 * HOUR_MS);
  utimesSync(join(root, coming), at, at);
  expect(await listed(store)).toEqual([]);
  await writer.close();
  expect(await stored).toMatchObject({ bytes: 4 });
});

test('other bytes with a list of chunk digests to match are not passed off as the whole blob', async () => {
  const { dataDirectory, store } = open();
  const bytes = Buffer.alloc(2_000_000, 'true');
  const { digest } = await store.put(new Blob([bytes]).stream(), { bytesMax: bytes.length });
  bytes[0] = 0;
  const digests = [bytes.subarray(0, 1_048_576), bytes.subarray(1_048_576)].map((each) => sha256(each));
  const path = join(dataDirectory, 'blobs', 's', digest.slice(0, 2), digest);
  writeFileSync(path, bytes);
  const seal = sha256(Buffer.from(`${digest} ${bytes.length}\n`), ...digests);
  writeFileSync(`${path}.chunks`, Buffer.concat([...digests, seal]));
  const body = await store.open(digest);
  let sent = 0;
  const failure = await (async () => {
    for await (const piece of body ?? []) sent += piece.length;
  })().catch((error: unknown) => error);
  expect(failure).toMatchObject({ reason: 'blob_damaged' });
  expect(sent).toBe(1_048_576);
});

test('a blob takes its list of chunk digests along when it is deleted', async () => {
  const { dataDirectory, store } = open();
  const bytes = Buffer.alloc(2_000_000);
  const { digest } = await store.put(new Blob([bytes]).stream(), { bytesMax: bytes.length });
  const folder = join(dataDirectory, 'blobs', 's', digest.slice(0, 2));
  expect(readdirSync(folder)).toEqual([digest, `${digest}.chunks`]);
  expect(await listed(store)).toEqual([{ digest, bytes: bytes.length, atMs: NOW_MS }]);
  await store.delete(digest);
  expect(readdirSync(folder)).toEqual([]);
});

test('a failure of the disk is reported with its cause to the operator', async () => {
  const { dataDirectory, store } = open();
  writeFileSync(join(dataDirectory, 'blobs'), 'no directory');
  const failed = { code: 'unavailable', reason: 'blob_store_failed' };
  const because = { cause: expect.objectContaining({ code: expect.stringMatching(/^E[A-Z]+$/) }) };
  await expect(store.put(bodyOf('x'), { bytesMax: 100 })).rejects.toMatchObject({ ...failed, ...because });
});
