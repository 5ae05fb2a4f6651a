/**
 * What is wrong with a copy or a history: named, refused, and left untouched. A plain error, so that the processes that
 * find it need not load what the platform's own errors are made of; the tools make it one of those.
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

/** A file of a unit's history is not what it was. */
export function damagedHistory(path: string, why: string): Fault {
  return new Fault(
    'history_damaged',
    `The history file ${basename(path)} is damaged: ${why}. It was left untouched.`,
  );
}

/** Something between two files of a history is not there. */
export function missingHistory(what: string): Fault {
  return new Fault('history_damaged', `The history has a gap: ${what}. What is there was left untouched.`);
}

/** A copy that is to be restored is broken. */
export function copyDamaged(why: string, cause?: unknown): Fault {
  return new Fault('copy_damaged', `The copy is damaged: ${why}. Nothing was changed.`, cause);
}

/** A copy is whole, and one of something else. */
export function copyForeign(why: string, cause?: unknown): Fault {
  return new Fault('copy_foreign', `The copy does not belong here: ${why}. Nothing was changed.`, cause);
}
