/** Restores one unit from the archive: its files, then the tail of its log, then its database. */
import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { materialise } from '../copies/materialise.ts';
import { historyDisk, makeDirectory, syncDirectory } from '../durable-file.ts';
import { makeWalk, type Walk, wayTo } from '../history/commits.ts';
import { listHistory, readBase } from '../history/history-directory.ts';
import { readPartHeaders } from '../history/part.ts';
import type { UnitFiles } from '../unit-files.ts';
import { addTails } from './add-tails.ts';
import type { Archive } from './archive.ts';
import { pieceName } from './local-files.ts';
import { damagedObject, getObject, unitPrefix } from './objects.ts';
import { PRESENT, type SealArchive } from './ship-present.ts';

export interface Fetch {
  readonly archive: Archive;
  readonly files: UnitFiles;
  /** Names below the unit's prefix. */
  readonly names: readonly string[];
  readonly openArchive: SealArchive;
}

/**
 * Fetches the unit, at its last archived commit.
 * @returns false when its first base never arrived in the archive.
 * @throws Fault `archive_damaged` or `history_damaged`, naming the damaged or missing object.
 */
export async function fetchUnit(fetch: Fetch): Promise<boolean> {
  const { files, names } = fetch;
  makeDirectory(dirname(files.database));
  if (names.includes(PRESENT)) {
    await fetchPresent(fetch);
    return true;
  }
  await fetchFolder(fetch, 'history/', files.history);
  const walk = walkHistory(files);
  if (!walk) return false;
  await addTails(fetch, walk);
  await materialise(wayTo(files.history, walk.at), files.database);
  await fetchFolder(fetch, 'snapshots/', files.snapshots);
  syncDirectory(dirname(files.database));
  return true;
}

async function fetchPresent({ archive, files, openArchive }: Fetch): Promise<void> {
  const key = unitPrefix(files) + PRESENT;
  const sealed = await getObject(archive, key);
  try {
    await historyDisk.stage(files.database, [zstdDecompressSync(openArchive(sealed))]);
  } catch (cause) {
    throw damagedObject(key, 'it cannot be opened', cause);
  }
}

/** Writes the files of a folder unchanged. */
async function fetchFolder(
  { archive, files, names }: Fetch,
  folder: string,
  directory: string,
): Promise<void> {
  const inFolder = names.filter((name) => name.startsWith(folder));
  if (inFolder.length === 0) return;
  makeDirectory(directory);
  const wholes = new Set(inFolder.map((name) => name.replace(/(\.zst)\.\d{4}$/, '$1')));
  for (const name of wholes) {
    const count = inFolder.filter((each) => each.startsWith(`${name}.`)).length;
    const pieces = name.endsWith('.zst')
      ? Array.from({ length: count }, (_, index) => pieceName(name, index))
      : [name];
    const file = await open(join(directory, basename(name)), 'wx', 0o600);
    try {
      for (const piece of pieces) await file.writeFile(await getObject(archive, unitPrefix(files) + piece));
      await file.sync();
    } finally {
      await file.close();
    }
  }
  syncDirectory(directory);
}

/** Walks from the newest base through all parts after it; returns null when there is no base. */
function walkHistory({ history }: UnitFiles): Walk | null {
  const { bases, segments } = listHistory(history);
  const newest = bases.at(-1);
  if (!newest) return null;
  const base = readBase(newest);
  if (statSync(newest.payload).size !== base.bytes)
    throw damagedObject(basename(newest.payload), 'a piece of it is missing');
  const walk = makeWalk(base);
  for (const { path, lastPart } of segments) {
    if (lastPart <= base.afterPart) continue;
    for (const part of readPartHeaders(path)) if (part.header.n > base.afterPart) walk.step(part);
  }
  return walk;
}
