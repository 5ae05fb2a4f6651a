/** The open units, in the order of their use, and a bound on their number. */
import { existsSync } from 'node:fs';
import { type UnitOptions, unknownUnit } from '@freehold/store';
import type { AnyUnit, EngineParts } from './engine-parts.ts';
import { type FileLocks, makeFileLocks } from './file-locks.ts';
import { type OpenedUnit, openUnitFiles } from './opened-unit.ts';
import { shuttingDown } from './shutting-down.ts';
import type { UnitFiles } from './unit-files.ts';

export interface OpenUnits {
  readonly size: number;
  /**
   * Returns the open unit; opens it when it is closed.
   * @throws PlatformError `not_found` for one that was never created (unless `create`), and errors of opening.
   */
  find(files: UnitFiles, definition: AnyUnit, options: UnitOptions): OpenedUnit;
  /** Returns the unit when it is open; does not count as a use. */
  peek(files: UnitFiles): OpenedUnit | undefined;
  /** Returns the locks on a unit's files, whether it is open or not. */
  fileLocksOf(files: UnitFiles): FileLocks;
  /** Closes a unit that is closable; does nothing when it is not open. */
  close(files: UnitFiles): void;
  /** Finishes the accepted calls and closes every unit, each when its files are not locked any more. */
  closeAll(): Promise<void>;
}

export function makeOpenUnits(parts: EngineParts, unitsMax: number): OpenUnits {
  /** By the path of the database, in order of use: the first is the least recently used. */
  const open = new Map<string, OpenedUnit>();
  /** The last one in that order. Most calls are for the unit of the call before, and move nothing. */
  let newest: OpenedUnit | null = null;
  const fileLocks = new Map<string, FileLocks>();
  let isClosed = false;

  const fileLocksOf = ({ database }: UnitFiles): FileLocks => {
    const known = fileLocks.get(database) ?? makeFileLocks(() => open.get(database)?.onFree());
    fileLocks.set(database, known);
    return known;
  };

  const find = (files: UnitFiles, definition: AnyUnit, options: UnitOptions): OpenedUnit => {
    const found = open.get(files.database);
    if (found) {
      if (found === newest) return found;
      open.delete(files.database);
      open.set(files.database, found);
      newest = found;
      return found;
    }
    // Work that was running when the engine closed must not open a unit again.
    if (isClosed) throw shuttingDown();
    parts.swaps.finish(files);
    if (!options.create && !existsSync(files.database)) throw unknownUnit(definition.kind);
    const opened = openUnitFiles(parts, { files, definition, fileLocks: fileLocksOf(files) }, options);
    makeRoom();
    open.set(files.database, opened);
    newest = opened;
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

  const close = ({ database }: UnitFiles): void => {
    const opened = open.get(database);
    if (!opened) return;
    open.delete(database);
    if (opened === newest) newest = null;
    opened.close();
    if (fileLocks.get(database)?.unused) fileLocks.delete(database);
  };

  const closeAll = async (): Promise<void> => {
    // A transaction is synchronous: after one turn of the queue, none is on the stack.
    await Promise.resolve();
    isClosed = true;
    for (const { unit } of open.values()) unit.drain();
    for (const opened of [...open.values()]) {
      if (!opened.closable && opened.history) await opened.history.begin().catch(() => undefined);
      if (opened.closable) close(opened.files);
      else await fileLocksOf(opened.files).runExclusive(() => close(opened.files));
    }
  };

  return {
    get size() {
      return open.size;
    },
    find,
    peek: ({ database }) => open.get(database),
    fileLocksOf,
    close,
    closeAll,
  };
}
