/** Determines the state of a unit's history when its database is opened, from its newest files alone. */
import { rmSync } from 'node:fs';
import { Fault } from '../lib/fault.ts';
import type { UnitFiles } from '../lib/unit-files.ts';
import type { Commit } from './bookmark.ts';
import { closedLine, type KnownTimes, readCommitTimes } from './commit-times.ts';
import { listHistory, readBase, type SegmentFile } from './history-directory.ts';
import { commitsOf, type PartHeader, readPartHeaders, walHeaderOf } from './part.ts';

/** The position after which the next part is written. */
export interface LoadedHistory {
  /** The last commit in the files; null where history has not begun, or cannot be continued. */
  readonly last: Commit | null;
  /** The number of the last commit that ever existed, so that no number is given twice. */
  readonly seqMax: number;
  /** The number of the last part. */
  readonly part: number;
  /** The newest segment; a short part is appended to it rather than made a file of its own. */
  readonly segment: SegmentFile | null;
  /** The newest part, when nothing comes after it: the log may continue at its end. */
  readonly lastPart: { readonly header: PartHeader; readonly salt: string } | null;
  readonly times: KnownTimes;
  /** The reason why an existing history cannot be continued; null otherwise. */
  readonly broken: Fault | null;
}

/**
 * Loads it. Called before the database is opened, which may change its file. An unreadable history is not continued,
 * and stays as it is: the unit itself works all the same.
 * @param isLost true when the database was lost and another takes its place: then its file says nothing.
 */
export function loadHistory({ history, database }: UnitFiles, isLost = false): LoadedHistory {
  const { bases, segments, leftovers } = listHistory(history);
  for (const path of leftovers) rmSync(path, { force: true });
  const times = readCommitTimes(history);
  const segment = segments.at(-1) ?? null;
  const base = bases.at(-1);
  const none = {
    last: null,
    seqMax: Math.max(base?.seq ?? 0, segment?.lastSeq ?? 0),
    part: segment?.lastPart ?? 0,
    segment,
    lastPart: null,
    times,
    broken: null,
  };
  if (!base) return none;
  try {
    if (!isLost && times.closed !== null && times.closed !== closedLine(database)) throw changedElsewhere();
    const described = readBase(base);
    const newest =
      segment && described.afterPart < segment.lastPart ? readPartHeaders(segment.path).at(-1) : null;
    if (!newest) return { ...none, part: Math.max(none.part, described.afterPart), last: described.commit };
    const { header, path } = newest;
    const last = commitsOf(header).at(-1) ?? lastBefore(header, described.commit);
    return { ...none, last, lastPart: { header, salt: walHeaderOf(header, path).salt } };
  } catch (error) {
    return { ...none, broken: error instanceof Fault ? error : unreadable(error) };
  }
}

/** A part without a commit is the middle of a large transaction; only the commit before it is known. */
function lastBefore({ after, before }: PartHeader, base: Commit): Commit {
  return { ...base, seq: after.seq + before, check: after.check };
}

function changedElsewhere(): Fault {
  return new Fault(
    'history_damaged',
    'The database was changed while the platform did not run. Its history begins anew; the earlier history stays.',
  );
}

function unreadable(cause: unknown): Fault {
  return new Fault(
    'history_damaged',
    'The history cannot be read. It begins anew; the existing files stay.',
    cause,
  );
}
