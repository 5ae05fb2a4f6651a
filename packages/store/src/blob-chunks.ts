/**
 * Digests of the chunks of a blob, so that no byte leaves a store unchecked, not even of a part. A blob of one chunk
 * needs none but its own. Those of a larger one are a list beside it, made when its bytes come in; where the list is
 * missing or damaged (a blob of an earlier version), the first opening reads the whole blob, and makes the list anew.
 */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { ByteRange, StoredBlob } from './blob-store.ts';

/** The size of a chunk; the last one may be smaller. */
export const BLOB_CHUNK_BYTES = 1_024 * 1_024;
const DIGEST_BYTES = 32;

export interface HashedBlob extends StoredBlob {
  /** The digests of its chunks as a list to keep; null for a blob of one chunk. */
  readonly chunks: Uint8Array | null;
}

/** Hashes a blob and its chunks while its bytes pass. */
export function makeBlobHash(): { update(piece: Uint8Array): void; finish(): HashedBlob } {
  const whole = createHash('sha256');
  const digests: Buffer[] = [];
  let chunk = createHash('sha256');
  let filled = 0;
  let bytes = 0;
  const endChunk = (): void => {
    digests.push(chunk.digest());
    chunk = createHash('sha256');
    filled = 0;
  };
  return {
    update: (piece) => {
      whole.update(piece);
      bytes += piece.byteLength;
      for (let at = 0; at < piece.byteLength; ) {
        // Only a later byte shows that a full chunk is not the last.
        if (filled === BLOB_CHUNK_BYTES) endChunk();
        const part = piece.subarray(at, at + BLOB_CHUNK_BYTES - filled);
        chunk.update(part);
        filled += part.byteLength;
        at += part.byteLength;
      }
    },
    finish: () => {
      endChunk();
      const stored = { digest: whole.digest('hex'), bytes };
      return { ...stored, chunks: digests.length === 1 ? null : listOf(Buffer.concat(digests), stored) };
    },
  };
}

/** The place of one blob in a store. Members reject when the store cannot be reached. */
export interface BlobSource {
  /** Returns a part of the bytes (default: all) and the number of all; null when there is no blob. A part that begins
   * in the blob ends with it. */
  get(
    part?: ByteRange,
  ): Promise<{ readonly body: ReadableStream<Uint8Array>; readonly bytes: number } | null>;
  /** Returns the list that was kept beside the blob, or null. */
  loadChunks(): Promise<Uint8Array | null>;
  saveChunks(list: Uint8Array): Promise<void>;
}

/**
 * Opens a blob, or a range of it: each chunk is checked before a byte of it is passed on, and the first one before this
 * resolves. The last chunk of a whole blob also waits for the digest of the whole.
 * @throws PlatformError `unavailable`, reason `blob_damaged`; the stream fails with it for a later chunk.
 */
export async function openBlob(
  source: BlobSource,
  digest: string,
  range?: ByteRange,
): Promise<ReadableStream<Uint8Array> | null> {
  const part = range && {
    start: range.start - (range.start % BLOB_CHUNK_BYTES),
    end: Math.ceil(range.end / BLOB_CHUNK_BYTES) * BLOB_CHUNK_BYTES,
  };
  let found = await source.get(part);
  if (!found) return null;
  const { bytes } = found;
  let digests =
    bytes > BLOB_CHUNK_BYTES
      ? digestsIn(await source.loadChunks(), { digest, bytes })
      : Buffer.from(digest, 'hex');
  if (!digests) {
    await found.body.cancel();
    digests = await makeChunksAnew(source, digest);
    found = digests && (await source.get(part));
    if (!found || !digests) return null;
  }
  const chunks = checkedChunks(found.body, {
    digests,
    bytes,
    range: range ?? { start: 0, end: bytes },
    whole: range || bytes <= BLOB_CHUNK_BYTES ? null : digest,
  });
  return streamOf(chunks, await chunks.next());
}

