/** The bytes of attachments in a directory: one file a blob, named by its SHA-256, complete or absent. */
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { PlatformError } from '@freehold/contracts';
import {
  assertUnitKey,
  type BlobEntry,
  type BlobLimits,
  type BlobSource,
  type BlobStore,
  type HashedBlob,
  makeBlobHash,
  openBlob,
} from '@freehold/store';
import { storageFaultOf, storageProblem } from './lib/storage-faults.ts';

const DIGEST = /^[0-9a-f]{64}$/;
/** The end of the name of a list of chunk digests, beside its blob. */
const CHUNKS = '.chunks';
/** Names of files of uploads in progress. */
const COMING = /^\.coming-/;
/** An unfinished file that is older than a day belongs to a process that ended in the middle. */
const COMING_MS = 24 * 60 * 60 * 1_000;

export interface NodeBlobStoreOptions {
  /** The data directory; the bytes of a scope are under `blobs/<scope id>`. */
  readonly dataDirectory: string;
  readonly scopeId: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Returns a part of a file name that no two uploads share. Default: `crypto.randomUUID`. */
  readonly newName?: () => string;
}

/** The uploads in progress in this process, by path. */
const comingIn = new Set<string>();

/**
 * Makes the store of one scope. The first upload makes its directory. Listing it, which the daily sweep does, removes
 * unfinished files of an earlier process.
 */
export function makeNodeBlobStore(options: NodeBlobStoreOptions): BlobStore {
  const { dataDirectory, scopeId, now, newName = () => crypto.randomUUID() } = options;
  assertUnitKey(scopeId);
  const root = join(dataDirectory, 'blobs', scopeId);
  /** Two levels, so that no directory grows beyond the number of files that a file system handles quickly. */
  const folderOf = (digest: string): string => join(root, digest.slice(0, 2));
  const pathOf = (digest: string): string => join(folderOf(digest), requireDigest(digest));

  return {
    put: async (body, limits) => {
      const coming = join(root, `.coming-${newName()}`);
      comingIn.add(coming);
      try {
        await mkdir(root, { recursive: true, mode: 0o700 });
        const { chunks, ...stored } = await takeIn(coming, body, limits);
        await mkdir(folderOf(stored.digest), { recursive: true, mode: 0o700 });
        // Before the blob, which then always has its list; a list that a crash tears is made anew.
        if (chunks) await writeFile(`${pathOf(stored.digest)}${CHUNKS}`, chunks, { mode: 0o600 });
        await rename(coming, pathOf(stored.digest));
        await syncDirectory(folderOf(stored.digest));
        const at = new Date(now());
        await utimes(pathOf(stored.digest), at, at);
        return stored;
      } catch (error) {
        await rm(coming, { force: true }).catch(() => undefined);
        throw error instanceof PlatformError ? error : unavailable(error);
      } finally {
        comingIn.delete(coming);
      }
    },

    open: async (digest, range) => {
      const source = sourceAt(pathOf(digest));
      return openBlob(source, digest, range).catch((error: unknown) => {
        throw error instanceof PlatformError ? error : unavailable(error);
      });
    },

    delete: async (digest) => {
      const path = pathOf(digest);
      for (const each of [`${path}${CHUNKS}`, path])
        await rm(each, { force: true }).catch(rethrowUnavailable);
    },

    list: async function* list(): AsyncIterable<BlobEntry> {
      const folders = (await readdir(root).catch(orMissing)) ?? [];
      for (const folder of folders) {
        if (COMING.test(folder)) {
          await removeLeftover(join(root, folder), now());
          continue;
        }
        const names = new Set((await readdir(join(root, folder)).catch(orMissing)) ?? []);
        for (const digest of names) {
          if (digest.endsWith(CHUNKS) && !names.has(digest.slice(0, -CHUNKS.length)))
            await removeLeftover(join(root, folder, digest), now());
          const found = DIGEST.test(digest) && (await stat(join(root, folder, digest)).catch(orMissing));
          if (found) yield { digest, bytes: found.size, atMs: found.mtimeMs };
        }
      }
    },

    clear: async () => {
      await rm(root, { recursive: true, force: true }).catch(rethrowUnavailable);
    },
  };
}

/** Writes the stream to a file, counting and hashing, and makes it durable. */
async function takeIn(
  path: string,
  body: ReadableStream<Uint8Array>,
  limits: BlobLimits,
): Promise<HashedBlob> {
  const hash = makeBlobHash();
  let bytes = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > limits.bytesMax)
        throw new PlatformError('payload_too_large', `An attachment has at most ${limits.bytesMax} bytes.`);
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  const hashed = hash.finish();
  const { digest } = hashed;
  if (limits.bytes !== undefined && limits.bytes !== bytes)
    throw mismatch('length_mismatch', `${limits.bytes} bytes were announced and ${bytes} arrived.`);
  if (limits.digest !== undefined && limits.digest !== digest)
    throw mismatch(
      'digest_mismatch',
      'The bytes that arrived are not those announced: their SHA-256 is another.',
    );
  return hashed;
}

async function removeLeftover(path: string, nowMs: number): Promise<void> {
  if (comingIn.has(path)) return;
  const found = await stat(path).catch(orMissing);
  if (found && found.mtimeMs < nowMs - COMING_MS) await rm(path, { force: true }).catch(rethrowUnavailable);
}

/** A blob in a file, with its list beside it. */
function sourceAt(path: string): BlobSource {
  return {
    get: async (part) => {
      const found = await stat(path).catch(orMissing);
      if (!found) return null;
      const file = createReadStream(path, part && { start: part.start, end: part.end - 1 });
      return { body: Readable.toWeb(file) as ReadableStream<Uint8Array>, bytes: found.size };
    },
    loadChunks: () => readFile(`${path}${CHUNKS}`).catch(orMissing),
    saveChunks: (list) => writeFile(`${path}${CHUNKS}`, list, { mode: 0o600 }),
  };
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function requireDigest(digest: string): string {
  if (DIGEST.test(digest)) return digest;
  throw new TypeError('a digest is 64 hexadecimal characters');
}

function orMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw unavailable(error);
}

function rethrowUnavailable(error: unknown): never {
  throw unavailable(error);
}

function unavailable(cause: unknown): PlatformError {
  const fault = storageFaultOf(cause);
  if (fault === 'storage_full' || fault === 'storage_read_only') return storageProblem(fault, cause);
  return new PlatformError('unavailable', 'The attachments are not available right now.', {
    reason: 'blob_store_failed',
    cause,
  });
}

function mismatch(reason: string, detail: string): PlatformError {
  return new PlatformError('validation_failed', detail, { reason });
}
