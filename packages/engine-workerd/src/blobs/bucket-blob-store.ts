/**
 * The bytes of attachments in a bucket: one object a blob, named by its SHA-256, whole or not there. A bucket wants the
 * name of an object before its bytes, and the name is known after them: what fits into a part is held back until then,
 * and what does not goes to a name of its own first, and is copied to its right one by the bucket.
 */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import {
  assertUnitKey,
  type BlobEntry,
  type BlobLimits,
  type BlobStore,
  type StoredBlob,
} from '@freehold/store';
import { type Bucket, PART_BYTES } from './bucket.ts';
import { takeIn } from './take-in.ts';

const DIGEST = /^[0-9a-f]{64}$/;
/** Names of objects that are still coming in. */
const COMING = '.coming-';
/** An upload that is older has died. */
const COMING_KEPT_MS = 86_400_000;

export interface BucketBlobStoreOptions {
  readonly bucket: Bucket;
  readonly scopeId: string;
  /** What every key begins with, before the scope's id. Default `blobs/`. */
  readonly prefix?: string;
  /** Milliseconds since the epoch. Default: the system's clock. */
  readonly now?: () => number;
  /** A part of a name that no two uploads share. Default: `crypto.randomUUID`. */
  readonly newName?: () => string;
}

/**
 * Makes the store of one scope. Its members reject with `unavailable`, reason `blob_store_failed`, when the bucket
 * cannot be reached. It holds at most two parts of a blob (16 MiB) in memory.
 */
export function makeBucketBlobStore(options: BucketBlobStoreOptions): BlobStore {
  const { bucket, scopeId, prefix = 'blobs/', now = Date.now, newName = () => crypto.randomUUID() } = options;
  assertUnitKey(scopeId);
  const root = `${prefix}${scopeId}/`;
  const keyOf = (digest: string): string => {
    if (!DIGEST.test(digest)) throw new TypeError('a digest is 64 hexadecimal characters');
    return root + digest;
  };

  return {
    put: async (body, limits) => {
      try {
        return await put(bucket, { body, limits, keyOf, comingKey: `${root}${COMING}${newName()}` });
      } catch (error) {
        throw error instanceof PlatformError ? error : unavailable(error);
      }
    },

    open: async (digest) => {
      const body = await bucket.get(keyOf(digest)).catch(rethrowUnavailable);
      return body && checked(body, digest);
    },

    delete: (digest) => bucket.delete(keyOf(digest)).catch(rethrowUnavailable),

    list: async function* list(): AsyncIterable<BlobEntry> {
      for await (const { key, bytes, atMs } of reachable(bucket.list(root))) {
        const digest = key.slice(root.length);
        if (DIGEST.test(digest)) yield { digest, bytes, atMs };
        // Nobody else would ever come across what a dead upload left.
        else if (digest.startsWith(COMING) && atMs < now() - COMING_KEPT_MS)
          await bucket.delete(key).catch(rethrowUnavailable);
      }
    },

    clear: async () => {
      for await (const { key } of reachable(bucket.list(root)))
        await bucket.delete(key).catch(rethrowUnavailable);
    },
  };
}

interface Coming {
  readonly body: ReadableStream<Uint8Array>;
  readonly limits: BlobLimits;
  readonly keyOf: (digest: string) => string;
  readonly comingKey: string;
}

async function put(bucket: Bucket, { body, limits, keyOf, comingKey }: Coming): Promise<StoredBlob> {
  const incoming = takeIn(body, limits, PART_BYTES);
  const first = await incoming.next();
  if (first.done) throw new Error('bytes that came in have no last part');
  if (first.value.stored) {
    await bucket.put(keyOf(first.value.stored.digest), first.value.bytes);
    return first.value.stored;
  }
  const upload = await bucket.upload(comingKey);
  let stored: StoredBlob | null = null;
  try {
    await upload.part(first.value.bytes);
    for await (const part of incoming) {
      await upload.part(part.bytes);
      stored = part.stored;
    }
    if (!stored) throw new Error('bytes that came in have no last part');
    await upload.complete();
  } catch (error) {
    await upload.abort().catch(() => undefined);
    throw error;
  }
  try {
    await bucket.copy(comingKey, keyOf(stored.digest), stored.bytes);
    return stored;
  } finally {
    // What stays because this fails is removed by a later listing.
    await bucket.delete(comingKey).catch(() => undefined);
  }
}

/** A stream that fails at its end when its bytes are not those of the digest. */
function checked(body: ReadableStream<Uint8Array>, digest: string): ReadableStream<Uint8Array> {
  const hash = createHash('sha256');
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        hash.update(chunk);
        controller.enqueue(chunk);
      },
      flush: () => {
        if (hash.digest('hex') !== digest)
          throw new PlatformError('unavailable', 'The bytes of this attachment are damaged.', {
            reason: 'blob_damaged',
          });
      },
    }),
  );
}

async function* reachable<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    rethrowUnavailable(error);
  }
}

function rethrowUnavailable(error: unknown): never {
  throw error instanceof PlatformError ? error : unavailable(error);
}

function unavailable(cause: unknown): PlatformError {
  return new PlatformError('unavailable', 'The attachments cannot be reached right now.', {
    reason: 'blob_store_failed',
    cause,
  });
}
