/** The commits of a unit's history, and the way to each: a base and the parts after it. */
import { PlatformError } from '@freehold/contracts';
import { damagedHistory, Fault, missingHistory } from '../lib/fault.ts';
import { bookmarkOf, type Commit, seqOfBookmark } from './bookmark.ts';
import { type Base, type BaseFile, listHistory, readBase, type SegmentFile } from './history-directory.ts';
import { commitsOf, readPartHeaders, type StoredPart, seqIn, walHeaderOf } from './part.ts';

/** The steps by which a commit's state is rebuilt. */
export interface Way {
  readonly commit: Commit;
  readonly base: BaseFile & { readonly described: Base };
  /** In order. Of the last one only the frames up to `lastFrame` count. */
  readonly parts: readonly (StoredPart & { readonly lastFrame: number })[];
}

export type Target = { readonly bookmark: string } | { readonly atMs: number };

/**
 * Yields every commit in the files, newest first, reading only as far as needed.
 * @param onDamage called for a file that cannot be read, in its place; its commits are skipped.
 */
export function* commitsNewestFirst(history: string, onDamage: (fault: Fault) => void): Generator<Commit> {
  const { bases, segments } = listHistory(history);
  const [earliest] = bases;
  if (!earliest) return;
  const statesOfTheirOwn = [...bases];
  /** Yields the bases that are commits by themselves, down to the commit with this number. */
  const takeBases = function* (seq: number): Generator<Commit> {
    for (let base = statesOfTheirOwn.at(-1); base && base.seq >= seq; base = statesOfTheirOwn.at(-1)) {
      statesOfTheirOwn.pop();
      if (base.seq > seq) yield* readable(base, readBaseCommits, onDamage);
    }
  };
  for (const segment of segments.toReversed()) {
    if (segment.lastSeq < earliest.seq) break;
    for (const commit of readable(segment, readSegmentCommits, onDamage)) {
      if (commit.seq <= earliest.seq) continue;
      yield* takeBases(commit.seq);
      yield commit;
    }
  }
  yield* takeBases(0);
}

function readBaseCommits(file: BaseFile): Commit[] {
  return [readBase(file).commit];
}

function readSegmentCommits({ path }: SegmentFile): Commit[] {
  return readPartHeaders(path)
    .flatMap(({ header }) => commitsOf(header))
    .reverse();
}

function readable<File>(
  file: File,
  read: (file: File) => Commit[],
  onDamage: (fault: Fault) => void,
): Commit[] {
  try {
    return read(file);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    onDamage(error);
    return [];
  }
}

/** Returns the oldest commit that can be reached; null when there is no history. */
export function earliestCommit(history: string): Commit | null {
  const [earliest] = listHistory(history).bases;
  return earliest ? readBase(earliest).commit : null;
}

/**
 * Finds a commit among those in the files.
 * @throws PlatformError `not_found`, reason `unknown_bookmark`; Fault `history_damaged` when it may be in a file that
 * cannot be read.
 */
export function findCommit(history: string, target: Target): Commit {
  const seq = 'bookmark' in target ? seqOfBookmark(target.bookmark) : null;
  let damage: Fault | null = null;
  const commits = commitsNewestFirst(history, (fault) => {
    damage = fault;
  });
  for (const commit of commits) {
    const isBefore = 'atMs' in target ? commit.atMs <= target.atMs : seq === null || commit.seq < seq;
    if (isBefore && damage) break;
    if ('atMs' in target ? isBefore : bookmarkOf(commit) === target.bookmark) return commit;
    if (isBefore) break;
    // An older commit is not in a file that is newer than this one.
    damage = null;
  }
  if (damage) throw damage;
  throw new PlatformError('not_found', 'There is no such point in the history that is kept.', {
    reason: 'unknown_bookmark',
  });
}

/**
 * Returns the way to a commit of {@link findCommit}; each step has been checked against the one before.
 * @throws Fault `history_damaged`, naming the damaged or missing file.
 */
export function wayTo(history: string, commit: Commit): Way {
  const { bases, segments } = listHistory(history);
  const file = bases.findLast(({ seq }) => seq <= commit.seq);
  if (!file) throw missingHistory('there is no base before this commit');
  const described = readBase(file);
  const parts: (StoredPart & { readonly lastFrame: number })[] = [];
  const walk = makeWalk(described);
  for (const segment of segments) {
    if (walk.at.seq >= commit.seq) break;
    if (segment.lastPart <= described.afterPart) continue;
    for (const part of readPartHeaders(segment.path)) {
      if (part.header.n <= described.afterPart || walk.at.seq >= commit.seq) continue;
      walk.step(part);
      const position = part.header.commits.findIndex((_, index) => seqIn(part.header, index) === commit.seq);
      parts.push({ ...part, lastFrame: part.header.commits[position]?.[0] ?? part.header.last });
    }
  }
  const reached =
    walk.at.seq === commit.seq ? walk.at : commitsOf(lastHeader(parts)).find(({ seq }) => seq === commit.seq);
  if (reached?.check !== commit.check)
    throw missingHistory('what follows the base does not lead to this commit');
  return { commit, base: { ...file, described }, parts };
}

/** The position of a walk within a log. */
export interface WalkedLog {
  readonly salt: string;
  readonly last: number;
  /** Whether it ends with a commit here. */
  readonly isWhole: boolean;
}

export type Walk = ReturnType<typeof makeWalk>;

/** Walks from part to part, and requires that each continues the one before. */
export function makeWalk(base: Pick<Base, 'commit' | 'afterPart'>) {
  let at: Commit = base.commit;
  let n = base.afterPart;
  let log: WalkedLog | null = null;

  const step = ({ header, path }: Pick<StoredPart, 'header' | 'path'>): void => {
    if (header.n !== n + 1) throw missingHistory(`part ${n + 1} is missing before ${header.n}`);
    const { salt } = walHeaderOf(header, path);
    if (log && log.salt === salt) {
      if (header.first !== log.last + 1 || header.after.seq + header.before !== at.seq)
        throw damagedHistory(path, 'its frames do not follow those before');
    } else {
      if (log && !log.isWhole)
        throw missingHistory(`the end of a transaction is missing before part ${header.n}`);
      if (header.first !== 1 || header.after.seq !== at.seq || header.after.check !== at.check)
        throw damagedHistory(path, 'it does not follow the commit before');
    }
    at = commitsOf(header).at(-1) ?? at;
    n = header.n;
    log = { salt, last: header.last, isWhole: header.last === header.commits.at(-1)?.[0] };
  };

  return {
    step,
    /** The last commit so far. */
    get at() {
      return at;
    },
    /** The number of the last part so far. */
    get part() {
      return n;
    },
    /** The log that the last part is of. */
    get log() {
      return log;
    },
  };
}

function lastHeader(parts: readonly StoredPart[]) {
  const last = parts.at(-1);
  if (!last) throw missingHistory('nothing follows the base');
  return last.header;
}
