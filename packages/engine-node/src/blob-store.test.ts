/** Unfinished files in the store of attachments, beyond the contract of every store. */
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
  for (const [name, ageMs] of [
    ['.coming-old', 25 * HOUR_MS],
    ['.coming-late', 23 * HOUR_MS],
  ] as const) {
    writeFileSync(join(root, name), 'half');
    const at = new Date(NOW_MS - ageMs);
    utimesSync(join(root, name), at, at);
  }
  expect(await listed(store)).toEqual([{ digest, bytes: 5, atMs: NOW_MS }]);
  expect(readdirSync(root).sort()).toEqual(['.coming-late', digest.slice(0, 2)]);
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

test('a failure of the disk is reported with its cause to the operator', async () => {
  const { dataDirectory, store } = open();
  writeFileSync(join(dataDirectory, 'blobs'), 'no directory');
  const failed = { code: 'unavailable', reason: 'blob_store_failed' };
  const because = { cause: expect.objectContaining({ code: expect.stringMatching(/^E[A-Z]+$/) }) };
  await expect(store.put(bodyOf('x'), { bytesMax: 100 })).rejects.toMatchObject({ ...failed, ...because });
});
