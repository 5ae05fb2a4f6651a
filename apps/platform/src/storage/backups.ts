/**
 * Stores backups: as files in a directory beside the data directory, or as objects in the bucket of the archive. Both are
 * outside of the data directory, so that a backup outlives its original.
 */
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, rmSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { PlatformError } from '@freehold/contracts';
import type { BackupStore } from '@freehold/directory';
import type { Archive } from '@freehold/engine-node';
import { z } from 'zod';
import { openArchive } from '../settings/archive-settings.ts';
import type { Settings } from '../settings/settings.ts';

/** Segments that the platform makes; none of them is `..`. */
const ADDRESS = /^[a-z0-9_-][a-z0-9_.-]*(?:\/[a-z0-9_-][a-z0-9_.-]*)+$/;
const FOLDER = /^[a-z0-9_-][a-z0-9_.-]*$/;
/** The suffix of an incomplete file. An address never ends so. */
const COMING = '.coming~';
const PREFIX = 'backups/';
/** The size of one object in the bucket, which is in memory at a time. */
const PART_BYTES = 8 * 1024 * 1024;

/** For the start of a process that has locked the data directory. Opens the directory of the settings, else the bucket of the archive, else `<data directory>-backups`. */
export function openBackups(
  settings: Pick<Settings, 'backupsDirectory' | 'archive' | 'dataDirectory'>,
): BackupStore {
  const { backupsDirectory, archive, dataDirectory } = settings;
  if (backupsDirectory === undefined && archive?.kind === 's3')
    return makeArchiveBackups(openArchive(archive));
  const directory = backupsDirectory ?? `${dataDirectory}-backups`;
  removeIncomplete(directory);
  return makeFileBackups(directory);
}

/** Removes what a killed process left of its backups. Those of this process have not begun, and no other one writes here. */
function removeIncomplete(directory: string): void {
  try {
    for (const folder of readdirSync(directory, { withFileTypes: true })) {
      if (!folder.isDirectory() || !FOLDER.test(folder.name)) continue;
      const path = join(directory, folder.name);
      for (const name of readdirSync(path, { recursive: true, encoding: 'utf8' }))
        if (name.endsWith(COMING)) rmSync(join(path, name), { force: true });
    }
  } catch {
    // A place that is not there, or cannot be read, is reported by the first backup. What is left takes only space.
  }
}

/** Files in a directory: each is complete and on the disk before it gets its name. */
export function makeFileBackups(directory: string): BackupStore {
  const root = resolve(directory);
  const pathOf = (address: string): string => join(root, ...requireAddress(address).split('/'));
  return {
    put: (address, body) =>
      fromDisk(async () => {
        const path = pathOf(address);
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        const coming = `${path}${COMING}`;
        let bytes = 0;
        try {
          const file = await open(coming, 'w', 0o600);
          try {
            for await (const chunk of body) {
              await file.writeFile(chunk);
              bytes += chunk.byteLength;
            }
            await file.sync();
          } finally {
            await file.close();
          }
          await rename(coming, path);
        } catch (error) {
          await rm(coming, { force: true });
          throw error;
        }
        await syncDirectory(dirname(path));
        return { address, bytes };
      }),
    open: (address) =>
      fromDisk(async () => {
        const path = pathOf(address);
        if (!(await stat(path).catch(orNull))) return null;
        return Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>;
      }),
    delete: (address) => fromDisk(() => rm(pathOf(address), { force: true })),
    list: async function* list(prefix) {
      // The directory may be the root of a disk, with a `lost+found` that only root may read.
      const folders = (await readdir(root).catch(orNull))?.filter((name) => FOLDER.test(name)) ?? [];
      for (const folder of folders) {
        const below = join(root, folder);
        const entries = await readdir(below, { recursive: true, withFileTypes: true }).catch(orNull);
        for (const entry of entries ?? []) {
          const path = join(entry.parentPath, entry.name);
          const address = path.slice(root.length + 1).replaceAll(sep, '/');
          if (!entry.isFile() || address.endsWith(COMING) || !address.startsWith(prefix)) continue;
          yield { address, bytes: (await stat(path)).size };
        }
      }
    },
  };
}

/** Marks a backup in a bucket as complete: written last, and deleted first. */
const index = z.object({ parts: z.int().min(0), bytes: z.int().min(0), sha256: z.string() });

/** Objects of an archive: parts of a bounded size, and an index that is written after all of them. */
export function makeArchiveBackups(archive: Archive, partBytes = PART_BYTES): BackupStore {
  const indexKey = (address: string): string => `${PREFIX}${requireAddress(address)}/index`;
  const partKey = (address: string, part: number): string =>
    `${PREFIX}${requireAddress(address)}/part-${String(part).padStart(6, '0')}`;
  const load = async (address: string) => {
    const bytes = await archive.get(indexKey(address));
    return bytes ? index.parse(JSON.parse(new TextDecoder().decode(bytes))) : null;
  };
  const remove = async (address: string): Promise<void> => {
    await archive.delete(indexKey(address));
    for await (const key of archive.list(`${PREFIX}${requireAddress(address)}/`)) await archive.delete(key);
  };
  return {
    put: async (address, body) => {
      await remove(address);
      const hash = createHash('sha256');
      let parts = 0;
      let bytes = 0;
      try {
        for await (const part of inParts(body, partBytes)) {
          hash.update(part);
          bytes += part.byteLength;
          await archive.put(partKey(address, parts), part);
          parts += 1;
        }
        const whole = JSON.stringify({ parts, bytes, sha256: hash.digest('hex') });
        await archive.put(indexKey(address), new TextEncoder().encode(whole));
      } catch (error) {
        await remove(address).catch(() => undefined);
        throw error;
      }
      return { address, bytes };
    },
    open: async (address) => {
      const whole = await load(address);
      if (!whole) return null;
      let part = 0;
      return new ReadableStream<Uint8Array>(
        {
          pull: async (controller) => {
            if (part >= whole.parts) return controller.close();
            const bytes = await archive.get(partKey(address, part));
            if (!bytes)
              throw new PlatformError('unavailable', 'A part of the backup is missing.', {
                reason: 'backup_damaged',
              });
            part += 1;
            controller.enqueue(bytes);
          },
        },
        { highWaterMark: 0 },
      );
    },
    delete: remove,
    list: async function* list(prefix) {
      for await (const key of archive.list(`${PREFIX}${prefix}`)) {
        if (!key.endsWith('/index')) continue;
        const address = key.slice(PREFIX.length, -'/index'.length);
        const whole = await load(address);
        if (whole) yield { address, bytes: whole.bytes };
      }
    },
  };
}

async function* inParts(
  body: ReadableStream<Uint8Array>,
  partBytes: number,
): AsyncGenerator<Uint8Array, void> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    held.push(chunk);
    size += chunk.byteLength;
    if (size < partBytes) continue;
    const bytes = Buffer.concat(held);
    const whole = size - (size % partBytes);
    for (let at = 0; at < whole; at += partBytes) yield bytes.subarray(at, at + partBytes);
    held = [bytes.subarray(whole)];
    size -= whole;
  }
  if (size > 0) yield Buffer.concat(held);
}

function requireAddress(address: string): string {
  if (ADDRESS.test(address) && !address.endsWith(COMING)) return address;
  throw new TypeError('not an address of a backup');
}

/** Converts an error of the disk to a PlatformError; an error of the body passes unchanged. */
async function fromDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof PlatformError || typeof code !== 'string') throw cause;
    throw new PlatformError('unavailable', `The place for backups failed (${code}).`, {
      reason: 'storage_failed',
      cause,
    });
  }
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
