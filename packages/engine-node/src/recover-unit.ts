/**
 * Brings back a unit whose database is damaged or gone, while no engine runs: from its own history and log, which hold
 * every commit, or from the archive.
 */
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { PlatformError } from '@freehold/contracts';
import { assertUnitKey } from '@freehold/store';
import type { ChangeOlder } from './archive/add-commit.ts';
import type { Archive } from './archive/archive.ts';
import { fetchUnit } from './archive/fetch-unit.ts';
import { partsOfKey, unitPrefix } from './archive/objects.ts';
import { requireOwner } from './archive/ownership.ts';
import { parseTailName } from './archive/ship-unit.ts';
import { dropCommitTimes, readCommitTimes } from './history/commit-times.ts';
import { makeWalk, type Walk, wayTo } from './history/commits.ts';
import { listHistory, readBase } from './history/history-directory.ts';
import { loadHistory } from './history/load-history.ts';
import { readPartHeaders } from './history/part.ts';
import { readWrittenLog, whatMayBeMissing } from './history/written-log.ts';
import { makeDirectory, syncDirectory } from './lib/durable-file.ts';
import { Fault } from './lib/fault.ts';
import { asidePath, type UnitFiles, unitFiles } from './lib/unit-files.ts';
import { lockDirectory } from './lock.ts';
import { compressDatabase } from './processes/capture.ts';
import { syncClosed } from './processes/copied-file.ts';
import { materialise } from './processes/materialise.ts';
import { isWhole, openCopy, recoverLog } from './processes/settled-database.ts';
import { openSwaps, type Swaps } from './units/swap.ts';

export interface RecoverOptions {
  readonly dataDirectory: string;
  readonly kind: string;
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** The second source. Null: there is none. */
  readonly archive: Archive | null;
  /** Changes a state that may lack commits. Default: no change. */
  readonly changeOlder?: ChangeOlder;
}

export interface Recovered {
  /** The source with the later state. */
  readonly from: 'history' | 'archive';
  /** Why the commits of the last moments may be missing; null: nothing is lost. */
  readonly missing: string | null;
  /** The path of the damaged database; null where it was gone. */
  readonly aside: string | null;
}

/**
 * Recovers the unit. Its damaged database is put aside; when this throws, it is where it was.
 * @throws PlatformError `not_found`, reason `unknown_unit`; `conflict`, reason `unit_is_whole`, or `archive_not_ours`
 * where only the archive is left; `unavailable`, reason `unit_lost`, which says what is missing, or
 * `data_directory_in_use`; and errors of the archive where commits may be missing here.
 */
export async function recoverUnit(options: RecoverOptions): Promise<Recovered> {
  const { dataDirectory, kind, key, archive } = options;
  assertUnitKey(key);
  const files = unitFiles(dataDirectory, kind, key);
  const unlock = lockDirectory(dataDirectory);
  // Beside its place: a rename between file systems is none.
  const work = join(dirname(files.database), `.recovering-${key}`);
  try {
    const swaps = openSwaps(dataDirectory);
    const isThere = existsSync(files.database) || existsSync(files.history);
    if (!isThere && !(archive && (await namesIn(archive, files)).length > 0)) throw unknown(options);
    rmSync(work, { recursive: true, force: true });
    makeDirectory(work);
    if (isReadable(files, join(work, 'present.sqlite'))) throw whole(files);
    const local = await fromHistory(files, join(work, 'recovered.sqlite'));
    const isComplete = typeof local !== 'string' && local.missing === null;
    if (isComplete && !(await goesFurther(options, files, local)))
      return { from: 'history', missing: null, aside: place(options, files, local.historyEnd) };
    const archived = await fromArchive(options, files, { work, local });
    if (archived !== null && (typeof local === 'string' || archived.seq > local.seq)) {
      const aside = await placeAnew(options, files, {
        work,
        swaps,
        staged: archived.files.database,
        archived,
      });
      return { from: 'archive', missing: 'what had not reached the archive', aside };
    }
    if (typeof local === 'string') throw lost(files, local, archive !== null);
    const aside = await placeAnew(options, files, { work, swaps, staged: local.staged });
    return { from: 'history', missing: local.missing ?? 'the archive names later commits', aside };
  } finally {
    rmSync(work, { recursive: true, force: true });
    unlock();
  }
}

