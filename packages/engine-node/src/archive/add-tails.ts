/** Makes segments of the archived log tail of a unit, from the end of its last segment on. */
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { historyDisk } from '../durable-file.ts';
import type { Walk } from '../history/commits.ts';
import { segmentName } from '../history/history-directory.ts';
import {
  commitsOf,
  encodePart,
  type PartDescription,
  type PartHeader,
  parsePart,
  requireFrames,
  walHeaderOf,
} from '../history/part.ts';
import { FAST } from '../history/segment-writer.ts';
import { frameBytes } from '../history/wal.ts';
import type { Fetch } from './fetch-unit.ts';
import { damagedObject, getObject, unitPrefix } from './objects.ts';
import { parseTailName, type TailName } from './ship-unit.ts';

interface Tail extends TailName {
  readonly key: string;
}

/**
 * Adds the tails, in order, to the history and to the walk along it.
 * @throws Fault `archive_damaged`, naming an object that is damaged, or the one after a missing one.
 */
export async function addTails({ archive, files, names }: Fetch, walk: Walk): Promise<void> {
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
