/**
 * The history of one open unit: a base copy, and after it every committed frame. The engine empties the write-ahead
 * log into the database, only when the base and all frames are durable (design: kernel, "Copies").
 * Invariants:
 * 1. The database file does not change between two emptyings of the log: it may be copied meanwhile.
 * 2. The log is emptied only when a base exists and every frame of the log is in a segment.
 * 3. A commit's number is never given to another one.
 */
import { closeSync, existsSync, openSync, readFile, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { type HistoryDisk, makeDirectory } from '../lib/durable-file.ts';
import { missingHistory } from '../lib/fault.ts';
import type { FileLocks } from '../lib/file-locks.ts';
import type { LogState } from '../lib/node-database.ts';
import type { UnitFiles } from '../lib/unit-files.ts';
import {
  type CompressedCopy,
  compressSmall,
  compressSmallSync,
  isSmall,
  publishBase,
  publishBaseSync,
} from './base-writer.ts';
import type { Commit } from './bookmark.ts';
import { appendCommitTimes, type CommitTime, dropCommitTimes, noteClosed } from './commit-times.ts';
import { type LiveLog, makeLiveLog, readLogHeader } from './live-log.ts';
import type { LoadedHistory } from './load-history.ts';
import type { PartHeader } from './part.ts';
import { type HistoryLimits, isRebaseDue, prune } from './retention.ts';
import { makeSegmentWriter, type SegmentWriter } from './segment-writer.ts';
import type { WalHeader } from './wal.ts';

const readOpenFile = promisify(readFile);

/** The share of the frames above which the log is emptied that is stored directly before it is. */
const LAST_FRAMES_PART = 1 / 5;
/** Of a log this many times too long, each commit stores a part: a caller that writes faster than the disk waits for it. */
const LOG_OVERFLOW = 2;
/** That part, as a share of the frames above which the log is emptied; and at least so many times what the commit wrote. */
const OWN_FRAMES_PART = 1 / 4;
const OWN_FRAMES_TIMES = 3;
const BUSY_MS = 100;
/** The longest wait of a caller who can wait until the log is short. */
const PATIENCE_MS = 1_000;
/** After a kill, the commits of the last moments have estimated times; no longer than this. */
const TIMES_MS = 250;

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
  /** Called for every commit and for new files to archive. Must cost next to nothing. */
  readonly onChange: () => void;
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
  /** Stores the log at once, and returns the last commit and the last part. */
  storeAll(): { readonly commit: Commit; readonly part: number };
  /** Empties the log in the background, if it is long and the files are not locked. */
  tidy(): void;
  /**
   * Resolves when the log was emptied, or could not be, and after a moment also while the files are locked. Null when the log
   * is short.
   */
  caughtUp(): Promise<void> | null;
  /** Makes the present state a base if that is due, and removes history that is too old. */
  sweep(): Promise<void>;
  /** Stores everything in the background, so that {@link finish} has only the log to empty. The unit takes no calls. */
  settle(): Promise<void>;
  /** Whether {@link finish} can do its work at once. */
  readonly closable: boolean;
  /** Stores everything and empties the log. The database must be closed next. */
  finish(): void;
  /** Called when the database is closed: `inOrder` when its log is gone. */
  closed(inOrder: boolean): void;
}

interface History {
  readonly parts: UnitHistoryParts;
  readonly loaded: LoadedHistory;
  readonly writer: SegmentWriter;
  broken: Error | null;
  begun: boolean;
  /** The commit of the database file, without the log. */
  inFile: Commit;
  /** The last part in the database file; null when that is unknown, because the log continues from before. */
  inFilePart: number | null;
  frames: number;
  log: LiveLog | null;
  /** Observed commits whose times are not recorded yet, and the timer that records them. */
  fresh: CommitTime[];
  timesTimer: NodeJS.Timeout | undefined;
  /** A reader kept the log from being emptied: the next commit may continue it or restart it. */
  mayRestart: boolean;
  nextTidyFrames: number;
  isTidying: boolean;
  isDone: boolean;
  /** Called when the log was emptied, or could not be. */
  waiting: (() => void)[];
  /** The base that is being written: two at a time would write the same files. */
  takingBase: Promise<void> | undefined;
  /** The descriptor by which the database file was read before its closing. */
  lastRead: number | undefined;
}

