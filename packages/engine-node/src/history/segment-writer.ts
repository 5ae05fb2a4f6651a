/**
 * Puts the frames of a log into segments. A part is durable before the log is emptied; a part that was written twice,
 * because the process died in between, is known by its place in the log.
 */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync } from 'node:zlib';
import { type HistoryDisk, makeDirectory } from '../durable-file.ts';
import { type SegmentFile, segmentName } from './history-directory.ts';
import type { LiveLog } from './live-log.ts';
import { encodePart } from './part.ts';

/** A short segment is merged with what follows, so that a unit that is opened often does not fill a directory. */
const MERGE_BYTES_MAX = 256 * 1024;

/** Fast first: what is compressed is mostly rows, of which level 1 takes most of what level 3 does. */
export const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

const compress = promisify(zstdCompress);

export interface SegmentWriter {
  /** The number of the last part. */
  readonly part: number;
  /** Stores everything up to a frame; durable after {@link syncNames}. */
  storeSync(log: LiveLog, to: number): void;
  /** Makes the names of what was stored durable: to be called before a log is emptied. */
  syncNames(): void;
  /**
   * Stores one part while the unit goes on, reading, compressing and synchronising elsewhere. Does nothing when
   * {@link storeSync} was there first.
   */
  storePart(log: LiveLog, to: number): Promise<void>;
  /** Whatever is still on its way is given up. */
  stop(): void;
}

/** @param isRead whether somebody reads the files at this moment: none of them may vanish then. */
export function makeSegmentWriter(
  directory: string,
  disk: HistoryDisk,
  isRead: () => boolean,
  start: { readonly part: number; readonly segment: SegmentFile | null },
): SegmentWriter {
  let { part, segment } = start;
  let staged = 0;
  /** Whether every segment has its name for good. */
  let isNamed = true;
  let stopped = false;

  /** What is written before the new part, when it joins the newest segment. */
  const joined = (): { readonly from: SegmentFile; readonly bytes: Uint8Array } | null => {
    if (isRead() || segment?.lastPart !== part) return null;
    // It may have become too old meanwhile, and be gone.
    const size = statSync(segment.path, { throwIfNoEntry: false })?.size;
    if (size === undefined || size > MERGE_BYTES_MAX) return null;
    return { from: segment, bytes: readFileSync(segment.path) };
  };

  const stagePath = (): string => {
    makeDirectory(directory);
    staged += 1;
    return join(directory, `segment.coming-${process.pid}${staged}`);
  };

  const publish = (log: LiveLog, stagedAt: string, last: number, replaced: SegmentFile | null): void => {
    const firstPart = replaced?.firstPart ?? part + 1;
    const lastSeq = log.commits.findLast(({ frame }) => frame <= last)?.seq ?? log.last.seq;
    const name = segmentName(firstPart, part + 1, lastSeq);
    const path = join(directory, name);
    disk.rename(stagedAt, path);
    isNamed = false;
    part += 1;
    segment = { path, name, firstPart, lastPart: part, lastSeq };
    log.setArchived(last);
    if (!replaced) return;
    // What was joined must not vanish before what it was joined to has its name for good.
    syncNames();
    // What somebody reads is removed by the next opening.
    if (!isRead()) rmSync(replaced.path, { force: true });
  };

  const syncNames = (): void => {
    if (!isNamed) disk.syncNames(directory);
    isNamed = true;
  };

  const storeSync = (log: LiveLog, to: number): void => {
    while (log.archivedFrame < to) {
      const first = log.archivedFrame + 1;
      const last = log.endOfPart(first, to);
      const payload = log.withFramesSync(first, last, (frames) => zstdCompressSync(frames, FAST));
      log.catchUp(last);
      const before = joined();
      const parts = encodePart({ n: part + 1, ...log.describe(first, last) }, payload);
      const path = stagePath();
      disk.stageSync(path, before ? [before.bytes, ...parts] : parts);
      publish(log, path, last, before?.from ?? null);
    }
  };

  const storePart = async (log: LiveLog, to: number): Promise<void> => {
    const planned = part + 1;
    const first = log.archivedFrame + 1;
    const last = log.endOfPart(first, to);
    const path = stagePath();
    const isOurs = (): boolean => part + 1 === planned && !stopped;
    try {
      const payload = await log.withFrames(first, last, async (frames) => {
        const compressed = await compress(frames, FAST);
        if (isOurs()) log.absorb(frames, first);
        return compressed;
      });
      if (!isOurs()) return;
      log.catchUp(last);
      const before = joined();
      const parts = encodePart({ n: planned, ...log.describe(first, last) }, payload);
      await disk.stage(path, before ? [before.bytes, ...parts] : parts);
      if (isOurs()) publish(log, path, last, before?.from ?? null);
    } catch (error) {
      // Somebody stored these frames in the meantime, and the log may be another one now.
      if (isOurs()) throw error;
    } finally {
      rmSync(path, { force: true });
    }
  };

  return {
    get part() {
      return part;
    },
    storeSync,
    syncNames,
    storePart,
    stop: () => {
      stopped = true;
    },
  };
}
