/** Copies one moment of a running unit to a plain database file in the work directory. */
import { PlatformError } from '@freehold/contracts';
import { bookmarkOf } from '../history/bookmark.ts';
import { frameOffset } from '../history/wal.ts';
import type { OpenedUnit } from '../opened-unit.ts';
import { keepsHistory, type UnitAccess } from '../unit-access.ts';
import type { CaptureRequest } from './capture.ts';
import { discard } from './copy-workers.ts';

export interface CapturedUnit {
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
