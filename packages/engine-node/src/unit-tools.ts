/** Assembles the tools of one unit on this engine. */
import { PlatformError } from '@freehold/contracts';
import type { UnitTools } from '@freehold/store';
import { listBookmarks } from './copies/bookmarks.ts';
import { exportUnit } from './copies/export-unit.ts';
import { examineCopy, removeUnit, restoreUnit, rewindUnit } from './copies/replace-unit.ts';
import { listSnapshots, openSnapshot, removeSnapshot, takeSnapshot } from './copies/snapshots.ts';
import { inspectUnit } from './inspect/inspect-unit.ts';
import { Fault } from './lib/fault.ts';
import { isStorageFailure } from './lib/sqlite-errors.ts';
import { storageFaultOf } from './lib/storage-faults.ts';
import type { ProcessPool } from './processes/process-pool.ts';
import { isMonitored } from './units/storage-monitor.ts';
import type { UnitAccess } from './units/unit-access.ts';

/** The conditions of a tool: the engine is open, and failures of the disk get their own problem. */
export interface ToolsOptions {
  readonly inspectors: ProcessPool;
  /** Throws when the engine is closing. */
  readonly requireOpen: () => void;
}

export function makeUnitTools(unit: UnitAccess, { inspectors, requireOpen }: ToolsOptions): UnitTools {
  const run = async <T>(method: string, work: () => T | Promise<T>): Promise<T> => {
    // Leaves the current call stack: no tool runs within a transaction.
    await Promise.resolve();
    requireOpen();
    try {
      return await work();
    } catch (error) {
      const failure = toldBy(unit, error);
      const isExpected = failure instanceof PlatformError && failure.status < 500;
      const { kind, key } = unit.files;
      if (!isExpected && !isMonitored(failure)) unit.parts.onIncident(error, { kind, key, method });
      throw failure;
    }
  };

  return {
    export: (format) => run('export', () => exportUnit(unit, format)),
    restore: (format, body, admit, replacing, { evenIfLost = false } = {}) =>
      run('restore', () => restoreUnit(unit, { format, body, admit, replacing, evenIfLost })),
    examine: (format, body, look) =>
      run('examine', () => examineCopy(unit, { format, body, ...(look ? { look } : {}) })),
    snapshot: (options) => run('snapshot', () => takeSnapshot(unit, options)),
    snapshots: () => run('snapshots', () => listSnapshots(unit)),
    openSnapshot: (id) => run('openSnapshot', () => openSnapshot(unit, id)),
    removeSnapshot: (id) => run('removeSnapshot', () => removeSnapshot(unit, id)),
    bookmarks: (query) => run('bookmarks', () => listBookmarks(unit, query)),
    rewind: (target, admit, replacing) => run('rewind', () => rewindUnit(unit, target, { admit, replacing })),
    remove: () => run('remove', () => removeUnit(unit)),
    inspect: (request) => run('inspect', () => inspectUnit(unit, inspectors, request)),
  };
}

/** Returns the error for the caller. An unexpected error stays as it is. */
function toldBy({ parts, files }: UnitAccess, error: unknown): unknown {
  // Only a full disk: other codes may be of the place that a copy is read from.
  if (storageFaultOf(error) === 'storage_full') return parts.storage.judge(files, error);
  if (error instanceof Fault) {
    const code = error.reason.startsWith('copy_') ? 'validation_failed' : 'unavailable';
    return new PlatformError(code, error.message, { reason: error.reason, cause: error });
  }
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (!isStorageFailure(error) && code !== 'EIO') return error;
  return new PlatformError('unavailable', 'The disk is failing. Nothing was changed.', {
    reason: 'storage_failed',
    cause: error,
  });
}
