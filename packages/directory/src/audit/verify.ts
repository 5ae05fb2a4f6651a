/** Verifies the admin log: judges its chain row by row, then compares it with the head that the anchor keeps. */
import { canonicalJson, PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  type AdminLogEntry,
  type AdminLogVerification,
  adminLogVerification,
  type BadRow,
  type LogHead,
} from '../declarations/records.ts';
import type { MethodsOf } from '../lib/feature.ts';
import { type AdminLogRow, entryOfRow, GENESIS_HASH, hashOfEntry } from './admin-log.ts';
import type { LogAnchor } from './anchor.ts';
import type { auditFeature } from './operations.ts';

export const adminLogVerify = adminOperation({
  name: 'admin-log.verify',
  summary: 'Recompute the chain of the admin log',
  description:
    'Names the first row that does not fit. Without a head that is kept outside, or in production with one beside the data, the best answer is unanchored.',
  tag: 'Logs',
  method: 'GET',
  path: '/admin-log/verify',
  input: {},
  output: adminLogVerification,
  problems: ['unavailable'],
});

/** The most rows in memory at a time: some hundred kilobytes. */
const SLICE_ROWS = 500;

/**
 * Recomputes the whole chain. Rows that are written meanwhile are left to the next verification.
 * @throws PlatformError `unavailable`, reason `anchor_unreachable`: a verification without the anchor would claim too much.
 */
export async function verifyAdminLog({
  anchor,
  directory,
}: {
  readonly anchor: LogAnchor | undefined;
  readonly directory: Pick<
    UnitStub<MethodsOf<readonly [typeof auditFeature]>>,
    'logHead' | 'unsettledIntents' | 'logSlice'
  >;
}): Promise<AdminLogVerification> {
  // The anchor is read before the head: it never runs ahead of the log, so that an older anchor is always covered.
  const anchored = anchor ? await readAnchor(anchor) : null;
  const vouched = anchored !== null && anchor?.vouches !== false;
  const end = await directory.logHead();
  const unsettled = await directory.unsettledIntents();
  const chain: ChainState = { head: null, epochs: 0 };

  const answer = (firstBad: BadRow | null): AdminLogVerification => ({
    status: firstBad ? 'broken' : vouched ? 'ok' : 'unanchored',
    rows: chain.head?.sequence ?? 0,
    epochs: chain.epochs,
    unsettled,
    head: end,
    anchor: anchored,
    firstBad,
  });

  while ((chain.head?.sequence ?? 0) < (end?.sequence ?? 0)) {
    const last = chain.head;
    // Each slice begins with the last row of the slice before, so that a copy of it cannot hide in the seam.
    const rows = await directory.logSlice({ from: last?.sequence ?? 0, limit: SLICE_ROWS + 1 });
    const fresh = last && rows[0]?.sequence === last.sequence ? rows.slice(1) : rows;
    for (const row of fresh) {
      const bad = accept(chain, row);
      if (bad) return answer(bad);
      if (anchored?.sequence === row.sequence && anchored.hash !== row.hash)
        return answer({ sequence: row.sequence, reason: 'anchor_mismatch' });
    }
    if (fresh.length === 0) return answer({ sequence: (last?.sequence ?? 0) + 1, reason: 'missing' });
  }
  if (anchored && anchored.sequence > (end?.sequence ?? 0))
    return answer({ sequence: (end?.sequence ?? 0) + 1, reason: 'tail_missing' });
  return answer(null);
}

async function readAnchor(anchor: LogAnchor): Promise<LogHead | null> {
  try {
    return await anchor.read();
  } catch (cause) {
    throw new PlatformError('unavailable', 'The head that is kept outside cannot be read at the moment.', {
      reason: 'anchor_unreachable',
      cause,
    });
  }
}

/** The good rows so far: constant in size. */
interface ChainState {
  /** The last good row, or null before the first. */
  head: LogHead | null;
  /** The number of rows that opened a new epoch: the directory was restored, and its log went on. */
  epochs: number;
}

/** Judges the next row, and adds it to the state when it is good. @returns the fault of the row, or null. */
function accept(chain: ChainState, row: AdminLogRow): BadRow | null {
  const { head } = chain;
  const expected = (head?.sequence ?? 0) + 1;
  if (row.sequence > expected) return { sequence: expected, reason: 'missing' };
  if (row.sequence < expected) return { sequence: row.sequence, reason: 'duplicated' };
  const fault = faultOf(row, head?.hash ?? GENESIS_HASH) ?? epochFault(row, head);
  if (fault) return { sequence: row.sequence, reason: fault };
  if (opensEpoch(row)) chain.epochs += 1;
  chain.head = { sequence: row.sequence, hash: row.hash };
  return null;
}

/** The row that says that the directory was restored. */
function opensEpoch({ action, outcome }: AdminLogRow): boolean {
  return action === 'directory.restore' && outcome === 'done';
}

/** The row names the head before the restore. That is the row before it, or rows were left out in between. */
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
  // The stored text must be the one that was hashed, to the byte: an added blank is a change, and so is the text null.
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
