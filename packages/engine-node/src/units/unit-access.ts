/** One unit from the view of its tools, open or not. */
import { PlatformError } from '@freehold/contracts';
import type { UnitHistory } from '../history/unit-history.ts';
import type { FileLocks } from '../lib/file-locks.ts';
import type { UnitFiles } from '../lib/unit-files.ts';
import { type AnyUnit, type EngineParts, isWithoutCopies } from './engine-parts.ts';
import type { OpenedUnit, OpenUnits } from './open-units.ts';

export interface UnitAccess {
  readonly files: UnitFiles;
  readonly definition: AnyUnit;
  readonly parts: EngineParts;
  readonly fileLocks: FileLocks;
  /** @throws PlatformError `not_found`, reason `unknown_unit`. */
  open(): OpenedUnit;
  /** Returns the unit when it is open. */
  peek(): OpenedUnit | undefined;
  /** Closes it, when it is open. Only while its files are not locked. */
  close(): void;
  /** Closes it as one whose database is lost. Only while its files are not locked. */
  abandon(): void;
}

export function makeUnitAccess(
  parts: EngineParts,
  units: OpenUnits,
  { files, definition }: { readonly files: UnitFiles; readonly definition: AnyUnit },
): UnitAccess {
  return {
    files,
    definition,
    parts,
    get fileLocks() {
      return units.fileLocksOf(files);
    },
    open: () => units.find(definition, files.key, {}),
    peek: () => units.peek(files),
    close: () => units.close(files),
    abandon: () => units.abandon(files),
  };
}

/** @throws PlatformError `unsupported`, reason `unit_has_no_copies`. */
export function requireCopies({ definition }: UnitAccess): void {
  if (!isWithoutCopies(definition)) return;
  throw new PlatformError('unsupported', `A ${definition.kind} has no copies, so this cannot be done.`, {
    reason: 'unit_has_no_copies',
  });
}

/** Whether a unit can be rewound. An archive alone keeps only the history that leads to the present. */
export function keepsHistory({ parts, definition }: UnitAccess): boolean {
  return (parts.historyOf(definition)?.historyMs ?? 0) > 0;
}

/** @throws PlatformError `unsupported`, reason `history_off`. */
export function requireHistory(
  { history, files }: OpenedUnit,
  { parts, definition }: UnitAccess,
): UnitHistory {
  if (history && parts.historyOf(definition)?.historyMs) return history;
  throw new PlatformError('unsupported', `No history is kept of a ${files.kind}.`, { reason: 'history_off' });
}
