/** Restores one unit from the archive: its files, then the tail of its log, then its database. */
import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { makeWalk, type Walk, wayTo } from '../history/commits.ts';
import { listHistory, readBase, segmentName } from '../history/history-directory.ts';
import {
  commitsOf,
  encodePart,
  type PartDescription,
  type PartHeader,
  parsePart,
  readPartHeaders,
  requireFrames,
  walHeaderOf,
} from '../history/part.ts';
import { FAST } from '../history/segment-writer.ts';
import { frameBytes } from '../history/wal.ts';
import { historyDisk, makeDirectory, syncDirectory } from '../lib/durable-file.ts';
import type { UnitFiles } from '../lib/unit-files.ts';
import { materialise } from '../processes/materialise.ts';
import type { Archive } from './archive.ts';
import { pieceName } from './local-files.ts';
import { damagedObject, getObject, unitPrefix } from './objects.ts';
import { PRESENT, parseTailName, type SealArchive, type TailName } from './ship-unit.ts';

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

interface Tail extends TailName {
  readonly key: string;
}

/**
 * Adds the tails, in order, to the history and to the walk along it.
 * @throws Fault `archive_damaged`, naming an object that is damaged, or the one after a missing one.
 */
async function addTails({ archive, files, names }: Fetch, walk: Walk): Promise<void> {
  const prefix = unitPrefix(files);
  const tails = names.flatMap((name): Tail[] => {
    const tail = parseTailName(name);
    return tail ? [{ ...tail, key: prefix + name }] : [];
  });
  tails.sort((a, b) => a.afterSeq - b.afterSeq || a.first - b.first || a.last - b.last);
  for (const tail of tails) {
    if (isObsolete(tail, walk)) continue;
    requireNext(tail, walk);
    const { header, payload } = parsePart(await getObject(archive, tail.key), tail.key);
    const frames = zstdDecompressSync(payload);
    requireFrames({ header, path: tail.key }, frames);
    const from = walk.log?.salt === tail.salt ? walk.log.last + 1 : 1;
    const rest = cutBefore(header, from, walk.part + 1);
    const encoded = encodePart(rest, zstdCompressSync(frames.subarray(bytesBefore(header, from)), FAST));
    const lastSeq = commitsOf({ ...header, ...rest }).at(-1)?.seq ?? walk.at.seq;
    const path = join(files.history, segmentName(rest.n, rest.n, lastSeq));
    await historyDisk.stage(path, encoded);
    walk.step({ header: { ...header, ...rest }, path: tail.key });
  }
}

/** Whether its frames are in a segment or an earlier tail, or its log was abandoned for another state. */
function isObsolete({ afterSeq, salt, last }: Tail, { log, at }: Walk): boolean {
  return log?.salt === salt ? last <= log.last : afterSeq < at.seq;
}

function requireNext({ key, salt, first, afterSeq }: Tail, { log, at }: Walk): void {
  const isNext = log?.salt === salt ? first <= log.last + 1 : first === 1 && afterSeq === at.seq;
  if (!isNext) throw damagedObject(key, 'what comes before it is missing');
}

/** Returns the description of a part without the frames before `from`. */
function cutBefore(header: PartHeader, from: number, n: number): PartDescription {
  const { wal, last, after, before, commits, rawBytes } = header;
  const remaining = commits.filter(([frame]) => frame >= from);
  return {
    n,
    wal,
    first: from,
    last,
    after,
    before: before + commits.length - remaining.length,
    commits: remaining,
    rawBytes: rawBytes - bytesBefore(header, from),
  };
}

function bytesBefore(header: PartHeader, from: number): number {
  return (from - header.first) * frameBytes(walHeaderOf(header, 'tail').pageSize);
}
