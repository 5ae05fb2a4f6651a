/**
 * The contract of blob stores: a blob is complete and correct or absent, scopes are separate, and damage is
 * noticed.
 */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { BlobEntry, BlobStore, ByteRange } from '../../../store/src/blob-store.ts';

/** A blob store under test. */
export interface BlobStoreSetup {
  /** Names the store in the report. */
  readonly name: string;
  /** Returns the store of one scope. Each test uses scopes of its own, so the storage behind may be shared. */
  readonly store: (scopeId: string) => BlobStore;
  /** Sizes at which this store changes its method, tested beside the small ones that every store gets. */
  readonly sizes?: readonly number[];
  /** The storage behind the store. Absent where nothing else reaches it. */
  readonly behind?: {
    /** Changes the byte at a place under a digest. */
    damage(scopeId: string, digest: string, at: number): Promise<void>;
    /** Removes the list of chunk digests, as if an earlier version had stored the blob. */
    dropChunks(scopeId: string, digest: string): Promise<void>;
  };
}

/** The size of a chunk, which is checked before a byte of it leaves. */
const CHUNK = 1_024 * 1_024;
const BYTES_MAX = 64 * 1_024 * 1_024;
const LIMITS = { bytesMax: BYTES_MAX };
const UNOWNED = 'f'.repeat(64);

let scopes = 0;
const newScopeId = (): string => {
  scopes += 1;
  return `scp_01k${String(scopes).padStart(23, '0')}`;
};

