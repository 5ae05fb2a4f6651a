/**
 * What a data directory holds after its process, or its machine, died: the bytes that a new process finds.
 *
 * A process that dies loses nothing that it had written. A machine that loses power may lose what was written and not
 * yet synchronised, sector by sector and in any order: here, the frames of the one commit that was under way (or, once
 * those were synchronised, the pages of the checkpoint that followed). What SQLite synchronised before is taken to be
 * safe: a disk that lies about that is no part of this model, and neither are lost directory entries and bit rot.
 */
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import type { Random } from '../random.ts';

/** What a disk writes at once, or not at all. */
const SECTOR = 512;

/** A database's files as they were before a commit. */
export interface FilesBefore {
  readonly path: string;
  readonly database: Buffer;
  readonly log: Buffer;
}

export function filesBefore(path: string): FilesBefore {
  return { path, database: read(path), log: read(`${path}-wal`) };
}

/**
 * Copies a data directory as a process leaves it behind. The shared memory of SQLite's log is rebuilt by whoever opens
 * it. What never changes once it is there need not be copied, which is most of what a long run gathers.
 */
export function copyDirectory(
  from: string,
  to: string,
  isFinal: (path: string) => boolean = () => false,
): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyDirectory(source, target, isFinal);
    else if (isFinal(source)) linkSync(source, target);
    else if (!source.endsWith('-shm')) copyFileSync(source, target);
  }
}

/**
 * Turns a copied directory into that of a machine which lost power during one commit: each sector that the commit
 * wrote is there or is not.
 */
export function tear(before: FilesBefore, directory: string, copy: string, random: Random): void {
  const path = join(copy, relative(directory, before.path));
  const after = { database: read(path), log: read(`${path}-wal`) };
  const hasCheckpointed = !after.database.equals(before.database);
  // The log was emptied into the file, and what it was before that is not known here: all of it happened, or nothing.
  if (hasCheckpointed && after.log.length === 0) {
    if (random.chance(0.5)) return;
    writeFileSync(path, before.database);
    writeFileSync(`${path}-wal`, before.log);
    return;
  }
  // A checkpoint begins when the log is safe. Until then, the database is as it was.
  if (hasCheckpointed && random.chance(0.5)) {
    writeFileSync(path, mixed(before.database, after.database, random));
    return;
  }
  writeFileSync(path, before.database);
  writeFileSync(`${path}-wal`, mixed(before.log, after.log, random));
}

/** A disk that lies about what is safe: everything of the commits since then is gone. For showing that this is found. */
export function forget(before: FilesBefore, directory: string, copy: string): void {
  const path = join(copy, relative(directory, before.path));
  writeFileSync(path, before.database);
  writeFileSync(`${path}-wal`, before.log);
}

function mixed(before: Buffer, after: Buffer, random: Random): Buffer {
  // Sometimes all of it, sometimes nothing of it, sometimes the beginning: the cases that are likely, made likelier.
  const kept = random.pick([0, 0.5, 0.9, 1]);
  const length = random.chance(0.5) ? after.length : before.length;
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += SECTOR) {
    const source = random.chance(kept) ? after : before;
    if (at < source.length) source.copy(bytes, at, at, Math.min(at + SECTOR, source.length, length));
  }
  return bytes;
}

function read(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}
