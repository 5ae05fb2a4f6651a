/** One unit with its database open, and the management of its write-ahead log. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { openUnit, type RunningUnit, type UnitOptions } from '@freehold/store';
import { type AnyUnit, type EngineParts, isWithoutCopies } from './engine-parts.ts';
import type { FileLocks } from './file-locks.ts';
import { loadHistory } from './history/load-history.ts';
import type { HistoryLimits } from './history/retention.ts';
import { makeUnitHistory, type UnitHistory } from './history/unit-history.ts';
import { type NodeDatabase, type NodeDatabaseOptions, openNodeDatabase } from './node-database.ts';
import { isDamaged } from './sqlite-errors.ts';
import type { UnitFiles } from './unit-files.ts';

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
}

/**
 * Opens a unit.
 * @throws PlatformError `unavailable`, reason `unit_unreadable`, and what `openUnit` throws.
 */
export function openUnitFiles(
  parts: EngineParts,
  {
    files,
    definition,
    fileLocks,
  }: { readonly files: UnitFiles; readonly definition: AnyUnit; readonly fileLocks: FileLocks },
  options: UnitOptions,
): OpenedUnit {
  const { now, random, onIncident } = parts;
  const limits = parts.historyOf(definition);
  if (options.create) prepareDirectory(files);
  const loaded = limits && loadHistory(files);
  const database = openOrRefuse(files, { ownLog: limits !== null });
  const report = (error: unknown, method: string): void =>
    onIncident(error, { kind: files.kind, key: files.key, method });

  let history: UnitHistory | null = null;
  const close = (): void => {
    if (!history) {
      // A history that failed to start must find the log unchanged at the next start.
      if (limits) database.closeWithLog();
      else database.close();
      return;
    }
    try {
      history.finish();
    } catch (error) {
      report(error, 'history');
      history.closed(false);
      database.closeWithLog();
      return;
    }
    database.close();
    history.closed(!existsSync(files.wal));
  };

  /** Deleted bytes must not linger in the log. */
  const emptyLog = (): void => {
    if (database.logState().frames === 0) return;
    if (fileLocks.free) database.emptyLog('truncate');
    parts.onChange(files);
  };

  try {
    if (limits && loaded)
      history = startHistory(parts, { files, database, fileLocks, limits, loaded, report });
    const afterCommit = afterCommitOf(definition, history, emptyLog);
    const unit = openUnit(
      definition,
      {
        key: files.key,
        db: database.db,
        guarded: (guard) => database.guarded(guard),
        transact: (work) => {
          database.transact(work);
          // A failure of the history does not undo the commit.
          attempt(afterCommit, (error) => report(error, 'history'));
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
    };
  } catch (error) {
    close();
    throw isDamaged(error) ? unreadable(files, error) : error;
  }
}

function afterCommitOf(definition: AnyUnit, history: UnitHistory | null, emptyLog: () => void): () => void {
  if (history) return history.observe;
  return isWithoutCopies(definition) ? emptyLog : () => undefined;
}

interface HistoryStart {
  readonly files: UnitFiles;
  readonly database: NodeDatabase;
  readonly fileLocks: FileLocks;
  readonly limits: HistoryLimits;
  readonly loaded: ReturnType<typeof loadHistory>;
  readonly report: (error: unknown, method: string) => void;
}

function startHistory(parts: EngineParts, { loaded, report, ...start }: HistoryStart): UnitHistory {
  const changed = (): void => parts.onChange(start.files);
  return makeUnitHistory(
    {
      ...start,
      now: parts.now,
      newCheck: () => Buffer.from(parts.random(8)).toString('hex'),
      disk: parts.disk,
      logFramesMax: parts.logFramesMax,
      compress: (database) => parts.workers.compress(database),
      onCommit: changed,
      onStored: changed,
      report: (error) => report(error, 'history'),
    },
    loaded,
  );
}

/** A new unit must not find files of a removed one. */
function prepareDirectory(files: UnitFiles): void {
  try {
    if (existsSync(files.database)) return;
    mkdirSync(dirname(files.database), { recursive: true, mode: 0o700 });
    for (const path of [files.wal, files.shm, files.history, files.snapshots])
      rmSync(path, { recursive: true, force: true });
  } catch (cause) {
    throw unreadable(files, cause);
  }
}

function openOrRefuse(files: UnitFiles, options: NodeDatabaseOptions): NodeDatabase {
  try {
    return openNodeDatabase(files.database, options);
  } catch (cause) {
    throw unreadable(files, cause);
  }
}

function unreadable({ kind }: UnitFiles, cause: unknown): PlatformError {
  return new PlatformError(
    'unavailable',
    `The database of this ${kind} cannot be opened. It was left untouched.`,
    { reason: 'unit_unreadable', cause },
  );
}

function attempt(work: () => void, onError: (error: unknown) => void): void {
  try {
    work();
  } catch (error) {
    onError(error);
  }
}