/** Continues a {@link LoadedHistory}. The database is open, its log recovered. */
export function makeUnitHistory(parts: UnitHistoryParts, loaded: LoadedHistory): UnitHistory {
  const begun = loaded.last !== null && loaded.broken === null;
  const h: History = {
    parts,
    loaded,
    writer: makeSegmentWriter(parts.files.history, parts.disk, () => !parts.fileLocks.free, loaded),
    broken: loaded.broken,
    begun,
    inFile: (begun ? loaded.last : null) ?? firstCommit(parts, loaded),
    inFilePart: loaded.part,
    frames: framesIn(parts.database.logState()),
    log: null,
    fresh: [],
    timesTimer: undefined,
    mayRestart: false,
    nextTidyFrames: parts.logFramesMax,
    isTidying: false,
    isDone: false,
    waiting: [],
    takingBase: undefined,
    lastRead: undefined,
  };
  resumeLog(h);
  if (h.broken) parts.report(h.broken);
  return {
    observe: () => observe(h),
    mark: () => mark(h),
    begin: () => begin(h),
    storeAll: () => storeAll(h),
    tidy: () => tidy(h),
    caughtUp: () => caughtUp(h),
    sweep: () => sweep(h),
    settle: () => settle(h),
    get closable() {
      return h.begun || h.frames === 0 || isSmall(parts.files.database);
    },
    finish: () => finish(h),
    closed: (inOrder) => closed(h, inOrder),
  };
}

function firstCommit({ newCheck, now }: UnitHistoryParts, { seqMax }: LoadedHistory): Commit {
  return { seq: seqMax + 1, check: newCheck(), atMs: now() };
}

/** Determines how much of a crash's log is in segments already. */
function resumeLog(h: History): void {
  const { parts, loaded } = h;
  const header = h.frames > 0 ? requireLogHeader(h) : null;
  const lastPart = h.begun ? loaded.lastPart : null;
  const part = header && lastPart?.salt === header.salt ? lastPart.header : null;
  if (part && part.last > h.frames) restart(h, 'the log is shorter than what was stored of it');
  else if (lastPart && !part && endsInTheMiddle(lastPart.header))
    restart(h, 'the log that was to go on is gone');
  if (!header) return;
  // A commit with an unknown time was written before the process ended: no later than the log's last change.
  const writtenMs = statSync(parts.files.wal).mtimeMs;
  if (h.begun && part) {
    const last = h.inFile;
    h.inFile = { ...part.after, atMs: 0 };
    h.inFilePart = null;
    const archived = { frame: part.last, commits: part.before + part.commits.length, last };
    h.log = makeLiveLog({ path: parts.files.wal, header, after: h.inFile, archived }, () => writtenMs);
  } else h.log = newLog(h, header, () => writtenMs);
  h.log.learnTimes(loaded.times.of(header.salt));
  h.log.catchUp(h.frames);
}

/** The existing history cannot be continued: starts with a new base and an unused number. */
function restart(h: History, why: string): void {
  h.broken = missingHistory(why);
  h.begun = false;
  h.inFile = firstCommit(h.parts, h.loaded);
}

function newLog({ parts, inFile }: History, header: WalHeader, fallbackMs: () => number): LiveLog {
  const archived = { frame: 0, commits: 0, last: inFile };
  return makeLiveLog({ path: parts.files.wal, header, after: inFile, archived }, fallbackMs);
}

function requireLogHeader({ parts }: History): WalHeader {
  const header = readLogHeader(parts.files.wal);
  if (!header) throw new Error('a write-ahead log that has frames has no header');
  return header;
}

/** Returns the log, when there is something in it, with every observed time. */
function currentLog(h: History): LiveLog | null {
  if (!h.log && h.frames > 0) h.log = newLog(h, requireLogHeader(h), h.parts.now);
  h.log?.learnTimes(h.fresh);
  return h.log;
}

function observe(h: History): void {
  const { database, now, onChange } = h.parts;
  const state = database.logState();
  if (h.mayRestart && isRestarted(h)) forgetLog(h);
  const counted = h.mayRestart ? state.frames : framesIn(state);
  if (counted === h.frames) return;
  const written = counted - h.frames;
  h.frames = counted;
  h.fresh.push({ frame: counted, atMs: now() });
  h.timesTimer ??= setTimeout(noteTimes, TIMES_MS, h).unref();
  onChange();
  if (counted < h.nextTidyFrames) return;
  if (isOverflowing(h)) storeOwnPart(h, written);
  tidy(h);
}

function isRestarted({ log, parts }: History): boolean {
  return log !== null && readLogHeader(parts.files.wal)?.salt !== log.header.salt;
}

