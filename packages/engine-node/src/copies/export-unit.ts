/** Exports a copy of a unit. */

import { open } from 'node:fs/promises';
import { PlatformError } from '@freehold/contracts';
import type { CopyFormat, UnitCopy } from '@freehold/store';
import { bookmarkOf } from '../history/bookmark.ts';
import { frameOffset } from '../history/wal.ts';
import type { CaptureRequest } from '../processes/capture.ts';
import { discard } from '../processes/copy-workers.ts';
import type { OpenedUnit } from '../units/open-units.ts';
import { keepsHistory, requireCopies, type UnitAccess } from '../units/unit-access.ts';

export async function exportUnit(unit: UnitAccess, format: CopyFormat): Promise<UnitCopy> {
  requireCopies(unit);
  const { path, bookmark } = await captureUnit(unit);
  if (format === 'sqlite') return { format, bookmark, body: fileBody(path) };
  const rows = unit.parts.workers.newPath();
  try {
    const { kind, key } = unit.files;
    const { header, trailer } = await unit.parts.workers.dump({ database: path, kind, key, rows });
    return { format, bookmark, body: fileBody(rows, { before: header, after: trailer }) };
  } catch (error) {
    discard(rows);
    throw error;
  } finally {
    discard(path);
  }
}

interface CapturedUnit {
  readonly path: string;
  /** The commit that it shows; null for a unit without history. */
  readonly bookmark: string | null;
}

export async function captureUnit(unit: UnitAccess): Promise<CapturedUnit> {
  await unit.open().history?.begin();
  const letGo = await unit.fileLocks.take();
  const path = unit.parts.workers.newPath();
  const opened = unit.open();
  try {
    opened.unit.drain();
    const { bookmark, ...moment } = opened.history ? momentOf(opened) : emptiedMomentOf(opened);
    await unit.parts.workers.capture({ ...moment, to: path });
    return { path, bookmark: keepsHistory(unit) ? bookmark : null };
  } catch (error) {
    discard(path);
    throw error;
  } finally {
    // Without a history, SQLite manages the log again.
    if (!opened.history) opened.database.emptyLogByItself(true);
    letGo();
  }
}

type Moment = Omit<CaptureRequest, 'to'> & Pick<CapturedUnit, 'bookmark'>;

/** The file and the frames so far: neither changes while the unit's files are locked. */
function momentOf({ files, history }: OpenedUnit): Moment {
  const mark = history?.mark();
  const { frames = 0, log = null } = mark ?? {};
  return {
    database: files.database,
    wal: files.wal,
    frames,
    walBytes: log ? frameOffset(frames + 1, log.header.pageSize) : 0,
    bookmark: mark ? bookmarkOf(mark.commit) : null,
  };
}

/** SQLite could restart its log at any commit, so the log is moved into the file first. */
function emptiedMomentOf({ files, database }: OpenedUnit): Moment {
  database.emptyLogByItself(false);
  if (!database.emptyLog('truncate'))
    throw new PlatformError('unavailable', 'Another process reads this database. Try again in a moment.', {
      reason: 'busy',
    });
  return { database: files.database, wal: files.wal, frames: 0, walBytes: 0, bookmark: null };
}

/**
 * Each piece passes the thread pool, two generators and a stream: with pieces of 64 KB that took as long as reading.
 */
const CHUNK_BYTES = 256 * 1024;

/** Text before and after the file's bytes. */
interface Frame {
  readonly before?: string;
  readonly after?: string;
}

/** Reads as fast as the consumer asks. The file stays until the stream has ended, failed or been cancelled. */
function fileBody(path: string, { before = '', after = '' }: Frame = {}): ReadableStream<Uint8Array> {
  const pieces = chunksOf(path, before, after);
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => {
        await pieces.return(undefined);
        // A generator that was never started runs no `finally`.
        discard(path);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* chunksOf(
  path: string,
  before: string,
  after: string,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  try {
    const file = await open(path, 'r');
    try {
      if (before !== '') yield new TextEncoder().encode(before);
      for (;;) {
        const { bytesRead, buffer } = await file.read(new Uint8Array(CHUNK_BYTES), 0, CHUNK_BYTES);
        if (bytesRead === 0) break;
        yield buffer.subarray(0, bytesRead);
      }
      if (after !== '') yield new TextEncoder().encode(after);
    } finally {
      await file.close();
    }
  } finally {
    discard(path);
  }
  return undefined;
}