/** Whether the database, with its log, passes a check of all its pages. A copy is checked: an opening changes files. */
function isReadable(files: UnitFiles, copy: string): boolean {
  if (!statSync(files.database, { throwIfNoEntry: false })?.size) return false;
  copyWithLog(files, files.database, copy);
  try {
    recoverLog(copy);
    return isWholeFile(copy);
  } catch {
    return false;
  }
}

/** The last state that the unit's own files lead to. */
interface LocalState {
  readonly staged: string;
  /** The same without the log. */
  readonly historyEnd: string;
  /** Why commits may be missing; null: there are provably none. */
  readonly missing: string | null;
  /** The number of its last commit. */
  readonly seq: number;
  /** The log, up to the last frame that counts; null for none. */
  readonly log: { readonly salt: string; readonly frames: number } | null;
}

/** Writes the last state of the history with its log. Returns why that is impossible where it is. */
async function fromHistory(files: UnitFiles, to: string): Promise<LocalState | string> {
  try {
    const walk = walkOf(files.history);
    if (!walk) return 'it has no history';
    const historyEnd = `${to}.end`;
    await materialise(wayTo(files.history, walk.at), historyEnd);
    const written = readWrittenLog(files.wal);
    const times = readCommitTimes(files.history);
    copyWithLog(files, historyEnd, to);
    const found = acceptedFrames(to);
    const missing = whatMayBeMissing(written, { found: found ?? 0, times, walked: walk.log });
    const header = written?.header ?? null;
    const stored = walk.log && walk.log.salt === header?.salt ? walk.log.last : 0;
    // Less of a log than the history has of it would bring older pages back. More of it begins before the history's end.
    if (header === null || found === null || found < stored)
      return { staged: historyEnd, historyEnd, missing, seq: walk.at.seq, log: null };
    const more = written?.commits.filter((frame) => frame > stored && frame <= found).length ?? 0;
    const log = { salt: header.salt, frames: found };
    return { staged: to, historyEnd, missing, seq: walk.at.seq + more, log };
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

/** Moves the log into the copy. Returns the number of frames that SQLite accepts; null where the result is not whole. */
function acceptedFrames(copy: string): number | null {
  try {
    const found = recoverLog(copy);
    return isWholeFile(copy) ? found : null;
  } catch (error) {
    if ((error as { errcode?: unknown }).errcode === undefined) throw error;
    return null;
  }
}

/** Walks from the newest base to the end of the history; null: it has no base. */
function walkOf(history: string): Walk | null {
  const { bases, segments } = listHistory(history);
  const newest = bases.at(-1);
  if (!newest) return null;
  const base = readBase(newest);
  const walk = makeWalk(base);
  for (const { path, lastPart } of segments) {
    if (lastPart <= base.afterPart) continue;
    for (const part of readPartHeaders(path)) if (part.header.n > base.afterPart) walk.step(part);
  }
  return walk;
}

/** Whether the archive is this directory's and has later commits, as when a log was cut between two of them. */
async function goesFurther(
  { archive, dataDirectory }: RecoverOptions,
  files: UnitFiles,
  { seq, log }: LocalState,
): Promise<boolean> {
  if (!archive) return false;
  try {
    await requireOwner(archive, dataDirectory);
    return (await namesIn(archive, files)).some((name) => {
      const tail = parseTailName(name);
      if (tail) return tail.salt === log?.salt ? tail.last > log.frames : tail.afterSeq > seq;
      return Number(/^history\/(?:base-|seg-\d+-\d+-)(\d{12})\./.exec(name)?.[1] ?? 0) > seq;
    });
  } catch {
    // Nothing is known to be missing, so that the archive is not needed.
    return false;
  }
}

interface ArchivedState {
  readonly files: UnitFiles;
  /** The number of its last commit; 0 for a unit without history. */
  readonly seq: number;
}

/** Fetches the archived state; null: there is none, or there is a state here and the archive's cannot be used. */
async function fromArchive(
  { archive, dataDirectory, kind, key }: RecoverOptions,
  files: UnitFiles,
  { work, local }: { readonly work: string; readonly local: LocalState | string },
): Promise<ArchivedState | null> {
  const names = archive ? await namesIn(archive, files) : [];
  if (!archive || names.length === 0) return null;
  const archived = unitFiles(work, kind, key);
  try {
    await requireOwner(archive, dataDirectory);
    const isThere = await fetchUnit({ archive, files: archived, names, openArchive: (sealed) => sealed });
    return isThere ? { files: archived, seq: walkOf(archived.history)?.at.seq ?? 0 } : null;
  } catch (error) {
    const isUseless =
      error instanceof Fault || (error instanceof PlatformError && error.reason === 'archive_not_ours');
    if (isUseless && typeof local !== 'string') return null;
    throw error;
  }
}

async function namesIn(archive: Archive, files: UnitFiles): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const object of archive.list(unitPrefix(files))) {
    const name = partsOfKey(object)?.name;
    if (name !== undefined) names.push(name);
  }
  return names;
}

