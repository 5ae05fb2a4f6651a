/** The archive port: a second place for a data directory, with the few calls that every object store has. */
import { existsSync } from 'node:fs';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { historyDisk, makeDirectory } from '../lib/durable-file.ts';

/**
 * Keys are paths of letters, digits, `_`, `-`, `.` and `/`. Each member may reject; the caller retries. An object is
 * complete or absent, and {@link list} and {@link get} find it as soon as {@link put} has resolved.
 */
export interface Archive {
  /** Stores an object, replacing the one under its key. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Returns null when there is none. */
  get(key: string): Promise<Uint8Array | null>;
  /** Yields every key with this prefix, in no particular order. */
  list(prefix: string): AsyncIterable<string>;
  /** Deletes an object; does nothing when it is absent. */
  delete(key: string): Promise<void>;
  /**
   * Removes what interrupted puts left behind, which may be bytes that were deleted since. Called by the archive's owner
   * before its first put. Absent where such puts leave nothing.
   */
  tidy?(): Promise<void>;
}

/** The folder of unfinished objects. Earlier versions wrote them beside their places, with this ending. */
const COMING = '.coming';

/** Makes an archive. The directory is made with the first object. */
export function makeDirectoryArchive(directory: string): Archive {
  const comingIn = join(directory, COMING);
  return {
    put: async (key, bytes) => {
      const path = pathOf(directory, key);
      makeDirectory(dirname(path));
      makeDirectory(comingIn);
      const coming = join(comingIn, crypto.randomUUID());
      const file = await open(coming, 'wx', 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(coming, path);
      await historyDisk.syncNames(dirname(path));
    },
    get: (key) => readFile(pathOf(directory, key)).catch(orNull),
    list: async function* list(prefix) {
      // Only the folder that the prefix names is read, and not the whole archive.
      const folder = join(directory, prefix.slice(0, prefix.lastIndexOf('/') + 1));
      for (const path of await filesBelow(folder)) {
        const key = path.slice(directory.length + 1).replaceAll('\\', '/');
        const isComing = key.startsWith(`${COMING}/`) || key.endsWith(COMING);
        if (!isComing && key.startsWith(prefix)) yield key;
      }
    },
    delete: (key) => rm(pathOf(directory, key), { force: true }),
    tidy: async () => {
      const isOfEarlierVersion = !existsSync(comingIn);
      const left = isOfEarlierVersion ? await filesBelow(directory) : await filesBelow(comingIn);
      for (const path of left)
        if (!isOfEarlierVersion || path.endsWith(COMING)) await rm(path, { force: true });
      if (existsSync(directory)) makeDirectory(comingIn);
    },
  };
}

/** Leaves out what can be no key: the archive may be the root of a disk, with a `lost+found` that only root may read. */
async function filesBelow(directory: string): Promise<string[]> {
  const entries = (await readdir(directory, { withFileTypes: true }).catch(orNull)) ?? [];
  const files: string[] = [];
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (!NAME.test(entry.name)) continue;
    if (entry.isFile()) files.push(path);
    if (entry.isDirectory()) for (const file of await filesBelow(path)) files.push(file);
  }
  return files;
}

const NAME = /^[\w.-]+$/;

function pathOf(directory: string, key: string): string {
  if (!/^[\w.-]+(\/[\w.-]+)*$/.test(key) || key.split('/').some((name) => /^\.+$/.test(name)))
    throw new TypeError('not a key of an archive');
  return join(directory, key);
}

function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
