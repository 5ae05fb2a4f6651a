/** Attachments: taken in whole or not at all, opened by whom may read their record, kept while anything needs them. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ActorId, type AttachmentMeta, PlatformError } from '@freehold/contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeNodeBlobStore } from '../../engine-node/src/blob-store.ts';
import {
  type Attachments,
  type AttachmentsOptions,
  defineVertical,
  makeAttachments,
  makeDeliveryRunner,
} from '../src/index.ts';
import { guest, openShop, owner, packer, scopeId, shop } from './shop.ts';

const DAY_MS = 86_400_000;
const vertical = defineVertical({
  ...shop,
  manifest: {
    ...shop.manifest,
    entities: {
      box: { attachments: { read: 'box.read', write: 'box.pack', remove: 'bill.write' } },
      bill: {},
    },
  },
});
const entity = { type: 'box', id: 'box_1' };
const meta: AttachmentMeta = { entity, filename: 'label.pdf', mediaType: 'application/pdf' };
const scope = scopeId as never;

async function openWithBlobs(
  bytesMax = 1_000,
  more: Parameters<typeof openShop>[0] & Pick<AttachmentsOptions, 'oldestCopyMs' | 'onIncident'> = {},
) {
  const { oldestCopyMs, onIncident, ...options } = more;
  const opened = await openShop({ vertical, ...options });
  const blobs = (id: string) =>
    makeNodeBlobStore({ dataDirectory: opened.dataDirectory, scopeId: id, now: () => opened.clock.ms });
  const attachments: Attachments = makeAttachments({
    scope: (id) => opened.host.scope(id),
    blobs,
    now: () => opened.clock.ms,
    bytesMax,
    onIncident,
    ...(oldestCopyMs ? { oldestCopyMs } : {}),
  });
  const files = () =>
    readdirSync(opened.dataDirectory, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile() && each.parentPath.includes('blobs'))
      .map((each) => join(each.parentPath, each.name));
  const add = (bytes: Uint8Array | string, more: Partial<AttachmentMeta> = {}, who: ActorId = owner) =>
    attachments.add(scope, who, { ...meta, ...more }, streamOf(bytes));
  return {
    ...opened,
    attachments,
    files,
    add,
    blobs,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

function streamOf(bytes: Uint8Array | string, chunk = 7): ReadableStream<Uint8Array> {
  const all = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= all.length) return controller.close();
      controller.enqueue(all.slice(at, at + chunk));
      at += chunk;
    },
  });
}
const read = async (body: ReadableStream<Uint8Array>) => Buffer.from(await new Response(body).arrayBuffer());
const digestOf = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('what was attached comes out byte for byte, and is part of the story of its record', async () => {
  await using opened = await openWithBlobs();
  const record = await opened.add('the label');
  expect(record).toEqual({
    id: expect.stringMatching(/^att_/),
    entity,
    filename: 'label.pdf',
    mediaType: 'application/pdf',
    bytes: 9,
    digest: digestOf('the label'),
    by: owner,
    at: '2026-01-01T00:00:00.000Z',
  });
  const { record: again, body } = await opened.attachments.open(scope, owner, record.id);
  expect(again).toEqual(record);
  expect((await read(body)).toString()).toBe('the label');
  const [event] = (await opened.scope.history({ entity, limit: 5 })).items;
  expect(event).toMatchObject({
    type: 'attachment.added',
    actor: owner,
    payload: { attachment: record.id, bytes: 9 },
  });
  // The file name may name a person.
  expect(JSON.stringify(event)).not.toContain('label.pdf');
});

test('any bytes at all', async () => {
  await using opened = await openWithBlobs(100_000);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async (bytes) => {
      const { id, digest } = await opened.add(new Uint8Array(bytes));
      expect(digest).toBe(digestOf(new Uint8Array(bytes)));
      const { body } = await opened.attachments.open(scope, owner, id);
      expect(Buffer.compare(await read(body), Buffer.from(bytes))).toBe(0);
    }),
    { numRuns: 20 },
  );
});

test('the same bytes lie there once, for every record that has them', async () => {
  await using opened = await openWithBlobs();
  const ids = [];
  for (const id of ['a', 'b', 'c']) ids.push((await opened.add('same', { entity: { type: 'box', id } })).id);
  expect(opened.files()).toHaveLength(1);
  await opened.attachments.remove(scope, owner, ids[0] as string);
  opened.clock.ms += 30 * DAY_MS;
  expect(await opened.attachments.sweep(scope)).toEqual({ deleted: 0, left: 1 });
  const { body } = await opened.attachments.open(scope, owner, ids[1] as string);
  expect((await read(body)).toString()).toBe('same');
});

test.each([
  ['too many bytes', 'x'.repeat(1_001), {}, { code: 'payload_too_large' }],
  ['too many announced', 'x', { bytes: 1_001 }, { code: 'payload_too_large' }],
  ['fewer than announced', 'xx', { bytes: 3 }, { reason: 'length_mismatch' }],
  ['other bytes than announced', 'xx', { digest: digestOf('yy') }, { reason: 'digest_mismatch' }],
  ['a record that has none', 'x', { entity: { type: 'bill', id: '1' } }, { reason: 'no_attachments' }],
  ['a name with a path', 'x', { filename: '../x' }, { reason: 'filename_malformed' }],
  ['a name with a line break', 'x', { filename: 'a\r\nb' }, { reason: 'filename_malformed' }],
  ['a media type that is none', 'x', { mediaType: 'pdf' }, { code: 'validation_failed' }],
])('%s: refused, and nothing is left', async (_name, bytes, more, refusal) => {
  await using opened = await openWithBlobs();
  await expect(opened.add(bytes, more)).rejects.toMatchObject(refusal);
  expect(opened.files()).toEqual([]);
  expect((await opened.scope.history({ entity, limit: 5 })).items).toEqual([]);
});

test('an upload that breaks off leaves nothing', async () => {
  await using opened = await openWithBlobs();
  const broken = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new Uint8Array(3));
    },
    pull: () => {
      throw new Error('the line is down');
    },
  });
  await expect(opened.attachments.add(scope, owner, meta, broken)).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(opened.files()).toEqual([]);
});

test('who may not write is refused before a byte is read, and who may not read sees nothing', async () => {
  await using opened = await openWithBlobs();
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(1));
      },
    },
    { highWaterMark: 0 },
  );
  await expect(opened.attachments.add(scope, guest, meta, body)).rejects.toMatchObject({
    code: 'permission_denied',
  });
  expect(pulled).toBe(0);
  const { id } = await opened.add('secret');
  // The packer may add, and not look.
  await opened.add('mine', {}, packer);
  for (const attempt of [
    () => opened.attachments.open(scope, packer, id),
    () => opened.attachments.list(scope, packer, entity),
    () => opened.attachments.remove(scope, guest, id),
  ])
    await expect(attempt()).rejects.toMatchObject({ code: 'permission_denied' });
  expect((await opened.scope.listDenials({ limit: 10 })).items).toHaveLength(4);
});

test('removing takes a right of its own, and a state of the record that allows it', async () => {
  const states: string[] = [];
  const guarded = defineVertical({
    ...vertical,
    requireRemovable: ({ sql, principal }, { entity, filename }) => {
      const rows = sql.get<{ n: number }>('SELECT count(*) AS n FROM boxes')?.n;
      states.push(`${principal} ${entity.id} ${filename} ${rows}`);
      if (states.length === 1) throw new PlatformError('immutable', 'The box is sealed.');
    },
  });
  await using opened = await openWithBlobs(1_000, { vertical: guarded });
  const { id } = await opened.add('mine', {}, packer);
  // The packer adds files, and removes none: not even their own.
  await expect(opened.attachments.remove(scope, packer, id)).rejects.toMatchObject({
    code: 'permission_denied',
    reason: 'bill_write',
  });
  await expect(opened.attachments.remove(scope, owner, id)).rejects.toMatchObject({ code: 'immutable' });
  expect(await opened.attachments.list(scope, owner, entity)).toHaveLength(1);
  await opened.attachments.remove(scope, owner, id);
  expect(await opened.attachments.list(scope, owner, entity)).toEqual([]);
  expect(states).toEqual(Array(2).fill(`${owner} box_1 label.pdf 0`));
});

test('where the manifest names no permission for it, no attachment is removed', async () => {
  const entities = { box: { attachments: { read: 'box.read', write: 'box.pack' } }, bill: {} };
  const silent = defineVertical({ ...vertical, manifest: { ...vertical.manifest, entities } });
  await using opened = await openWithBlobs(1_000, { vertical: silent });
  const { id } = await opened.add('kept');
  await expect(opened.attachments.remove(scope, owner, id)).rejects.toMatchObject({
    code: 'forbidden',
    reason: 'attachments_not_removable',
  });
  expect(await opened.attachments.list(scope, owner, entity)).toHaveLength(1);
});

test('what lies outside of one record cannot be reached through it', async () => {
  await using opened = await openWithBlobs();
  await expect(opened.attachments.open(scope, owner, 'att_01arz3ndektsv4rrffq69g5fav')).rejects.toMatchObject(
    {
      code: 'not_found',
      reason: 'unknown_attachment',
    },
  );
  expect(() => opened.blobs('../other')).toThrow(TypeError);
  await expect(opened.blobs(scopeId).open('../../../etc/passwd')).rejects.toThrow(TypeError);
});

test('removed bytes outlive every rewind that could ask for them, and no longer', async () => {
  await using opened = await openWithBlobs();
  const { id } = await opened.add('old');
  opened.clock.ms += 2 * DAY_MS;
  await opened.attachments.remove(scope, owner, id);
  await expect(opened.attachments.open(scope, owner, id)).rejects.toMatchObject({ code: 'not_found' });
  opened.clock.ms += 8 * DAY_MS - 1;
  expect(await opened.attachments.sweep(scope)).toEqual({ deleted: 0, left: 1 });
  opened.clock.ms += 1;
  expect(await opened.attachments.sweep(scope)).toEqual({ deleted: 1, left: 0 });
  expect(opened.files()).toEqual([]);
});

test('bytes without a record wait a day for it, and are then swept away', async () => {
  await using opened = await openWithBlobs();
  await opened.blobs(scopeId).put(streamOf('orphan'), { bytesMax: 100 });
  expect(await opened.attachments.sweep(scope)).toEqual({ deleted: 0, left: 1 });
  opened.clock.ms += DAY_MS;
  expect(await opened.attachments.sweep(scope)).toEqual({ deleted: 1, left: 0 });
});

test('damaged and missing bytes are refused before a byte goes out, and each time reported', async () => {
  const reports: string[] = [];
  const onIncident = (error: Error, of: string) => void reports.push(`${of}: ${error.message}`);
  await using opened = await openWithBlobs(1_000, { onIncident });
  const { id, digest } = await opened.add('whole');
  const [file] = opened.files();
  expect(readFileSync(file as string, 'utf8')).toBe('whole');
  writeFileSync(file as string, 'whale');
  const open = () => opened.attachments.open(scope, owner, id);
  await expect(open()).rejects.toMatchObject({ reason: 'blob_damaged' });
  await opened.blobs(scopeId).delete(digest);
  await expect(open()).rejects.toMatchObject({ reason: 'blob_missing' });
  const named = `${scopeId}: Attachment ${id} of scope ${scopeId} (SHA-256 ${digest}): The bytes of this file are`;
  expect(reports).toEqual([
    expect.stringContaining(`${named} damaged`),
    expect.stringContaining(`${named} missing`),
  ]);
});

test('damage behind the first chunk breaks the answer off before it, and is reported without a stack', async () => {
  const reports: string[] = [];
  const onIncident = (error: Error) => void reports.push(error.message);
  await using opened = await openWithBlobs(4_000_000, { onIncident });
  const bytes = Buffer.alloc(3_000_000, 'abc');
  const { id } = await opened.attachments.add(scope, owner, meta, new Blob([bytes]).stream());
  const file = opened.files().find((each) => !each.endsWith('.chunks')) as string;
  const damaged = readFileSync(file);
  damaged[2_999_999] = 0;
  writeFileSync(file, damaged);
  const { body } = await opened.attachments.open(scope, owner, id);
  let sent = 0;
  const failure = await (async () => {
    for await (const piece of body) sent += piece.length;
  })().catch((error: unknown) => error as Error);
  expect(failure).toMatchObject({ reason: 'blob_damaged', stack: expect.not.stringContaining(' at ') });
  expect([sent, reports.length]).toEqual([2 * 1_024 * 1_024, 1]);
});

test('those of a record are listed in order, and a record has 200 at most', async () => {
  await using opened = await openWithBlobs();
  const added = [];
  for (let i = 0; i < 200; i++) added.push((await opened.add('x', { filename: `${i}.txt` })).id);
  expect((await opened.attachments.list(scope, owner, entity)).map(({ id }) => id)).toEqual(added);
  await expect(opened.add('x')).rejects.toMatchObject({ code: 'conflict', reason: 'attachments_full' });
});

test('a vertical that guards attachments by an undeclared permission fails at start', () => {
  const entities = { box: { attachments: { read: 'box.read', write: 'box.scribble' } }, bill: {} };
  expect(() => defineVertical({ ...shop, manifest: { ...shop.manifest, entities } })).toThrow('box.scribble');
});

test('bytes are kept for as long as the engine goes back in time, and a day', async () => {
  await using opened = await openWithBlobs(1_000, { rewindMs: 30 * DAY_MS });
  const { id } = await opened.add('old');
  opened.clock.ms += DAY_MS;
  await opened.attachments.remove(scope, owner, id);
  opened.clock.ms += 31 * DAY_MS - 1;
  expect(await opened.attachments.sweep(scope)).toEqual({ deleted: 0, left: 1 });
  opened.clock.ms += 1;
  expect(await opened.attachments.sweep(scope)).toEqual({ deleted: 1, left: 0 });
});

test('bytes that a copy could bring back are kept for as long as there is the copy', async () => {
  let oldestMs: number | null = Date.UTC(2026, 0, 2);
  await using opened = await openWithBlobs(1_000, { oldestCopyMs: async () => oldestMs });
  const before = await opened.add('removed before the copy');
  const after = await opened.add('removed after the copy');
  await opened.attachments.remove(scope, owner, before.id);
  opened.clock.ms += 2 * DAY_MS;
  await opened.attachments.remove(scope, owner, after.id);
  opened.clock.ms += 400 * DAY_MS;
  expect(await opened.attachments.sweep(scope)).toEqual({ deleted: 1, left: 1 });
  oldestMs = null;
  expect(await opened.attachments.sweep(scope)).toEqual({ deleted: 1, left: 0 });
});

test('bytes that are sent anew while they are being swept never leave a record of nothing', async () => {
  await using opened = await openWithBlobs();
  await opened.blobs(scopeId).put(streamOf('twice'), { bytesMax: 100 });
  opened.clock.ms += 2 * DAY_MS;
  // The scope has been asked, and the bytes are still there: the moment in which they come once more.
  const digest = digestOf('twice');
  expect(await opened.scope.heldBlobs({ digests: [digest] })).toEqual([]);
  await expect(opened.add('twice')).rejects.toMatchObject({
    code: 'unavailable',
    reason: 'blob_leaving',
    headers: { 'retry-after': '600' },
  });
  expect((await opened.scope.history({ entity, limit: 5 })).items).toEqual([]);
  await opened.blobs(scopeId).delete(digest);
  opened.clock.ms += 600_000;
  const { id } = await opened.add('twice');
  const { body } = await opened.attachments.open(scope, owner, id);
  expect((await read(body)).toString()).toBe('twice');
});

test('a sweep that takes too long removes nothing on an old answer', async () => {
  await using opened = await openWithBlobs();
  for (const text of ['a', 'b', 'c']) await opened.blobs(scopeId).put(streamOf(text), { bytesMax: 100 });
  opened.clock.ms += 2 * DAY_MS;
  const slow: Attachments = makeAttachments({
    scope: (id) => opened.host.scope(id),
    now: () => opened.clock.ms,
    blobs: (id) => ({
      ...opened.blobs(id),
      delete: async (digest) => {
        await opened.blobs(id).delete(digest);
        opened.clock.ms += 299_999;
      },
    }),
  });
  expect(await slow.sweep(scope)).toEqual({ deleted: 2, left: 1 });
  expect(await slow.sweep(scope)).toEqual({ deleted: 1, left: 0 });
});

test('the runner has a scope swept once a day, also one that never had a subscriber', async () => {
  await using opened = await openWithBlobs();
  const timers = new Set<{ readonly atMs: number; readonly task: () => void }>();
  const runner = makeDeliveryRunner({
    vertical,
    scope: (id) => opened.host.scope(id),
    attachments: opened.attachments,
    now: () => opened.clock.ms,
    after: (ms, task) => {
      const timer = { atMs: opened.clock.ms + ms, task };
      timers.add(timer);
      if (ms === 0) setImmediate(() => timers.delete(timer) && task());
      return () => void timers.delete(timer);
    },
    onIncident: (error) => {
      throw error;
    },
  });
  const { id } = await opened.add('old');
  await opened.attachments.remove(scope, owner, id);
  await runner.resume([scopeId]);
  await runner.idle();
  const startMs = opened.clock.ms;
  while (opened.files().length > 0 && opened.clock.ms < startMs + 20 * DAY_MS) {
    const [timer] = timers;
    opened.clock.ms = Math.max(opened.clock.ms, timer?.atMs ?? Number.POSITIVE_INFINITY);
    if (timer) timers.delete(timer);
    timer?.task();
    await runner.idle();
  }
  expect(opened.clock.ms - startMs).toBeGreaterThanOrEqual(8 * DAY_MS);
  expect(opened.clock.ms - startMs).toBeLessThan(10 * DAY_MS);
  await runner.stop();
});
