/** The archive port: a second place for a data directory, with the few calls that every object store has. */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { historyDisk } from '../lib/durable-file.ts';

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
}

const COMING = '.coming';

/** Makes an archive. The directory is made with the first object. */
export function makeDirectoryArchive(directory: string): Archive {
  return {
    put: async (key, bytes) => {
      const path = pathOf(directory, key);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const coming = `${path}${COMING}`;
      const file = await open(coming, 'w', 0o600);
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
      const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(orNull);
      for (const entry of entries ?? []) {
        const path = join(entry.parentPath, entry.name);
        const key = path.slice(directory.length + 1).replaceAll('\\', '/');
        if (entry.isFile() && !key.endsWith(COMING) && key.startsWith(prefix)) yield key;
      }
    },
    delete: (key) => rm(pathOf(directory, key), { force: true }),
  };
}

function pathOf(directory: string, key: string): string {
  if (!/^[\w.-]+(\/[\w.-]+)*$/.test(key) || key.split('/').some((name) => /^\.+$/.test(name)))
    throw new TypeError('not a key of an archive');
  return join(directory, key);
}

function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