/** All of it is in the database file, and in segments. */
function forgetLog(h: History): void {
  h.inFile = h.log?.last ?? h.inFile;
  h.inFilePart = h.writer.part;
  h.log = null;
  h.frames = 0;
  h.fresh = [];
  h.mayRestart = false;
  h.nextTidyFrames = h.parts.logFramesMax;
}

function mark(h: History): Mark {
  const log = currentLog(h);
  log?.catchUp(h.frames);
  return { commit: log?.last ?? h.inFile, frames: h.frames, log };
}

function begin(h: History, copyFile = copyInProcess): Promise<void> {
  return h.begun ? Promise.resolve() : takeBase(h, 'start', copyFile);
}

/** Returns the end of the base that is being written, if there is one. */
function takeBase(h: History, reason: 'start' | 'rebase', copyFile = copyInProcess): Promise<void> {
  h.takingBase ??= writeBase(h, reason, copyFile).finally(() => {
    h.takingBase = undefined;
  });
  return h.takingBase;
}

/** The file shows `inFile` until the log is emptied, which the lock prevents. */
async function writeBase(
  h: History,
  reason: 'start' | 'rebase',
  copyFile: typeof copyInProcess,
): Promise<void> {
  const { files, disk, fileLocks } = h.parts;
  const isNeeded = (): boolean => !h.isDone && (reason === 'rebase' || !h.begun);
  const letGo = await fileLocks.take();
  try {
    if (!isNeeded() || h.inFilePart === null) return;
    const description = { commit: h.inFile, reason, afterPart: h.inFilePart };
    const copy = await copyFile(h);
    if (!isNeeded()) return;
    await publishBase(files.history, disk, copy, description);
    h.begun = true;
    h.parts.onChange();
  } finally {
    letGo();
  }
}

function copyInProcess({ parts }: History): Promise<CompressedCopy> {
  return parts.compress(parts.files.database);
}

/** Copies a small database in this process, before its closing: to close the file earlier would drop SQLite's locks. */
async function copyHere(h: History): Promise<CompressedCopy> {
  const { files, disk } = h.parts;
  h.lastRead = openSync(files.database, 'r');
  const { copy, payload } = compressSmall(await readOpenFile(h.lastRead), files.history);
  await disk.stage(copy.path, [payload]);
  return copy;
}

/** Records the times of the last commits. The commits themselves are in the log: a failure costs only their times. */
function noteTimes(h: History): void {
  h.timesTimer = undefined;
  try {
    const log = h.isDone || h.fresh.length === 0 ? null : currentLog(h);
    if (!log) return;
    makeDirectory(h.parts.files.history);
    appendCommitTimes(h.parts.files.history, log.header.salt, h.fresh);
    h.fresh = [];
  } catch {
    // The callers who need the disk meet its failure.
  }
}

function storeAll(h: History): { readonly commit: Commit; readonly part: number } {
  const { log, commit } = mark(h);
  if (log && log.archivedFrame < h.frames) {
    h.writer.storeSync(log, h.frames);
    h.parts.onChange();
  }
  return { commit, part: h.writer.part };
}

function empty(h: History): void {
  storeAll(h);
  h.writer.syncNamesSync();
  dropCommitTimes(h.parts.files.history);
  if (h.parts.database.emptyLog('restart')) forgetLog(h);
  else {
    h.mayRestart = true;
    // A part of the log may be in the file: a copy of it shows no commit.
    h.inFilePart = null;
    h.nextTidyFrames = h.frames + h.parts.logFramesMax;
  }
}

/**
 * Stores a part of the log for the commit that was just made, and empties the log once little is left: no caller waits for
 * the frames of others. Throws on a failure; the next attempt waits until the log has grown as much once more.
 */
function storeOwnPart(h: History, written: number): void {
  const { parts, nextTidyFrames } = h;
  h.nextTidyFrames = h.frames + parts.logFramesMax;
  const { log } = mark(h);
  const own = Math.max(Math.ceil(parts.logFramesMax * OWN_FRAMES_PART), written * OWN_FRAMES_TIMES);
  if (log) h.writer.storeSync(log, Math.min(h.frames, log.archivedFrame + own));
  parts.onChange();
  if (isStored(h)) empty(h);
  else h.nextTidyFrames = nextTidyFrames;
}

/** Whether each commit stores a part of the log. */
function isOverflowing({ frames, begun, parts }: History): boolean {
  return begun && parts.fileLocks.free && frames >= parts.logFramesMax * LOG_OVERFLOW;
}