/** Reads a whole blob, and keeps the digests of its chunks. Null when it is gone. */
async function makeChunksAnew(source: BlobSource, digest: string): Promise<Uint8Array | null> {
  const found = await source.get();
  if (!found) return null;
  const hash = makeBlobHash();
  for await (const piece of found.body) hash.update(piece);
  const hashed = hash.finish();
  if (hashed.digest !== digest || !hashed.chunks) throw damaged();
  // Reading goes on where nothing can be written: the next opening makes the list again.
  await source.saveChunks(hashed.chunks).catch(() => undefined);
  return digestsIn(hashed.chunks, hashed);
}

interface Checks {
  /** The digests of all chunks, one after the other. */
  readonly digests: Uint8Array;
  /** The size of the blob. */
  readonly bytes: number;
  readonly range: ByteRange;
  /** The digest of all bytes, where all are read and it is not that of the only chunk. */
  readonly whole: string | null;
}

/** Yields the bytes of a range. @param body begins with the chunk in which the range begins. */
async function* checkedChunks(
  body: ReadableStream<Uint8Array>,
  { digests, bytes, range, whole }: Checks,
): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  const all = whole === null ? null : createHash('sha256');
  let rest: Uint8Array = new Uint8Array(0);
  const take = async (size: number): Promise<Uint8Array> => {
    const chunk = new Uint8Array(size);
    for (let filled = 0; filled < size; ) {
      if (rest.length === 0) {
        const { done, value } = await reader.read();
        if (done) throw damaged();
        rest = value;
      }
      const piece = rest.subarray(0, size - filled);
      chunk.set(piece, filled);
      filled += piece.length;
      rest = rest.subarray(piece.length);
    }
    return chunk;
  };
  try {
    let at = range.start - (range.start % BLOB_CHUNK_BYTES);
    do {
      const chunk = await take(Math.min(BLOB_CHUNK_BYTES, bytes - at));
      const nth = (at / BLOB_CHUNK_BYTES) * DIGEST_BYTES;
      const found = createHash('sha256').update(chunk).digest();
      if (!found.equals(digests.subarray(nth, nth + DIGEST_BYTES))) throw damaged();
      all?.update(chunk);
      const end = at + chunk.length;
      if (all && end === bytes && all.digest('hex') !== whole) throw damaged();
      if (chunk.length > 0) yield chunk.subarray(Math.max(0, range.start - at), range.end - at);
      at = end;
    } while (at < range.end);
    if (rest.length > 0 || !(await reader.read()).done) throw damaged();
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function streamOf(
  chunks: AsyncGenerator<Uint8Array, void>,
  first: IteratorResult<Uint8Array, void>,
): ReadableStream<Uint8Array> {
  let next: IteratorResult<Uint8Array, void> | null = first;
  return new ReadableStream(
    {
      pull: async (controller) => {
        const { done, value } = next ?? (await chunks.next());
        next = null;
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return()),
    },
    // A chunk is read when it is asked for, and not before.
    { highWaterMark: 0 },
  );
}

/** The list to keep: the digests, and one over them that names the blob. */
function listOf(digests: Uint8Array, blob: StoredBlob): Uint8Array {
  return Buffer.concat([digests, sealOf(digests, blob)]);
}

/** Returns the digests of a list; null when it is absent, damaged, or of other bytes. */
function digestsIn(list: Uint8Array | null, blob: StoredBlob): Uint8Array | null {
  const count = Math.ceil(blob.bytes / BLOB_CHUNK_BYTES);
  if (list?.length !== (count + 1) * DIGEST_BYTES) return null;
  const digests = list.subarray(0, count * DIGEST_BYTES);
  return sealOf(digests, blob).equals(list.subarray(count * DIGEST_BYTES)) ? digests : null;
}

function sealOf(digests: Uint8Array, { digest, bytes }: StoredBlob): Buffer {
  return createHash('sha256').update(`${digest} ${bytes}\n`).update(digests).digest();
}

function damaged(): PlatformError {
  return new PlatformError(
    'unavailable',
    'The bytes of this file are damaged in the store. Ask the people who run this to bring back its copy.',
    { reason: 'blob_damaged' },
  );
}
