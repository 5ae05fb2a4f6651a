/** The write-ahead log that a unit is writing: its commits, and its frames as parts. */
import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Commit } from './bookmark.ts';
import type { CommitTime } from './commit-times.ts';
import type { PartDescription } from './part.ts';
import {
  commitFrames,
  frameBytes,
  frameOffset,
  parseWalHeader,
  WAL_HEADER_BYTES,
  type WalHeader,
} from './wal.ts';

/** The size of a log that is read, compressed and stored at once; it bounds the memory. */
const PART_BYTES_MAX = 8 * 1024 * 1024;

/** A commit in the log, with the frame that ends it. */
export interface LoggedCommit extends Commit {
  readonly frame: number;
}

/** The facts about a log at its first use. */
export interface LogStart {
  readonly path: string;
  readonly header: WalHeader;
  /** The commit before it. */
  readonly after: Commit;
  /** The position up to which it is in segments, in frames and in commits: more than 0 after a crash. */
  readonly archived: { readonly frame: number; readonly commits: number; readonly last: Commit };
}

export interface LiveLog {
  readonly header: WalHeader;
  readonly after: Commit;
  /** The last frame that is durable in a segment. */
  readonly archivedFrame: number;
  /** The parsed commits that are not in a segment. */
  readonly commits: readonly LoggedCommit[];
  /** The last parsed commit, in a segment or not. */
  readonly last: Commit;
  /** Sets the times of commits, before they are parsed. */
  learnTimes(times: readonly CommitTime[]): void;
  catchUp(to: number): void;
  /** Parses the commits among frames that were read: everything before them must have been parsed. */
  absorb(frames: Uint8Array, first: number): void;
  /** Returns the last frame of the part that begins at `first`, when the log ends at `to`. */
  endOfPart(first: number, to: number): number;
  /** Reads frames into a buffer that is reused after `work`. */
  withFrames<T>(first: number, last: number, work: (frames: Uint8Array) => Promise<T>): Promise<T>;
  withFramesSync<T>(first: number, last: number, work: (frames: Uint8Array) => T): T;
  /** Returns the description of a part of these frames. They must have been parsed. */
  describe(first: number, last: number): Omit<PartDescription, 'n'>;
  /** Records that everything up to this frame is in segments. */
  setArchived(frame: number): void;
}

/**
 * @param fallbackMs returns the time of a commit with an unknown one: after a crash, and for writes outside of the
 * engine's transactions.
 */
export function makeLiveLog(start: LogStart, fallbackMs: () => number): LiveLog {
  const { path, header, after } = start;
  const { pageSize } = header;
  let archivedFrame = start.archived.frame;
  let archivedCommits = start.archived.commits;
  let lastArchived = start.archived.last;
  let parsed = archivedFrame;
  let commits: LoggedCommit[] = [];
  const times = new Map<number, number>();

  const lastCommit = (): Commit => commits.at(-1) ?? lastArchived;

  const absorb = (frames: Uint8Array, first: number): void => {
    for (const { frame, check } of commitFrames(frames, first, pageSize)) {
      if (frame <= parsed) continue;
      const before = lastCommit();
      // A clock that goes back must not make a later commit look earlier.
      const atMs = Math.max(before.atMs, times.get(frame) ?? fallbackMs());
      times.delete(frame);
      commits.push({ seq: before.seq + 1, check, atMs, frame });
    }
    parsed = Math.max(parsed, first - 1 + frames.length / frameBytes(pageSize));
  };

  const endOfPart = (first: number, to: number): number =>
    Math.min(to, first - 1 + Math.max(1, Math.floor(PART_BYTES_MAX / frameBytes(pageSize))));

  const spanOf = (first: number, last: number): { readonly at: number; readonly bytes: number } => {
    const at = frameOffset(first, pageSize);
    return { at, bytes: frameOffset(last + 1, pageSize) - at };
  };

  const withFramesSync = <T>(first: number, last: number, work: (frames: Uint8Array) => T): T => {
    const { at, bytes } = spanOf(first, last);
    const frames = borrowBuffer(bytes);
    try {
      const file = openSync(path, 'r');
      try {
        requireWhole(readSync(file, frames, 0, bytes, at), bytes);
      } finally {
        closeSync(file);
      }
      if (first <= parsed + 1) absorb(frames, first);
      return work(frames);
    } finally {
      giveBack(frames);
    }
  };

  const withFrames = async <T>(
    first: number,
    last: number,
    work: (frames: Uint8Array) => Promise<T>,
  ): Promise<T> => {
    const { at, bytes } = spanOf(first, last);
    const frames = borrowBuffer(bytes);
    try {
      const file = await open(path, 'r');
      try {
        requireWhole((await file.read(frames, 0, bytes, at)).bytesRead, bytes);
      } finally {
        await file.close();
      }
      return await work(frames);
    } finally {
      giveBack(frames);
    }
  };

  return {
    header,
    after,
    get archivedFrame() {
      return archivedFrame;
    },
    get commits() {
      return commits;
    },
    get last() {
      return lastCommit();
    },
    learnTimes: (known) => {
      for (const { frame, atMs } of known) if (frame > parsed) times.set(frame, atMs);
    },
    catchUp: (to) => {
      while (parsed < to) {
        const first = parsed + 1;
        withFramesSync(first, endOfPart(first, to), () => undefined);
      }
    },
    absorb,
    endOfPart,
    withFrames,
    withFramesSync,
    describe: (first, last) => {
      const inPart = commits.filter(({ frame }) => frame >= first && frame <= last);
      const before = commits.filter(({ frame }) => frame < first).length;
      return {
        wal: Buffer.from(header.bytes).toString('hex'),
        first,
        last,
        after: { seq: after.seq, check: after.check },
        before: archivedCommits + before,
        commits: inPart.map(({ frame, check, atMs }) => [frame, check, atMs]),
        rawBytes: (last - first + 1) * frameBytes(pageSize),
      };
    },
    setArchived: (frame) => {
      const stored = commits.filter((commit) => commit.frame <= frame);
      commits = commits.slice(stored.length);
      lastArchived = stored.at(-1) ?? lastArchived;
      archivedCommits += stored.length;
      archivedFrame = frame;
    },
  };
}

/** Returns the header of the log at a path; null when there is no log, or an empty one. */
export function readLogHeader(path: string): WalHeader | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(WAL_HEADER_BYTES);
    return parseWalHeader(bytes.subarray(0, readSync(file, bytes, 0, WAL_HEADER_BYTES, 0)));
  } finally {
    closeSync(file);
  }
}

function requireWhole(read: number, bytes: number): void {
  if (read !== bytes) throw new Error('the write-ahead log is shorter than SQLite says');
}

let idle: Buffer | null = null;

/** The largest buffer that is kept between two uses. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

/** Returns so many bytes with any contents. The caller returns them after use. */
function borrowBuffer(bytes: number): Buffer {
  const buffer = idle && idle.length >= bytes ? idle : Buffer.allocUnsafeSlow(Math.max(bytes, 1));
  if (buffer === idle) idle = null;
  return buffer.subarray(0, bytes);
}

function giveBack(buffer: Buffer): void {
  const whole = Buffer.from(buffer.buffer);
  if (whole.length <= KEPT_BYTES_MAX && whole.length > (idle?.length ?? 0)) idle = whole;
}
