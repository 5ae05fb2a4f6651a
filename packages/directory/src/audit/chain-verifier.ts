/** Judges a chain of admin-log rows, one by one and in constant memory. */
import { canonicalJson } from '@freehold/contracts';
import type { AdminLogEntry, BadRow, LogHead } from '../declarations/records.ts';
import { type AdminLogRow, entryOfRow } from './admin-log.ts';
import { GENESIS_HASH, hashOfEntry } from './chain.ts';

/** Judges rows in the order in which they are given to it. */
export interface ChainVerifier {
  /** What is wrong with the next row, or null. After a fault it must not be called again. */
  accept(row: AdminLogRow): BadRow | null;
  /** The last good row, or null before the first. */
  readonly head: LogHead | null;
  /** How many rows so far opened a new epoch: the directory was restored, and its log went on. */
  readonly epochs: number;
}

export function makeChainVerifier(): ChainVerifier {
  let head: LogHead | null = null;
  let epochs = 0;
  return {
    get head() {
      return head;
    },
    get epochs() {
      return epochs;
    },
    accept: (row) => {
      const expected = (head?.sequence ?? 0) + 1;
      if (row.sequence > expected) return { sequence: expected, reason: 'missing' };
      if (row.sequence < expected) return { sequence: row.sequence, reason: 'duplicated' };
      const fault = faultOf(row, head?.hash ?? GENESIS_HASH) ?? epochFault(row, head);
      if (fault) return { sequence: row.sequence, reason: fault };
      if (opensEpoch(row)) epochs += 1;
      head = { sequence: row.sequence, hash: row.hash };
      return null;
    },
  };
}

/** The row that says that the directory was restored. */
function opensEpoch({ action, outcome }: AdminLogRow): boolean {
  return action === 'directory.restore' && outcome === 'done';
}

/** It names the head that was there before, which is the row before it: else rows were left out in between. */
function epochFault(row: AdminLogRow, head: LogHead | null): BadRow['reason'] | null {
  if (!opensEpoch(row)) return null;
  const { previousHead } = JSON.parse(row.after ?? '{}') as { previousHead?: LogHead };
  const isNamed = previousHead?.sequence === head?.sequence && previousHead?.hash === head?.hash;
  return head && isNamed ? null : 'epoch_mismatch';
}

function faultOf(row: AdminLogRow, previousHash: string): BadRow['reason'] | null {
  let entry: AdminLogEntry;
  try {
    entry = entryOfRow(row);
  } catch {
    return 'unreadable';
  }
  const { hash, ...hashed } = entry;
  // The stored text of the fields must be the one that was hashed, to the byte: an added blank is a change too,
  // and so is the word null where there was nothing.
  for (const [stored, value] of [
    [row.before, entry.before],
    [row.after, entry.after],
  ] as const) {
    if (stored !== null && (value === null || stored !== canonicalJson(value))) return 'hash_mismatch';
  }
  if (hashOfEntry(hashed) !== hash) return 'hash_mismatch';
  if (entry.previousHash !== previousHash) return 'previous_hash_mismatch';
  return null;
}
