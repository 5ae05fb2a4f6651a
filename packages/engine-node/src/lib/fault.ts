/**
 * A fault of a copy or a history: named, refused, and left untouched. It is a plain error, so that the processes that
 * find it need not load the platform's own errors; the tools convert it.
 */
import { basename } from 'node:path';

export type FaultReason = 'history_damaged' | 'copy_damaged' | 'copy_foreign' | 'archive_damaged';

export class Fault extends Error {
  override readonly name = 'Fault';
  readonly reason: FaultReason;

  constructor(reason: FaultReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

export function damagedHistory(path: string, why: string): Fault {
  return new Fault(
    'history_damaged',
    `The history file ${basename(path)} is damaged: ${why}. It was left untouched.`,
  );
}

/** Returns the fault of a gap between two files of a history. */
export function missingHistory(what: string): Fault {
  return new Fault('history_damaged', `The history has a gap: ${what}. What is there was left untouched.`);
}

export function copyDamaged(why: string, cause?: unknown): Fault {
  return new Fault('copy_damaged', `The copy is damaged: ${why}. Nothing was changed.`, cause);
}

/** Returns the fault of a copy of another unit or kind. */
export function copyForeign(why: string, cause?: unknown): Fault {
  return new Fault('copy_foreign', `The copy does not belong here: ${why}. Nothing was changed.`, cause);
}
