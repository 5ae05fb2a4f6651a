/**
 * Stores the frames of a log in segments. A part is durable before the log is emptied. A part that was written twice,
 * because the process died in between, is recognised by its place in the log.
 */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync } from 'node:zlib';
import { type HistoryDisk, makeDirectory } from '../lib/durable-file.ts';
import { type SegmentFile, segmentName } from './history-directory.ts';
import type { LiveLog } from './live-log.ts';
import { encodePart } from './part.ts';

/** A short segment is merged with the next part, so that a unit that is opened often does not fill a directory. */
const MERGE_BYTES_MAX = 256 * 1024;

/** Fast first: the data is mostly rows, of which level 1 saves most of what level 3 does. */
export const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Bytes of output that take one turn of the event loop. */
const OUTPUT_BYTES = 2 * 1024 * 1024;

const compress = promisify(zstdCompress);

/**
 * Compresses frames beside the event loop, in few turns of it. A turn is a group of calls while a unit works: at the
 * default output of 16 kB, a busy unit would fill the log faster than a part of it is compressed.
 */
export function compressInBackground(frames: Uint8Array): Promise<Uint8Array> {
  return compress(frames, { ...FAST, chunkSize: OUTPUT_BYTES });
}

export interface SegmentWriter {
  /** The number of the last part. */
  readonly part: number;
  /** Stores everything up to a frame; durable after {@link syncNamesSync}. */
  storeSync(log: LiveLog, to: number): void;
  /** Makes the names of stored files durable. Called before a log is emptied. */
  syncNamesSync(): void;
  syncNames(): Promise<void>;
  /**
   * Stores one part while the unit works: reads, compresses and synchronises in the background. Does nothing when
   * {@link storeSync} stored it before.
   */
  storePart(log: LiveLog, to: number): Promise<void>;
  /** Abandons the writes in progress. */
  stop(): void;
}

/** @param isRead whether the files are locked for reading: then none of them may vanish. */
export function makeSegmentWriter(
  directory: string,
  disk: HistoryDisk,
  isRead: () => boolean,
  start: { readonly part: number; readonly segment: SegmentFile | null },
): SegmentWriter {
  let { part, segment } = start;
  let staged = 0;
  /** Whether the name of every segment is durable. */
  let isNamed = true;
  let stopped = false;

  /** Returns the newest segment, when the new part is to be appended to it. */
  const segmentToExtend = (): { readonly from: SegmentFile; readonly bytes: Uint8Array } | null => {
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

  const publish = (log: LiveLog, stagedAt: string, last: number, replaced?: SegmentFile): void => {
    const firstPart = replaced?.firstPart ?? part + 1;
    const lastSeq = log.commits.findLast(({ frame }) => frame <= last)?.seq ?? log.last.seq;
    const name = segmentName(firstPart, part + 1, lastSeq);
    const path = join(directory, name);
    disk.rename(stagedAt, path);
    isNamed = false;
    part += 1;
    segment = { path, name, firstPart, lastPart: part, lastSeq };
    log.setArchived(last);
  };

  /** Called when the name of the merged segment is durable. The next opening removes a locked file. */
  const removeReplaced = (replaced: SegmentFile): void => {
    if (!isRead()) rmSync(replaced.path, { force: true });
  };

  const syncNamesSync = (): void => {
    if (!isNamed) disk.syncNamesSync(directory);
    isNamed = true;
  };

  const syncNames = async (): Promise<void> => {
    if (isNamed) return;
    const last = part;
    await disk.syncNames(directory);
    if (part === last) isNamed = true;
  };

  const storeSync = (log: LiveLog, to: number): void => {
    while (log.archivedFrame < to) {
      const first = log.archivedFrame + 1;
      const last = log.endOfPart(first, to);
      const payload = log.withFramesSync(first, last, (frames) => zstdCompressSync(frames, FAST));
      log.catchUp(last);
      const before = segmentToExtend();
      const parts = encodePart({ n: part + 1, ...log.describe(first, last) }, payload);
      const path = stagePath();
      disk.stageSync(path, before ? [before.bytes, ...parts] : parts);
      publish(log, path, last, before?.from);
      if (!before) continue;
      syncNamesSync();
      removeReplaced(before.from);
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
        const compressed = await compressInBackground(frames);
        if (isOurs()) log.absorb(frames, first);
        return compressed;
      });
      if (!isOurs()) return;
      log.catchUp(last);
      const before = segmentToExtend();
      const parts = encodePart({ n: planned, ...log.describe(first, last) }, payload);
      await disk.stage(path, before ? [before.bytes, ...parts] : parts);
      if (!isOurs()) return;
      publish(log, path, last, before?.from);
      if (!before) return;
      await syncNames();
      if (!stopped) removeReplaced(before.from);
    } catch (error) {
      // Another call stored these frames in the meantime, and the log may be another one now.
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
    syncNamesSync,
    syncNames,
    storePart,
    stop: () => {
      stopped = true;
    },
  };
}
