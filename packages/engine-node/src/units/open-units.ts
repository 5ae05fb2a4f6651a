/** The open units in the order of their use, with a bound on their number, and the opening and closing of each. */
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { openUnit, type RunningUnit, type UnitOptions, unknownUnit } from '@freehold/store';
import { listHistory } from '../history/history-directory.ts';
import { loadHistory } from '../history/load-history.ts';
import { makeUnitHistory, type UnitHistory } from '../history/unit-history.ts';
import { type FileLocks, makeFileLocks } from '../lib/file-locks.ts';
import { type NodeDatabase, openNodeDatabase } from '../lib/node-database.ts';
import { shuttingDown } from '../lib/shutting-down.ts';
import { DatabaseGone, isDamaged } from '../lib/sqlite-errors.ts';
import { asidePath, type UnitFiles, unitFiles } from '../lib/unit-files.ts';
import { type AnyUnit, type EngineParts, isDerived, isWithoutCopies } from './engine-parts.ts';
import type { StorageMonitor } from './storage-monitor.ts';

/** The number of units that are closed at once when the engine closes. */
const CLOSING_MAX = 16;

export interface OpenedUnit {
  readonly files: UnitFiles;
  readonly definition: AnyUnit;
  readonly unit: RunningUnit;
  readonly database: NodeDatabase;
  /** Null for a unit without history. */
  readonly history: UnitHistory | null;
  /** Whether it can be closed at once. */
  readonly closable: boolean;
  /** Called when the files are not locked any more. */
  onFree(): void;
  /** Closes the database. History that could not be stored stays in the log, and is reported. */
  close(): void;
  /** Closes a lost database: its files stay as they are, and failures are reported. */
  abandon(): void;
}

export interface OpenUnits {
  readonly size: number;
  /**
   * Returns the open unit; opens it when it is closed.
   * @throws PlatformError `not_found` for one that was never created (unless `create`), and errors of opening.
   */
  find(definition: AnyUnit, key: string, options: UnitOptions): OpenedUnit;
  /** Returns the unit when it is open; does not count as a use. */
  peek(files: UnitFiles): OpenedUnit | undefined;
  /** Returns the locks on a unit's files, whether it is open or not. */
  fileLocksOf(files: UnitFiles): FileLocks;
  /** Closes a unit that is closable; does nothing when it is not open. */
  close(files: UnitFiles): void;
  /** Closes a unit whose database is lost, whatever fails, and leaves its files as they are. */
  abandon(files: UnitFiles): void;
  /**
   * Puts the files of a derived unit aside when they are damaged, so that the next call makes it anew. Returns false
   * while the unit cannot be closed.
   */
  putAside(definition: AnyUnit, key: string): boolean;
  /**
   * Finishes the accepted calls and closes every unit, several at once, each when its files are not locked any more.
   * Rejects with the first failure, when the others are closed.
   */
  closeAll(): Promise<void>;
}