/** Puts the state of the history in the place of the damaged database, in one step; the log stays beside it. */
function place({ nowMs }: RecoverOptions, files: UnitFiles, staged: string): string | null {
  const aside = existsSync(files.database) ? asidePath(files, nowMs) : null;
  if (aside !== null) linkSync(files.database, aside);
  // Without a log there is a note of the database that was closed, which says that nothing follows another file.
  if (!existsSync(files.wal)) dropCommitTimes(files.history);
  rmSync(files.shm, { force: true });
  renameSync(staged, files.database);
  syncDirectory(dirname(files.database));
  return aside;
}

interface Anew {
  readonly work: string;
  readonly swaps: Swaps;
  readonly staged: string;
  /** Its history takes the place of the unit's own. */
  readonly archived?: ArchivedState;
}

/**
 * Puts a state in the place of the damaged database that may lack commits. It begins a new base, with a number beyond
 * all that the missing commits may have had: neither their numbers nor their frames in the archive count for new ones.
 */
async function placeAnew(
  { nowMs, kind, changeOlder }: RecoverOptions,
  files: UnitFiles,
  anew: Anew,
): Promise<string | null> {
  const { work, swaps, staged, archived } = anew;
  const aside = asidePath(files, nowMs);
  const wasThere = existsSync(files.database);
  const own = loadHistory(files, true);
  const change = changeOlder?.(kind);
  if (change) changeCopy(staged, change);
  await syncClosed(staged);
  const copy = await compressDatabase(staged, join(work, 'base'));
  if (archived && existsSync(files.history)) renameSync(files.history, `${aside}-history`);
  if (archived && existsSync(archived.files.history)) renameSync(archived.files.history, files.history);
  const { last, seqMax, part } = loadHistory(files, true);
  const commit = {
    seq: Math.max(Math.floor(nowMs / 10), own.seqMax + 1, seqMax + 1),
    check: randomBytes(8).toString('hex'),
    atMs: Math.max(nowMs, own.last?.atMs ?? 0, last?.atMs ?? 0),
  };
  const afterPart = Math.max(Math.floor(nowMs / 60_000), own.part, part);
  const description = { commit, reason: 'restore', afterPart } as const;
  swaps.replace(files, { path: staged, aside, base: last === null ? null : { copy, description } });
  return wasThere ? aside : null;
}

function changeCopy(path: string, change: (database: DatabaseSync) => void): void {
  const database = openCopy(path);
  try {
    change(database);
  } finally {
    database.close();
  }
}

function copyWithLog({ wal }: UnitFiles, database: string, to: string): void {
  copyFileSync(database, to);
  if (existsSync(wal)) copyFileSync(wal, `${to}-wal`);
}

function isWholeFile(path: string): boolean {
  const database = openCopy(path);
  try {
    return isWhole(database);
  } finally {
    database.close();
  }
}

function unknown({ dataDirectory, kind, key }: RecoverOptions): PlatformError {
  return new PlatformError('not_found', `There is no database ${kind}/${key} in ${dataDirectory}.`, {
    reason: 'unknown_unit',
  });
}

function whole({ database }: UnitFiles): PlatformError {
  return new PlatformError('conflict', `The database ${database} is whole. Nothing was changed.`, {
    reason: 'unit_is_whole',
  });
}

function lost({ database }: UnitFiles, why: string, hasArchive: boolean): PlatformError {
  const archive = hasArchive ? 'the archive has no copy of it' : 'the settings name no archive';
  const detail = `The database ${database} cannot be recovered: ${why.replace(/\.$/, '')}, and ${archive}. Nothing was changed.`;
  return new PlatformError('unavailable', detail, { reason: 'unit_lost' });
}
