/** Rewinds a unit to a commit of its history, and keeps the later commits in it. */
import type { Admission, Admit, Bookmark, Replacing } from '@freehold/store';
import { bookmarkOf } from '../history/bookmark.ts';
import { findCommit, type Target, wayTo } from '../history/commits.ts';
import { requireCopies, requireHistory, type UnitAccess } from '../unit-access.ts';
import { discard } from './copy-workers.ts';
import { prepareStaged } from './staged-unit.ts';
import { takePlace } from './take-place.ts';

export async function rewindUnit(
  unit: UnitAccess,
  target: Target,
  {
    admit,
    replacing,
  }: { readonly admit: Admit | Admission | undefined; readonly replacing: Replacing | undefined },
): Promise<Bookmark & { readonly undo: string }> {
  requireCopies(unit);
  const { files, parts, definition } = unit;
  const history = requireHistory(unit.open(), unit);
  await history.begin();
  const letGo = await unit.fileLocks.take();
  const staged = parts.workers.newPath();
  try {
    // The commits until now may be the target, and must be in the files.
    const opened = unit.open();
    opened.unit.drain();
    opened.history?.storeAll();
    const commit = findCommit(files.history, target);
    await parts.workers.materialise(wayTo(files.history, commit), staged);
    letGo();
    await prepareStaged({
      definition,
      key: files.key,
      path: staged,
      admit,
      nowMs: parts.now(),
      isForeign: false,
    });
    const undo = await takePlace(unit, staged, { reason: 'rewind', replacing });
    if (undo === null) throw new Error('a unit with a history was rewound without one');
    return { bookmark: bookmarkOf(commit), atMs: commit.atMs, undo };
  } finally {
    letGo();
    discard(staged);
  }
}
