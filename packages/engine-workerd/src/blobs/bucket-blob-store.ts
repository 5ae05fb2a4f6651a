/**
 * The bytes of attachments in a bucket: one object a blob, named by its SHA-256, complete or absent. A bucket needs
 * the name of an object before its bytes, and the digest is known after them: a blob that fits into a part is held in
 * memory until then. A larger one gets a temporary name first, and is copied to its own by the bucket.
 */
import { PlatformError } from '@freehold/contracts';
import {
  assertUnitKey,
  type BlobEntry,
  type BlobLimits,
  type BlobSource,
  type BlobStore,
  type HashedBlob,
  openBlob,
  type StoredBlob,
} from '@freehold/store';
import { type Bucket, PART_BYTES } from './bucket.ts';
import { takeIn } from './take-in.ts';

const DIGEST = /^[0-9a-f]{64}$/;
/** The end of the key of a list of chunk digests, beside its blob. */
const CHUNKS = '.chunks';
/** The prefix of names of uploads in progress. */
const COMING = '.coming-';
/** An older upload has died. */
const COMING_KEPT_MS = 86_400_000;

export interface BucketBlobStoreOptions {
  readonly bucket: Bucket;
  readonly scopeId: string;
  /** The prefix of every key, before the scope's id. Default `blobs/`. */
  readonly prefix?: string;
  /** Milliseconds since the epoch. Default: the system's clock. */
  readonly now?: () => number;
  /** Returns a part of a name that no two uploads share. Default: `crypto.randomUUID`. */
  readonly newName?: () => string;
}

/**
 * Makes the store of one scope. Its members reject with `unavailable`, reason `blob_store_failed`, when the bucket is
 * unavailable. It holds at most two parts of a blob (16 MiB) in memory.
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

    open: async (digest, range) =>
      openBlob(sourceAt(bucket, keyOf(digest)), digest, range).catch(rethrowUnavailable),

    delete: async (digest) => {
      const key = keyOf(digest);
      for (const each of [`${key}${CHUNKS}`, key]) await bucket.delete(each).catch(rethrowUnavailable);
    },

    list: async function* list(): AsyncIterable<BlobEntry> {
      let last = '';
      for await (const { key, bytes, atMs } of reachable(bucket.list(root))) {
        const name = key.slice(root.length);
        if (DIGEST.test(name)) {
          yield { digest: name, bytes, atMs };
          last = name;
        } else if ((name.startsWith(COMING) || isListWithout(last, name)) && atMs < now() - COMING_KEPT_MS)
          // No other code would find what a dead upload left.
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
  /** Before the blob, which then always has its list. */
  const putChunks = async ({ digest, chunks }: HashedBlob): Promise<void> => {
    if (chunks) await bucket.put(`${keyOf(digest)}${CHUNKS}`, chunks);
  };
  if (first.value.stored) {
    const { digest, bytes } = first.value.stored;
    await putChunks(first.value.stored);
    await bucket.put(keyOf(digest), first.value.bytes);
    return { digest, bytes };
  }
  const upload = await bucket.upload(comingKey);
  let stored: HashedBlob | null = null;
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
    await putChunks(stored);
    await bucket.copy(comingKey, keyOf(stored.digest), stored.bytes);
    return { digest: stored.digest, bytes: stored.bytes };
  } finally {
    // An object that stays because this fails is removed by a later listing.
    await bucket.delete(comingKey).catch(() => undefined);
  }
}

/** Whether an object is the list of another blob than the one before it; keys come in their order. */
function isListWithout(last: string, name: string): boolean {
  return name.endsWith(CHUNKS) && name !== `${last}${CHUNKS}`;
}

function sourceAt(bucket: Bucket, key: string): BlobSource {
  return {
    get: (part) => bucket.get(key, part),
    loadChunks: async () => {
      const found = await bucket.get(`${key}${CHUNKS}`);
      return found && new Uint8Array(await new Response(found.body).arrayBuffer());
    },
    saveChunks: (list) => bucket.put(`${key}${CHUNKS}`, list),
  };
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
  return new PlatformError('unavailable', 'The attachments are not available right now.', {
    reason: 'blob_store_failed',
    cause,
  });
}
