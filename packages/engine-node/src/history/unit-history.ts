/**
 * The history of one open unit: a base copy, and after it every committed frame. The engine empties the write-ahead
 * log into the database, only when the base and all frames are durable (design: kernel, "Copies").
 * Invariants:
 * 1. The database file does not change between two emptyings of the log: it may be copied meanwhile.
 * 2. The log is emptied only when a base exists and every frame of the log is in a segment.
 * 3. A commit's number is never given to another one.
 */
import { existsSync, statSync } from 'node:fs';
import { type HistoryDisk, makeDirectory } from '../durable-file.ts';
import { missingHistory } from '../fault.ts';
import type { FileLocks } from '../file-locks.ts';
import type { LogState } from '../node-database.ts';
import type { UnitFiles } from '../unit-files.ts';
import { type CompressedCopy, compressSmall, isSmall, publishBase } from './base-writer.ts';
import type { Commit } from './bookmark.ts';
import { appendCommitTimes, type CommitTime, dropCommitTimes, noteClosed } from './commit-times.ts';
import { type LiveLog, makeLiveLog, readLogHeader } from './live-log.ts';
import type { LoadedHistory } from './load-history.ts';
import type { PartHeader } from './part.ts';
import { type HistoryLimits, isRebaseDue, prune } from './retention.ts';
import { makeSegmentWriter } from './segment-writer.ts';
import type { WalHeader } from './wal.ts';

/** The share of the frames above which the log is emptied that is stored directly before it is. */
const LAST_FRAMES_PART = 1 / 5;
/** A log this many times too long is emptied at once: a caller that writes faster than the disk has to wait for it. */
const LOG_OVERFLOW = 4;
/** The number of rounds in which new frames are stored in the background, before the last ones are stored at once. */
const ROUNDS_MAX = 4;

/** The parts of a database that its history needs. */
export interface LoggedDatabase {
  /** Returns the number of committed frames in the log, and the number of them that are in the database file too. */
  logState(): LogState;
  /**
   * Moves the log into the database file, so that the next commit restarts it; false when another connection reads it.
   */
  emptyLog(mode: 'restart'): boolean;
}

export interface UnitHistoryParts {
  readonly files: UnitFiles;
  readonly database: LoggedDatabase;
  readonly limits: HistoryLimits;
  /** Above this many frames the log is emptied. */
  readonly logFramesMax: number;
  readonly now: () => number;
  /** Returns sixteen hexadecimal digits that were never used before. */
  readonly newCheck: () => string;
  readonly disk: HistoryDisk;
  readonly fileLocks: FileLocks;
  /** Copies the database file, compressed, in another process. */
  readonly compress: (database: string) => Promise<CompressedCopy>;
  /** Called for every commit. Must cost next to nothing. */
  readonly onCommit: () => void;
  /** Called when there are new files to archive. */
  readonly onStored: () => void;
  readonly report: (error: unknown) => void;
}

/** The last commit and the state of the log. */
export interface Mark {
  readonly commit: Commit;
  readonly frames: number;
  readonly log: LiveLog | null;
}

export interface UnitHistory {
  /** Called after every transaction: records whether it wrote. Costs about a microsecond. */
  observe(): void;
  /** Returns the last commit. Outside of a transaction only. */
  mark(): Mark;
  /** Resolves when history has begun, so that {@link mark}'s commit can be reached. */
  begin(): Promise<void>;
  /** Records the times of the last commits. */
  noteTimes(): void;
  /** Stores the log at once, and returns the last commit and the last part. */
  storeAll(): { readonly commit: Commit; readonly part: number };
  /** Empties the log in the background, if it is long and the files are not locked. */
  tidy(): void;
  /** Makes the present state a base if that is due, and removes history that is too old. */
  sweep(): Promise<void>;
  /** Whether {@link finish} can do its work at once. */
  readonly closable: boolean;
  /** Stores everything and empties the log. The database must be closed next. */
  finish(): void;
  /** Called when the database is closed: `inOrder` when its log is gone. */
  closed(inOrder: boolean): void;
}

