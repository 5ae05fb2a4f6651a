/**
 * Brings back a unit whose database is damaged or gone, while no engine runs: from its own history and log, which hold
 * every commit, or from the archive.
 */
import { copyFileSync, existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { assertUnitKey } from '@freehold/store';
import type { Archive } from './archive/archive.ts';
import { fetchUnit } from './archive/fetch-unit.ts';
import { partsOfKey, unitPrefix } from './archive/objects.ts';
import { dropCommitTimes } from './history/commit-times.ts';
import { makeWalk, wayTo } from './history/commits.ts';
import { listHistory, readBase } from './history/history-directory.ts';
import { readPartHeaders } from './history/part.ts';
import { makeDirectory, syncDirectory } from './lib/durable-file.ts';
import { Fault } from './lib/fault.ts';
import { asidePath, type UnitFiles, unitFiles } from './lib/unit-files.ts';
import { lockDirectory } from './lock.ts';
import { materialise } from './processes/materialise.ts';
import { isWhole, openCopy, recoverLog } from './processes/settled-database.ts';

export interface RecoverOptions {
  readonly dataDirectory: string;
  readonly kind: string;
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  /** The second source. Null: there is none. */
  readonly archive: Archive | null;
}

export interface Recovered {
  /** `history`: nothing is lost. `archive`: the commits of the last moments may be. */
  readonly from: 'history' | 'archive';
  /** The path of the damaged database; null where it was gone. */
  readonly aside: string | null;
}

/**
 * Recovers the unit. Its damaged database is put aside; when this throws, it is where it was.
 * @throws PlatformError `not_found`, reason `unknown_unit`; `conflict`, reason `unit_is_whole`; `unavailable`, reason
 * `unit_lost`, which says what is missing, or `data_directory_in_use`.
 */
export async function recoverUnit(options: RecoverOptions): Promise<Recovered> {
  const { dataDirectory, kind, key, archive } = options;
  assertUnitKey(key);
  const files = unitFiles(dataDirectory, kind, key);
  const unlock = lockDirectory(dataDirectory);
  // Beside its place: a rename between file systems is none.
  const work = join(dirname(files.database), `.recovering-${key}`);
  try {
    const isThere = existsSync(files.database) || existsSync(files.history);
    if (!isThere && !(archive && (await namesIn(archive, files)).length > 0)) throw unknown(options);
    rmSync(work, { recursive: true, force: true });
    makeDirectory(work);
    if (isReadable(files, join(work, 'present.sqlite'))) throw whole(files);
    const staged = join(work, 'recovered.sqlite');
    const damage = await fromHistory(files, staged);
    if (damage === null) return { from: 'history', aside: place(options, files, staged) };
    if (archive && (await fromArchive(archive, files, work)))
      return { from: 'archive', aside: placeArchived(options, files, unitFiles(work, kind, key)) };
    throw lost(files, damage, archive !== null);
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

/** Writes the last state of the history. Returns null, or why that is impossible. The log is applied on opening. */
async function fromHistory(files: UnitFiles, to: string): Promise<string | null> {
  try {
    const { bases, segments } = listHistory(files.history);
    const newest = bases.at(-1);
    if (!newest) return 'it has no history';
    const base = readBase(newest);
    const walk = makeWalk(base);
    for (const { path, lastPart } of segments) {
      if (lastPart <= base.afterPart) continue;
      for (const part of readPartHeaders(path)) if (part.header.n > base.afterPart) walk.step(part);
    }
    await materialise(wayTo(files.history, walk.at), to);
    const tried = `${to}.tried`;
    copyWithLog(files, to, tried);
    // The log holds what came after the history, page by page, so that it may also begin before its end.
    recoverLog(tried);
    return isWholeFile(tried) ? null : 'its log is damaged too';
  } catch (error) {
    if (error instanceof Fault) return error.message;
    if ((error as { errcode?: unknown }).errcode !== undefined) return 'its log is damaged too';
    throw error;
  }
}

async function fromArchive(archive: Archive, files: UnitFiles, work: string): Promise<boolean> {
  const names = await namesIn(archive, files);
  if (names.length === 0) return false;
  return fetchUnit({
    archive,
    files: unitFiles(work, files.kind, files.key),
    names,
    openArchive: (sealed) => sealed,
  });
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

/** The same with the archived history, which leads to the archived state; the database comes last. */
function placeArchived({ nowMs }: RecoverOptions, files: UnitFiles, archived: UnitFiles): string | null {
  const aside = asidePath(files, nowMs);
  const wasThere = existsSync(files.database);
  for (const [from, to] of [
    [files.wal, `${aside}-wal`],
    [files.history, `${aside}-history`],
  ] as const)
    if (existsSync(from)) renameSync(from, to);
  if (wasThere) linkSync(files.database, aside);
  rmSync(files.shm, { force: true });
  if (existsSync(archived.history)) renameSync(archived.history, files.history);
  renameSync(archived.database, files.database);
  syncDirectory(dirname(files.database));
  return wasThere ? aside : null;
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