export function makeOpenUnits(parts: EngineParts, unitsMax: number): OpenUnits {
  /** By kind and key, in order of use: the first is the least recently used. */
  const open = new Map<string, OpenedUnit>();
  /** The last one in that order. Most calls are for the unit of the call before, and move nothing. */
  let newest: OpenedUnit | null = null;
  const fileLocks = new Map<string, FileLocks>();
  let isClosed = false;

  const fileLocksOf = (files: UnitFiles): FileLocks => {
    const name = nameOf(files);
    const known = fileLocks.get(name) ?? makeFileLocks(() => open.get(name)?.onFree());
    fileLocks.set(name, known);
    return known;
  };

  const find = (definition: AnyUnit, key: string, options: UnitOptions): OpenedUnit => {
    const { kind } = definition;
    const name = nameOf({ kind, key });
    const found = open.get(name);
    if (found === undefined)
      return openNew(name, definition, unitFiles(parts.dataDirectory, kind, key), options);
    if (found !== newest) use(name, found);
    return found;
  };

  const use = (name: string, opened: OpenedUnit): void => {
    open.delete(name);
    open.set(name, opened);
    newest = opened;
  };

  const openNew = (name: string, definition: AnyUnit, files: UnitFiles, options: UnitOptions): OpenedUnit => {
    // Work that was running when the engine closed must not open a unit again.
    if (isClosed) throw shuttingDown();
    parts.swaps.finish(files);
    const size = statSync(files.database, { throwIfNoEntry: false })?.size;
    if (!size && isLost(parts, files, definition)) throw parts.storage.unreadable(files, gone(files));
    if (size === undefined && !options.create) throw unknownUnit(definition.kind);
    const opened = openOrRenew(parts, { files, definition, fileLocks: fileLocksOf(files) }, options);
    parts.storage.opened(files);
    makeRoom();
    use(name, opened);
    return opened;
  };

  const makeRoom = (): void => {
    for (const each of open.values()) {
      if (open.size < unitsMax) return;
      each.unit.drain();
      // Skips a unit whose call is on the stack, whose files are locked, or whose history is yet to begin.
      if (each.closable) close(each.files);
      else if (each.history) each.history.begin().catch(() => undefined);
    }
  };

  const closeBy = (files: UnitFiles, way: 'close' | 'abandon'): void => {
    const name = nameOf(files);
    const opened = open.get(name);
    if (!opened) return;
    open.delete(name);
    if (opened === newest) newest = null;
    opened[way]();
    if (fileLocks.get(name)?.unused) fileLocks.delete(name);
  };
  const close = (files: UnitFiles): void => closeBy(files, 'close');

  const putDamagedAside = (definition: AnyUnit, key: string): boolean => {
    const files = unitFiles(parts.dataDirectory, definition.kind, key);
    // Another caller that met the damage has made it anew.
    if (!parts.storage.isUnreadable(files)) return true;
    const opened = open.get(nameOf(files));
    opened?.unit.drain();
    if (opened && !opened.closable) return false;
    close(files);
    putAside(parts, files);
    return true;
  };

  /** Synchronises the history of units side by side: one after the other, each would wait for the disk by itself. */
  const closeOne = async ({ files, history }: OpenedUnit): Promise<void> => {
    // A failure is met, and reported, by the closing itself.
    await history?.settle().catch(() => undefined);
    const opened = open.get(nameOf(files));
    if (opened?.closable) close(files);
    else await fileLocksOf(files).runExclusive(() => close(files));
  };

  const closeAll = async (): Promise<void> => {
    // A transaction is synchronous: after one turn of the queue, none is on the stack.
    await Promise.resolve();
    isClosed = true;
    for (const { unit } of open.values()) unit.drain();
    const waiting = [...open.values()];
    const failures: unknown[] = [];
    const closing = Array.from({ length: CLOSING_MAX }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift())
        await closeOne(next).catch((error: unknown) => void failures.push(error));
    });
    await Promise.all(closing);
    if (failures.length > 0) throw failures[0];
  };

  return {
    get size() {
      return open.size;
    },
    find,
    peek: (files) => open.get(nameOf(files)),
    fileLocksOf,
    close,
    putAside: putDamagedAside,
    abandon: (files) => closeBy(files, 'abandon'),
    closeAll,
  };
}

function nameOf({ kind, key }: Pick<UnitFiles, 'kind' | 'key'>): string {
  return `${kind}/${key}`;
}

interface UnitOpening {
  readonly files: UnitFiles;
  readonly definition: AnyUnit;
  readonly fileLocks: FileLocks;
}

/** Opens a unit. A damaged one that is derived is put aside, and made anew. */
function openOrRenew(parts: EngineParts, opening: UnitOpening, options: UnitOptions): OpenedUnit {
  try {
    return openUnitFiles(parts, opening, options);
  } catch (error) {
    const isUnreadable = error instanceof PlatformError && error.reason === 'unit_unreadable';
    if (!isUnreadable || !isDerived(opening.definition)) throw error;
    putAside(parts, opening.files);
    return openUnitFiles(parts, opening, { create: true });
  }
}

/** Keeps the damaged files for a person to look at, under a name that says when. */
function putAside(parts: EngineParts, files: UnitFiles): void {
  const aside = asidePath(files, parts.now());
  // The log first: a database without it would look complete.
  if (existsSync(files.wal)) renameSync(files.wal, `${aside}-wal`);
  rmSync(files.shm, { force: true });
  if (existsSync(files.database)) renameSync(files.database, aside);
  parts.onRenew(files);
}

/**
 * Opens a unit.
 * @throws PlatformError `unavailable`, reason `unit_unreadable` or the fault of the disk, and what `openUnit` throws.
 */
