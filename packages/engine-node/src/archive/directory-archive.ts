/** An archive in a directory: on another disk, or on a network file system. */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Archive } from './archive.ts';

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
      await syncDirectory(dirname(path));
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

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