/** Continues a {@link LoadedHistory}. The database is open, its log recovered. */
export function makeUnitHistory(parts: UnitHistoryParts, loaded: LoadedHistory): UnitHistory {
  const {
    files,
    database,
    limits,
    logFramesMax,
    now,
    newCheck,
    disk,
    fileLocks,
    compress,
    onCommit,
    onStored,
    report,
  } = parts;
  const writer = makeSegmentWriter(files.history, disk, () => !fileLocks.free, loaded);
  let broken: Error | null = loaded.broken;
  let begun = loaded.last !== null && broken === null;
  /** The commit of the database file, without the log. */
  let inFile: Commit = (begun ? loaded.last : null) ?? firstCommit();
  /** The last part in the database file; null when that is unknown, because the log continues from before. */
  let inFilePart: number | null = loaded.part;
  let frames = framesIn(database.logState());
  let log: LiveLog | null = null;
  /** Observed commits whose times are not recorded yet. */
  let fresh: CommitTime[] = [];
  /** A reader kept the log from being emptied: the next commit may continue it or restart it. */
  let mayRestart = false;
  let nextTidyFrames = logFramesMax;
  let isTidying = false;
  let isDone = false;
  let beginning: Promise<void> | undefined;

  function firstCommit(): Commit {
    return { seq: loaded.seqMax + 1, check: newCheck(), atMs: now() };
  }

  /** Determines how much of a crash's log is in segments already. */
  const resumeLog = (): void => {
    const header = frames > 0 ? requireLogHeader() : null;
    const lastPart = begun ? loaded.lastPart : null;
    const part = header && lastPart?.salt === header.salt ? lastPart.header : null;
    if (part && part.last > frames) restart('the log is shorter than what was stored of it');
    else if (lastPart && !part && endsInTheMiddle(lastPart.header))
      restart('the log that was to go on is gone');
    if (!header) return;
    // A commit with an unknown time was written before the process ended: no later than the log's last change.
    const writtenMs = statSync(files.wal).mtimeMs;
    if (begun && part) {
      const last = inFile;
      inFile = { ...part.after, atMs: 0 };
      inFilePart = null;
      const archived = { frame: part.last, commits: part.before + part.commits.length, last };
      log = makeLiveLog({ path: files.wal, header, after: inFile, archived }, () => writtenMs);
    } else log = newLog(header, () => writtenMs);
    log.learnTimes(loaded.times.of(header.salt));
    log.catchUp(frames);
  };

  /** The existing history cannot be continued: starts with a new base and an unused number. */
  const restart = (why: string): void => {
    broken = missingHistory(why);
    begun = false;
    inFile = firstCommit();
  };

  const newLog = (header: WalHeader, fallbackMs: () => number): LiveLog =>
    makeLiveLog(
      { path: files.wal, header, after: inFile, archived: { frame: 0, commits: 0, last: inFile } },
      fallbackMs,
    );

  const requireLogHeader = (): WalHeader => {
    const header = readLogHeader(files.wal);
    if (!header) throw new Error('a write-ahead log that has frames has no header');
    return header;
  };

  /** Returns the log, when there is something in it, with every observed time. */
  const currentLog = (): LiveLog | null => {
    if (!log && frames > 0) log = newLog(requireLogHeader(), now);
    log?.learnTimes(fresh);
    return log;
  };

  const observe = (): void => {
    const state = database.logState();
    if (mayRestart && isRestarted()) forgetLog();
    const counted = mayRestart ? state.frames : framesIn(state);
    if (counted === frames) return;
    frames = counted;
    fresh.push({ frame: counted, atMs: now() });
    onCommit();
    if (counted < nextTidyFrames) return;
    if (counted >= logFramesMax * LOG_OVERFLOW && begun && fileLocks.free) emptyOrLater();
    tidy();
  };

  const isRestarted = (): boolean => log !== null && readLogHeader(files.wal)?.salt !== log.header.salt;

  /** All of it is in the database file, and in segments. */
  const forgetLog = (): void => {
    inFile = log?.last ?? inFile;
    inFilePart = writer.part;
    log = null;
    frames = 0;
    fresh = [];
    mayRestart = false;
    nextTidyFrames = logFramesMax;
  };

  const mark = (): Mark => {
    const live = currentLog();
    live?.catchUp(frames);
    return { commit: live?.last ?? inFile, frames, log: live };
  };

  const begin = (): Promise<void> => {
    if (begun) return Promise.resolve();
    beginning ??= takeBase('start').finally(() => {
      beginning = undefined;
    });
    return beginning;
  };

  /** The file shows `inFile` until the log is emptied, which the lock prevents. */
  const takeBase = async (reason: 'start' | 'rebase'): Promise<void> => {
    const letGo = await fileLocks.take();
    try {
      if (isDone || inFilePart === null) return;
      const description = { commit: inFile, reason, afterPart: inFilePart };
      const copy = await compress(files.database);
      if (isDone) return;
      publishBase(files.history, disk, copy, description);
      begun = true;
      onStored();
    } finally {
      letGo();
    }
  };

  const noteTimes = (): void => {
    const live = isDone || fresh.length === 0 ? null : currentLog();
    if (!live) return;
    makeDirectory(files.history);
    appendCommitTimes(files.history, live.header.salt, fresh);
    fresh = [];
  };

  const storeAll = (): { readonly commit: Commit; readonly part: number } => {
    const { log: live, commit } = mark();
    if (live && live.archivedFrame < frames) {
      writer.storeSync(live, frames);
      onStored();
    }
    return { commit, part: writer.part };
  };

  const empty = (): void => {
    storeAll();
    writer.syncNames();
    dropCommitTimes(files.history);
    if (database.emptyLog('restart')) forgetLog();
    else {
      mayRestart = true;
      nextTidyFrames = frames + logFramesMax;
    }
  };

  /** Empties the log. Throws on a failure; the next attempt waits until the log has grown as much once more. */
  const emptyOrLater = (): void => {
    nextTidyFrames = frames + logFramesMax;
    empty();
  };

  const tidy = (): void => {
    if (isTidying || isDone || frames < logFramesMax || !fileLocks.free) return;
    isTidying = true;
    tidyUp()
      .catch((error: unknown) => {
        if (isDone) return;
        nextTidyFrames = frames + logFramesMax;
        report(error);
      })
      .finally(() => {
        isTidying = false;
      });
  };

  const tidyUp = async (): Promise<void> => {
    // Leaves the group that just committed: its callers are answered first.
    await new Promise((resolve) => setImmediate(resolve));
    await begin();
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const live = isDone ? null : currentLog();
      if (!live || frames - live.archivedFrame <= logFramesMax * LAST_FRAMES_PART) break;
      await writer.storePart(live, frames);
    }
    // Another call may have emptied it meanwhile.
    if (!isDone && fileLocks.free && frames >= logFramesMax) empty();
    if (!isDone && isRebaseDue(files.history, limits, { lastAtMs: inFile.atMs, nowMs: now() }))
      await rebase();
  };

  const rebase = async (): Promise<void> => {
    await takeBase('rebase');
    tidyFiles();
  };

  const tidyFiles = (): void => {
    if (isDone || !fileLocks.free) return;
    prune(files.history, limits, now());
    onStored();
  };

  const sweep = async (): Promise<void> => {
    await begin();
    if (isDone) return;
    if (frames > 0 && fileLocks.free) empty();
    if (isRebaseDue(files.history, limits, { lastAtMs: inFile.atMs, nowMs: now() })) await rebase();
    else tidyFiles();
  };

  const finish = (): void => {
    if (frames === 0) return;
    if (!begun) {
      const copy = compressSmall(files.database, files.history, disk);
      publishBase(files.history, disk, copy, { commit: inFile, reason: 'start', afterPart: loaded.part });
      begun = true;
    }
    empty();
    if (frames > 0) throw new Error('another process reads the database');
  };

  const closed = (inOrder: boolean): void => {
    isDone = true;
    writer.stop();
    if (inOrder && existsSync(files.history)) noteClosed(files.history, files.database);
  };

  resumeLog();
  if (broken) report(broken);
  return {
    observe,
    mark,
    begin,
    noteTimes,
    storeAll,
    tidy,
    sweep,
    get closable() {
      return begun || frames === 0 || isSmall(files.database);
    },
    finish,
    closed,
  };
}

/** A log that was moved into the file as a whole is empty: the next commit restarts it. */
function framesIn({ frames, moved }: LogState): number {
  return frames === moved ? 0 : frames;
}

/** Whether the last part ends within a transaction, whose rest must be in the log. */
function endsInTheMiddle({ last, commits }: PartHeader): boolean {
  return last !== commits.at(-1)?.[0];
}
