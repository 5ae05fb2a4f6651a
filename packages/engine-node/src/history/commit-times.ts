/**
 * When the commits were made that are in the log and not in a segment yet. The file is appended to a few times a second
 * and never synchronised: after a kill the times of the last moments are missing, and are estimated.
 */
import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A commit's last frame, and when it was made. */
export interface CommitTime {
  readonly frame: number;
  readonly atMs: number;
}

export interface KnownTimes {
  /** Of the log with this salt, in order. */
  of(salt: string): readonly CommitTime[];
  /** What the database file was like when it was closed; null when it was not closed in order. */
  readonly closed: string | null;
}

const CLOSED = 'closed';

/** Reads the file; without it, nothing is known. A line that was cut off is no line. */
export function readCommitTimes(history: string): KnownTimes {
  const times = new Map<string, CommitTime[]>();
  let closed: string | null = null;
  for (const line of linesOf(timesPath(history))) {
    const [salt = '', frame, atMs] = line.split(' ');
    if (salt === CLOSED) closed = line;
    else {
      const known = times.get(salt) ?? [];
      known.push({ frame: Number(frame), atMs: Number(atMs) });
      times.set(salt, known);
    }
  }
  return { of: (salt) => times.get(salt) ?? [], closed };
}

export function appendCommitTimes(history: string, salt: string, times: readonly CommitTime[]): void {
  appendFileSync(timesPath(history), times.map(({ frame, atMs }) => `${salt} ${frame} ${atMs}\n`).join(''));
}

/** Forgets the times: everything in the log is in a segment. */
export function dropCommitTimes(history: string): void {
  rmSync(timesPath(history), { force: true });
}

/** Notes what the closed database file is like, so that the next opening sees whether somebody else wrote to it. */
export function noteClosed(history: string, database: string): void {
  writeFileSync(timesPath(history), `${closedLine(database)}\n`);
}

/** The line that {@link noteClosed} would write. */
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
    // Times are a convenience: whatever is wrong with the file, the commits themselves are in the log.
    return [];
  }
}
