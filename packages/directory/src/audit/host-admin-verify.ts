/** Verifies the admin log: walks the chain in slices, then compares it with what is kept outside. */

import { PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { adminOperation } from '../declarations/admin-operation.ts';
import { tag } from '../declarations/logs.ts';
import type { AdminLogVerification, BadRow, LogHead } from '../declarations/records.ts';
import { adminLogVerification } from '../declarations/records.ts';
import type { DirectoryMethods } from '../unit.ts';
import { makeChainVerifier } from './chain-verifier.ts';
import type { LogAnchor } from './host-admin-anchor.ts';

export const adminLogVerify = adminOperation({
  name: 'admin-log.verify',
  summary: 'Recompute the chain of the admin log',
  description:
    'Names the first row that does not fit. Without a head that is kept outside, the best answer is unanchored.',
  tag,
  method: 'GET',
  path: '/admin-log/verify',
  input: {},
  output: adminLogVerification,
  success: 200,
  builder: 'none',
  audit: 'none',
  problems: ['unavailable'],
});

/** How many rows are held at a time: some hundred kilobytes. */
const SLICE_ROWS = 500;

export interface VerifyDeps {
  readonly anchor: LogAnchor | undefined;
  readonly directory: Pick<UnitStub<DirectoryMethods>, 'logHead' | 'unsettledIntents' | 'logSlice'>;
}

/**
 * Recomputes the whole chain. Rows that are written meanwhile are left to the next verification.
 * @throws PlatformError `unavailable`, reason `anchor_unreachable`: what is kept outside decides, so that a
 * verification without it would be worth less than it says.
 */
export async function verifyAdminLog({ anchor, directory }: VerifyDeps): Promise<AdminLogVerification> {
  // The anchor is read before the head: it never runs ahead of the log, so an older look at it is always covered.
  const anchored = anchor ? await readAnchor(anchor) : null;
  const end = await directory.logHead();
  const unsettled = await directory.unsettledIntents();
  const verifier = makeChainVerifier();

  const answer = (firstBad: BadRow | null): AdminLogVerification => ({
    status: firstBad ? 'broken' : anchored ? 'ok' : 'unanchored',
    rows: verifier.head?.sequence ?? 0,
    epochs: verifier.epochs,
    unsettled,
    head: end,
    anchor: anchored,
    firstBad,
  });

  while ((verifier.head?.sequence ?? 0) < (end?.sequence ?? 0)) {
    const last = verifier.head;
    // Each slice begins with the last row of the one before, so that a copy of it cannot hide in the seam.
    const rows = await directory.logSlice({ from: last?.sequence ?? 0, limit: SLICE_ROWS + 1 });
    const fresh = last && rows[0]?.sequence === last.sequence ? rows.slice(1) : rows;
    for (const row of fresh) {
      const bad = verifier.accept(row);
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