function openUnitFiles(parts: EngineParts, opening: UnitOpening, options: UnitOptions): OpenedUnit {
  const { files, definition, fileLocks } = opening;
  const { now, random, onIncident } = parts;
  const limits = parts.historyOf(definition);
  const { storage } = parts;
  if (options.create) attemptOn(storage, files, () => prepareDirectory(files));
  const loaded = limits && attemptOn(storage, files, () => loadHistory(files));
  const onDamage = (error: unknown): unknown => storage.judgeRead(files, error);
  const database = attemptOn(storage, files, () =>
    openNodeDatabase(files.database, { ownLog: limits !== null, onDamage }),
  );
  const report = (error: unknown): void => {
    // A fault of the disk is reported by the monitor, once.
    if (storage.judge(files, error) === error)
      onIncident(error, { kind: files.kind, key: files.key, method: 'history' });
  };
  let history: UnitHistory | null = null;
  // A history that failed to start must find the log unchanged at the next start.
  let close = limits ? database.closeWithLog : database.close;

  /** Deleted bytes must not linger in the log. */
  const emptyLog = (): void => {
    if (database.logState().frames === 0) return;
    if (fileLocks.free) database.emptyLog('truncate');
    parts.onChange(files);
  };

  try {
    if (limits && loaded) {
      const started = makeUnitHistory(
        {
          files,
          database,
          fileLocks,
          limits,
          now,
          newCheck: () => Buffer.from(random(8)).toString('hex'),
          disk: parts.disk,
          logFramesMax: parts.logFramesMax,
          compress: (path) => parts.workers.compress(path),
          onChange: () => parts.onChange(files),
          report,
        },
        loaded,
      );
      history = started;
      close = () => closeWithHistory(files, database, started, report);
    }
    const afterCommit = history ? history.observe : isWithoutCopies(definition) ? emptyLog : () => undefined;
    const unit = openUnit(
      definition,
      {
        key: files.key,
        db: database.db,
        guarded: (guard) => database.guarded(guard),
        transact: (work) => {
          try {
            database.transact(work);
          } catch (error) {
            throw storage.judge(files, error);
          }
          // Asked here, because this is on the way of every request.
          if (storage.failing.size > 0) storage.wrote(files);
          // A failure of the history does not undo the commit.
          try {
            afterCommit();
          } catch (error) {
            report(error);
          }
        },
        schedule: (task) => void setImmediate(task),
        now,
        random,
        onIncident,
      },
      options,
    );
    database.keepTempInMemory();
    return {
      files,
      definition,
      unit,
      database,
      history,
      get closable() {
        return unit.idle && fileLocks.free && (history?.closable ?? true);
      },
      onFree: () => {
        if (history) history.tidy();
        else if (isWithoutCopies(definition)) emptyLog();
      },
      close: () => {
        unit.end();
        close();
      },
      abandon: () => {
        for (const step of [unit.end, () => history?.closed(false), database.closeWithLog])
          try {
            step();
          } catch (error) {
            report(error);
          }
      },
    };
  } catch (error) {
    close();
    throw isDamaged(error) ? storage.unreadable(files, error) : storage.judgeRead(files, error);
  }
}

function closeWithHistory(
  files: UnitFiles,
  database: NodeDatabase,
  history: UnitHistory,
  report: (error: unknown) => void,
): void {
  let inOrder = false;
  try {
    history.finish();
    inOrder = true;
  } catch (error) {
    report(error);
  } finally {
    try {
      if (inOrder) database.close();
      else database.closeWithLog();
    } finally {
      history.closed(inOrder && !existsSync(files.wal));
    }
  }
}

/** A new unit must not find files of a removed one. */
function prepareDirectory(files: UnitFiles): void {
  if (existsSync(files.database)) return;
  mkdirSync(dirname(files.database), { recursive: true, mode: 0o700 });
  for (const path of [files.wal, files.shm, files.history, files.snapshots])
    rmSync(path, { recursive: true, force: true });
}

/** An error that no fault of the disk explains means that the file is not a database. */
function attemptOn<T>(storage: StorageMonitor, files: UnitFiles, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const judged = isDamaged(error) ? error : storage.judgeRead(files, error);
    throw judged === error ? storage.unreadable(files, error) : judged;
  }
}

/** A unit without a database is new only where nothing else of it is left: it would replace its own history. */
function isLost(parts: EngineParts, files: UnitFiles, definition: AnyUnit): boolean {
  if (isDerived(definition)) return false;
  return parts.wasShipped(files) || listHistory(files.history).bases.length > 0;
}

function gone({ database }: UnitFiles): DatabaseGone {
  return new DatabaseGone(`${database} is gone or empty, and its history or its copy in the archive is not`);
}
