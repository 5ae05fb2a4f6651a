/**
 * The times of commits that are in the log and not yet in a segment. The file is appended a few times a second and
 * never synchronised: after a kill the times of the last moments are missing, and are estimated.
 */
import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface CommitTime {
  readonly frame: number;
  readonly atMs: number;
}

export interface KnownTimes {
  /** Returns the times of the log with this salt, in order. */
  of(salt: string): readonly CommitTime[];
  /** The note of the closed database file; null when it was not closed in order. */
  readonly closed: string | null;
  /** Whether nothing is noted after the closing. */
  readonly endsClosed: boolean;
}

const CLOSED = 'closed';

/** Reads the file; returns nothing known without it. A truncated line is ignored. */
export function readCommitTimes(history: string): KnownTimes {
  const times = new Map<string, CommitTime[]>();
  let closed: string | null = null;
  let endsClosed = false;
  for (const line of linesOf(timesPath(history))) {
    const [salt = '', frame, atMs] = line.split(' ');
    endsClosed = salt === CLOSED;
    if (endsClosed) closed = line;
    else {
      const known = times.get(salt) ?? [];
      known.push({ frame: Number(frame), atMs: Number(atMs) });
      times.set(salt, known);
    }
  }
  return { of: (salt) => times.get(salt) ?? [], closed, endsClosed };
}

export function appendCommitTimes(history: string, salt: string, times: readonly CommitTime[]): void {
  appendFileSync(timesPath(history), times.map(({ frame, atMs }) => `${salt} ${frame} ${atMs}\n`).join(''), {
    mode: 0o600,
  });
}

/** Deletes the times: everything in the log is in a segment. */
export function dropCommitTimes(history: string): void {
  rmSync(timesPath(history), { force: true });
}

/**
 * Notes size and time of the closed database file, so that the next opening sees whether another process wrote to it.
 */
export function noteClosed(history: string, database: string): void {
  writeFileSync(timesPath(history), `${closedLine(database)}\n`, { mode: 0o600 });
}

/** Returns the line of {@link noteClosed}. */
export function closedLine(database: string): string {
  const { size, mtimeNs } = statSync(database, { bigint: true });
  return `${CLOSED} ${size} ${mtimeNs}`;
}

function timesPath(history: string): string {
  return join(history, 'times');
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(0, -1);
  } catch {
    // Times are a convenience: with a broken file, the commits themselves are still in the log.
    return [];
  }
}