/** Declares the suite. */
export function describeBlobStore({ name, store, sizes = [], behind }: BlobStoreSetup): void {
  const open = () => {
    const scopeId = newScopeId();
    return { scopeId, blobs: store(scopeId) };
  };
  /** A small size, and each size at which the store changes its method. */
  const everySize = [9, ...sizes];
  /** Sizes at which the number of chunks changes. */
  const checkedSizes = [9, CHUNK, CHUNK + 5];

  describe(`the contract of blobs on ${name}`, () => {
    test.each([0, 1, ...everySize])('%d bytes come out as they went in', async (size) => {
      const { blobs } = open();
      const bytes = bytesOf(size, 1);
      const digest = digestOf(bytes);
      expect(await blobs.put(streamOf(bytes), LIMITS)).toEqual({ digest, bytes: size });
      expect(digestOf(await read(blobs, digest))).toBe(digest);
      expect(await entriesOf(blobs)).toMatchObject([{ digest, bytes: size }]);
    });

    test.each(everySize)('%d bytes are kept that were announced rightly', async (size) => {
      const { blobs } = open();
      const bytes = bytesOf(size, 2);
      const announced = { ...LIMITS, bytesMax: size, bytes: size, digest: digestOf(bytes) };
      expect(await blobs.put(streamOf(bytes), announced)).toEqual({ digest: digestOf(bytes), bytes: size });
    });

    test.each(everySize)('of %d bytes that are not what was announced nothing is kept', async (size) => {
      const { blobs } = open();
      const bytes = bytesOf(size, 3);
      for (const [limits, refusal] of [
        [{ bytesMax: size - 1 }, { code: 'payload_too_large' }],
        [
          { ...LIMITS, bytes: size + 1 },
          { code: 'validation_failed', reason: 'length_mismatch' },
        ],
        [
          { ...LIMITS, bytes: size - 1 },
          { code: 'validation_failed', reason: 'length_mismatch' },
        ],
        [
          { ...LIMITS, digest: UNOWNED },
          { code: 'validation_failed', reason: 'digest_mismatch' },
        ],
      ] as const)
        await expect(blobs.put(streamOf(bytes), limits)).rejects.toMatchObject(refusal);
      expect(await entriesOf(blobs)).toEqual([]);
      expect(await blobs.open(digestOf(bytes))).toBeNull();
      expect(await blobs.open(UNOWNED)).toBeNull();
    });

    test.each(everySize)('an upload that breaks off after %d bytes leaves nothing', async (size) => {
      const { blobs } = open();
      const bytes = bytesOf(size, 4);
      const broken = streamOf(bytes, () => {
        throw new Error('the line is down');
      });
      await expect(blobs.put(broken, LIMITS)).rejects.toMatchObject({ code: 'unavailable' });
      expect(await entriesOf(blobs)).toEqual([]);
      expect(await blobs.open(digestOf(bytes))).toBeNull();
    });

    test('a sender of too much is not listened to any longer', async () => {
      const { blobs } = open();
      let cancelled = false;
      const endless = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(1_000)),
        cancel: () => {
          cancelled = true;
        },
      });
      await expect(blobs.put(endless, { bytesMax: 100_000 })).rejects.toMatchObject({
        code: 'payload_too_large',
      });
      expect(cancelled).toBe(true);
    });

    test('the same bytes are kept once, and their time is that of the last who brought them', async () => {
      const { blobs } = open();
      const bytes = bytesOf(100, 5);
      await blobs.put(streamOf(bytes), LIMITS);
      const [first] = await entriesOf(blobs);
      await Promise.all([blobs.put(streamOf(bytes), LIMITS), blobs.put(streamOf(bytes), LIMITS)]);
      const after = await entriesOf(blobs);
      expect(after).toMatchObject([{ digest: digestOf(bytes), bytes: 100 }]);
      expect(after[0]?.atMs).toBeGreaterThanOrEqual(first?.atMs ?? Number.POSITIVE_INFINITY);
      expect(digestOf(await read(blobs, digestOf(bytes)))).toBe(digestOf(bytes));
    });

    test('what was deleted is gone, and deleting it again is done', async () => {
      const { blobs } = open();
      const { digest } = await blobs.put(streamOf(bytesOf(10, 6)), LIMITS);
      const { digest: other } = await blobs.put(streamOf(bytesOf(10, 7)), LIMITS);
      await blobs.delete(digest);
      await blobs.delete(digest);
      expect(await blobs.open(digest)).toBeNull();
      expect(await entriesOf(blobs)).toMatchObject([{ digest: other }]);
      expect((await read(blobs, other)).length).toBe(10);
    });

    test('each of many is listed once', async () => {
      const { blobs } = open();
      const digests: string[] = [];
      for (let i = 0; i < 25; i++)
        digests.push((await blobs.put(streamOf(bytesOf(20 + i, 8)), LIMITS)).digest);
      const listed = await entriesOf(blobs);
      expect(listed.map(({ digest }) => digest).sort()).toEqual(digests.sort());
      expect(listed.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(25 * 20 + (24 * 25) / 2);
    });

    test('one scope sees nothing of another, also one whose name begins with its own', async () => {
      const { scopeId, blobs } = open();
      const longer = store(`${scopeId}x`);
      const bytes = bytesOf(10, 9);
      const digest = digestOf(bytes);
      await longer.put(streamOf(bytes), LIMITS);
      expect(await blobs.open(digest)).toBeNull();
      expect(await entriesOf(blobs)).toEqual([]);
      await blobs.put(streamOf(bytes), LIMITS);
      await blobs.delete(digest);
      expect((await read(longer, digest)).length).toBe(10);
      await blobs.put(streamOf(bytesOf(11, 9)), LIMITS);
      await blobs.clear();
      expect(await entriesOf(blobs)).toEqual([]);
      expect((await read(longer, digest)).length).toBe(10);
      await longer.clear();
      expect(await longer.open(digest)).toBeNull();
      await longer.clear();
    });

    test.each(['', '../../etc/passwd', 'F'.repeat(64), `${'a'.repeat(63)}/`])(
      'what is no digest is asked for by mistake: %j',
      async (digest) => {
        const { blobs } = open();
        await expect(Promise.resolve().then(() => blobs.open(digest))).rejects.toThrow(TypeError);
        await expect(Promise.resolve().then(() => blobs.delete(digest))).rejects.toThrow(TypeError);
      },
    );

    test('a reader that stops early is not kept waiting', async () => {
      const { blobs } = open();
      const { digest } = await blobs.put(streamOf(bytesOf(300_000, 10)), LIMITS);
      const reader = (await blobs.open(digest))?.getReader();
      expect((await reader?.read())?.done).toBe(false);
      await reader?.cancel();
      expect((await read(blobs, digest)).length).toBe(300_000);
    });

    test.each(checkedSizes)('of %d bytes each range comes out as it went in', async (size) => {
      const { blobs } = open();
      const bytes = bytesOf(size, 12);
      const { digest } = await blobs.put(streamOf(bytes), LIMITS);
      for (const range of rangesOf(size))
        expect(digestOf(await read(blobs, digest, range))).toBe(
          digestOf(bytes.subarray(range.start, range.end)),
        );
    });

    if (behind) describeChecks({ open, sizes: checkedSizes, behind });
  });
}

interface Checked {
  readonly open: () => { readonly scopeId: string; readonly blobs: BlobStore };
  readonly sizes: readonly number[];
  readonly behind: NonNullable<BlobStoreSetup['behind']>;
}

const DAMAGED = { code: 'unavailable', reason: 'blob_damaged' };

