/** Lists the commits to which a unit can be rewound, page by page. */
import { foreignCursor } from '@freehold/contracts';
import type { Bookmark, BookmarkPage, UnitTools } from '@freehold/store';
import { bookmarkOf, type Commit, seqOfBookmark } from '../history/bookmark.ts';
import { commitsNewestFirst, earliestCommit } from '../history/commits.ts';
import { requireCopies, requireHistory, type UnitAccess } from '../units/unit-access.ts';

type BookmarkQuery = Parameters<UnitTools['bookmarks']>[0];

export async function listBookmarks(
  unit: UnitAccess,
  { atMs = Number.POSITIVE_INFINITY, limit, cursor }: BookmarkQuery,
): Promise<BookmarkPage> {
  requireCopies(unit);
  await requireHistory(unit.open(), unit).begin();
  const opened = unit.open();
  opened.unit.drain();
  const before = cursor === undefined ? Number.POSITIVE_INFINITY : requireCursor(cursor);
  const { commit: current, log } = requireHistory(opened, unit).mark();
  const items: Commit[] = [];
  const inFiles = commitsNewestFirst(unit.files.history, (fault) => {
    const { kind, key } = unit.files;
    unit.parts.onIncident(fault, { kind, key, method: 'bookmarks' });
  });
  for (const commit of newestFirst(log?.commits ?? [], inFiles)) {
    if (commit.seq >= before || commit.atMs > atMs) continue;
    items.push(commit);
    // One more than requested shows whether there is a next page.
    if (items.length > limit) break;
  }
  const earliest = earliestCommit(unit.files.history);
  const page = items.slice(0, limit).map(asBookmark);
  return {
    items: page,
    nextCursor: items.length > limit ? (page.at(-1)?.bookmark ?? null) : null,
    current: asBookmark(current),
    earliest: earliest && asBookmark(earliest),
  };
}

/** Yields the commits of the log, then those in segments. */
function* newestFirst(inLog: readonly Commit[], inFiles: Iterable<Commit>): Generator<Commit> {
  yield* inLog.toReversed();
  yield* inFiles;
}

function asBookmark(commit: Commit): Bookmark {
  return { bookmark: bookmarkOf(commit), atMs: commit.atMs };
}

function requireCursor(cursor: string): number {
  const seq = seqOfBookmark(cursor);
  if (seq === null) throw foreignCursor();
  return seq;
}