/** Whether commits come within a moment. */
async function isBusy(h: History): Promise<boolean> {
  const { frames } = h;
  await new Promise((resolve) => setTimeout(resolve, BUSY_MS).unref());
  return h.frames !== frames;
}

/** Whether so little is left to store that the log can be emptied at once. */
function isStored({ frames, log, parts }: History): boolean {
  return frames - (log?.archivedFrame ?? 0) <= parts.logFramesMax * LAST_FRAMES_PART;
}

function tidy(h: History): void {
  if (h.isTidying || h.isDone || h.frames < h.parts.logFramesMax || !h.parts.fileLocks.free) return;
  h.isTidying = true;
  tidyUp(h)
    .catch((error: unknown) => {
      if (h.isDone) return;
      h.nextTidyFrames = h.frames + h.parts.logFramesMax;
      h.parts.report(error);
    })
    .finally(() => {
      h.isTidying = false;
      wakeWaiting(h);
    });
}

function caughtUp(h: History): Promise<void> | null {
  if (h.isDone || h.frames < h.nextTidyFrames) return null;
  return new Promise((resolve) => {
    // A copy of a large file takes long: it slows the callers down, and does not stop them.
    const timer = setTimeout(resolve, PATIENCE_MS).unref();
    h.waiting.push(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function wakeWaiting(h: History): void {
  for (const wake of h.waiting.splice(0)) wake();
}

async function tidyUp(h: History): Promise<void> {
  const { logFramesMax, fileLocks } = h.parts;
  // Leaves the group that just committed: its callers are answered first.
  await new Promise((resolve) => setImmediate(resolve));
  await begin(h);
  for (;;) {
    const log = h.isDone ? null : currentLog(h);
    if (!log || isStored(h)) break;
    // While commits store their own parts, one that is stored beside them is stored in vain.
    if (isOverflowing(h) && (await isBusy(h))) continue;
    await h.writer.storePart(log, h.frames);
  }
  // Another call may have emptied it meanwhile.
  if (!h.isDone && fileLocks.free && h.frames >= logFramesMax) empty(h);
  if (!h.isDone && isBaseDue(h)) await rebase(h);
}

function isBaseDue({ parts, inFile }: History): boolean {
  return isRebaseDue(parts.files.history, parts.limits, { lastAtMs: inFile.atMs, nowMs: parts.now() });
}

async function rebase(h: History): Promise<void> {
  await takeBase(h, 'rebase');
  tidyFiles(h);
}

function tidyFiles({ parts, isDone }: History): void {
  if (isDone || !parts.fileLocks.free) return;
  prune(parts.files.history, parts.limits, parts.now());
  parts.onChange();
}

async function sweep(h: History): Promise<void> {
  await begin(h);
  if (h.isDone) return;
  if (h.frames > 0 && h.parts.fileLocks.free) empty(h);
  if (isBaseDue(h)) await rebase(h);
  else tidyFiles(h);
}

async function settle(h: History): Promise<void> {
  if (h.frames === 0) return;
  await begin(h, isSmall(h.parts.files.database) ? copyHere : copyInProcess);
  for (;;) {
    const log = h.isDone ? null : currentLog(h);
    if (!log || log.archivedFrame >= h.frames) break;
    await h.writer.storePart(log, h.frames);
  }
  if (!h.isDone) await h.writer.syncNames();
}

function finish(h: History): void {
  const { files, disk } = h.parts;
  if (h.frames === 0) return;
  if (!h.begun) {
    const copy = compressSmallSync(files.database, files.history, disk);
    const description = { commit: h.inFile, reason: 'start', afterPart: h.loaded.part } as const;
    publishBaseSync(files.history, disk, copy, description);
    h.begun = true;
  }
  empty(h);
  if (h.frames > 0) throw new Error('another process reads the database');
}

function closed(h: History, inOrder: boolean): void {
  h.isDone = true;
  wakeWaiting(h);
  h.writer.stop();
  clearTimeout(h.timesTimer);
  if (h.lastRead !== undefined) closeSync(h.lastRead);
  if (inOrder && existsSync(h.parts.files.history)) noteClosed(h.parts.files.history, h.parts.files.database);
}

/** A log that was moved into the file as a whole is empty: the next commit restarts it. */
function framesIn({ frames, moved }: LogState): number {
  return frames === moved ? 0 : frames;
}

/** Whether the last part ends within a transaction, whose rest must be in the log. */
function endsInTheMiddle({ last, commits }: PartHeader): boolean {
  return last !== commits.at(-1)?.[0];
}