function describeChecks({ open, sizes, behind }: Checked): void {
  test.each(sizes)('of %d bytes no damaged one goes out, and none of its chunk', async (size) => {
    const bytes = bytesOf(size, 11);
    for (const at of new Set([0, size - 1])) {
      const { scopeId, blobs } = open();
      const { digest } = await blobs.put(streamOf(bytes), LIMITS);
      await behind.damage(scopeId, digest, at);
      const whole = beginning(blobs, digest);
      // Damage in the first chunk is found before the store answers at all.
      if (at < CHUNK) await expect(whole).rejects.toMatchObject(DAMAGED);
      else expect(await whole).toEqual({ ...beginningUpTo(at), failure: expect.objectContaining(DAMAGED) });
      for (const range of rangesOf(size)) {
        const isTouched = chunkOf(range.start) <= chunkOf(at) && chunkOf(at) <= chunkOf(range.end - 1);
        if (isTouched) await expect(read(blobs, digest, range)).rejects.toMatchObject(DAMAGED);
        else expect((await read(blobs, digest, range)).length).toBe(range.end - range.start);
      }
      // The same bytes again repair it.
      await blobs.put(streamOf(bytes), LIMITS);
      expect(digestOf(await read(blobs, digest))).toBe(digest);
    }
  });

  test.each(sizes)(
    '%d bytes without digests of chunks are checked whole before the first byte',
    async (size) => {
      const { scopeId, blobs } = open();
      const bytes = bytesOf(size, 13);
      const { digest } = await blobs.put(streamOf(bytes), LIMITS);
      for (const range of [undefined, ...rangesOf(size)]) {
        await behind.dropChunks(scopeId, digest);
        const expected = bytes.subarray(range?.start ?? 0, range?.end ?? size);
        expect(digestOf(await read(blobs, digest, range))).toBe(digestOf(expected));
      }
      await behind.damage(scopeId, digest, size - 1);
      // The opening above made the list again.
      if (size > CHUNK) expect((await read(blobs, digest, { start: 0, end: 1 })).length).toBe(1);
      await behind.dropChunks(scopeId, digest);
      for (const range of [undefined, { start: 0, end: 1 }])
        await expect(blobs.open(digest, range)).rejects.toMatchObject(DAMAGED);
    },
  );
}

const chunkOf = (at: number): number => Math.floor(at / CHUNK);

/** The bytes before the chunk of a damaged one. */
function beginningUpTo(damagedAt: number): { readonly length: number } {
  return { length: chunkOf(damagedAt) * CHUNK };
}

/** Opens a blob, and reads until the stream ends or fails. */
async function beginning(
  blobs: BlobStore,
  digest: string,
): Promise<{ readonly length: number; readonly failure: unknown }> {
  const body = await blobs.open(digest);
  if (!body) throw new Error('there are no such bytes');
  let length = 0;
  try {
    for await (const chunk of body) length += chunk.length;
    return { length, failure: null };
  } catch (failure) {
    return { length, failure };
  }
}

/** Ranges at both ends, in the middle, around the bounds of chunks, and all. */
function rangesOf(size: number): ByteRange[] {
  const middle = Math.floor(size / 2);
  return [
    { start: 0, end: 1 },
    { start: size - 1, end: size },
    { start: middle, end: Math.min(size, middle + 3) },
    { start: CHUNK - 2, end: CHUNK + 1 },
    { start: CHUNK, end: 2 * CHUNK },
    { start: 0, end: size },
  ].filter(({ start, end }) => start < end && end <= size);
}

/** Returns bytes that differ by position and by seed. */
function bytesOf(size: number, seed: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let state = seed * 2_654_435_761 + size;
  for (let i = 0; i < size; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** Returns a stream of the bytes in uneven pieces. */
function streamOf(bytes: Uint8Array, atEnd?: () => never): ReadableStream<Uint8Array> {
  let at = 0;
  let piece = 1;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= bytes.length) {
        atEnd?.();
        controller.close();
        return;
      }
      controller.enqueue(bytes.slice(at, at + piece));
      at += piece;
      piece = Math.min(piece * 3 + 1, 200_003);
    },
  });
}

async function read(blobs: BlobStore, digest: string, range?: ByteRange): Promise<Uint8Array> {
  const body = await blobs.open(digest, range);
  if (!body) throw new Error('there are no such bytes');
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}

async function entriesOf(blobs: BlobStore): Promise<BlobEntry[]> {
  const entries: BlobEntry[] = [];
  for await (const entry of blobs.list()) entries.push(entry);
  return entries;
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
