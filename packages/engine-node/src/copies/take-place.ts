/** Replaces a unit's state by a staged one, in line with the unit's calls. */

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import type { Replacing } from '@freehold/store';
import { syncDirectory } from '../durable-file.ts';
import type { CompressedCopy } from '../history/base-writer.ts';
import { bookmarkOf } from '../history/bookmark.ts';
import { keepsHistory, type UnitAccess } from '../unit-access.ts';
import { discard } from './copy-workers.ts';

export interface Placing {
  readonly reason: 'restore' | 'rewind';
  readonly replacing: Replacing | undefined;
}

/**
 * Swaps the state in. Calls that were made before see the old state, those after it the new one.
 * @param path a database file, checked, closed and synchronised; it is gone afterwards.
 * @returns the bookmark of the state before; null without history.
 */
export async function takePlace(
  unit: UnitAccess,
  path: string,
  { reason, replacing = (swap) => swap() }: Placing,
): Promise<string | null> {
  const { parts, fileLocks } = unit;
  let copy: CompressedCopy | null = null;
  try {
    const { history } = unit.open();
    await history?.begin();
    if (history) copy = await parts.workers.compress(path);
    return await replacing(() => fileLocks.runExclusive(() => swapIn(unit, { path, copy }, reason)));
  } finally {
    discard(path);
    if (copy) discard(copy.path);
  }
}

function swapIn(
  unit: UnitAccess,
  { path, copy }: { readonly path: string; readonly copy: CompressedCopy | null },
  reason: 'restore' | 'rewind',
): string | null {
  const { parts, files } = unit;
  const opened = unit.open();
  opened.unit.drain();
  const before = opened.history?.storeAll() ?? null;
  unit.close();
  requireClosed(unit);
  if (!before || !copy) {
    parts.swaps.replace(files, { path, base: null });
    return null;
  }
  const atMs = Math.max(parts.now(), before.commit.atMs);
  const check = Buffer.from(parts.random(8)).toString('hex');
  const commit = { seq: before.commit.seq + 1, check, atMs };
  parts.swaps.replace(files, {
    path,
    base: { copy, description: { commit, reason, afterPart: before.part } },
  });
  parts.onChange(files);
  return keepsHistory(unit) ? bookmarkOf(before.commit) : null;
}

/** A remaining log holds commits that are nowhere else, and would be applied to the next database. */
export function requireClosed({ files }: UnitAccess): void {
  if (existsSync(files.wal))
    throw new PlatformError(
      'unavailable',
      'The unit could not be closed in order, so it was left as it is.',
      {
        reason: 'busy',
      },
    );
  syncDirectory(dirname(files.database));
}
