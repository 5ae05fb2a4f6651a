/**
 * Makes the data directory that a new process finds after its predecessor, or the machine, died.
 * A dead process loses nothing that it had written. A power failure may lose unsynchronised sectors in any order:
 * here, frames of the running commit, or, once those are synchronised, pages of the checkpoint after it. Synchronised
 * data is safe in this model; lying disks, lost directory entries and bit rot are no part of it.
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
import type { Random } from '../lib/random.ts';

/** The unit that a disk writes as a whole. */
const SECTOR = 512;

/** A database's files before a commit. */
export interface FilesBefore {
  readonly path: string;
  readonly database: Buffer;
  readonly log: Buffer;
}

export function filesBefore(path: string): FilesBefore {
  return { path, database: read(path), log: read(`${path}-wal`) };
}

/**
 * Copies a data directory as a process leaves it behind. SQLite rebuilds the shared memory of its log. Immutable
 * files, most of a long run, are linked instead.
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
 * Turns a copied directory into that of a machine which lost power during one commit: each sector of the commit is
 * present or absent at random.
 */
export function tear(before: FilesBefore, directory: string, copy: string, random: Random): void {
  const path = join(copy, relative(directory, before.path));
  const after = { database: read(path), log: read(`${path}-wal`) };
  const hasCheckpointed = !after.database.equals(before.database);
  // The log was checkpointed and its former content is unknown here: the commit is whole or absent.
  if (hasCheckpointed && after.log.length === 0) {
    if (random.chance(0.5)) return;
    writeFileSync(path, before.database);
    writeFileSync(`${path}-wal`, before.log);
    return;
  }
  // A checkpoint begins when the log is safe. Until then the database file is unchanged.
  if (hasCheckpointed && random.chance(0.5)) {
    writeFileSync(path, mixed(before.database, after.database, random));
    return;
  }
  writeFileSync(path, before.database);
  writeFileSync(`${path}-wal`, mixed(before.log, after.log, random));
}

/** Simulates a disk that lies about synchronisation: everything since the given files is gone. */
export function forget(before: FilesBefore, directory: string, copy: string): void {
  const path = join(copy, relative(directory, before.path));
  writeFileSync(path, before.database);
  writeFileSync(`${path}-wal`, before.log);
}

function mixed(before: Buffer, after: Buffer, random: Random): Buffer {
  // The likely cases made likelier: all sectors, none, only the first ones.
  const share = random.pick([0, 0.5, 0.9, 1]);
  const length = random.chance(0.5) ? after.length : before.length;
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += SECTOR) {
    const source = random.chance(share) ? after : before;
    if (at < source.length) source.copy(bytes, at, at, Math.min(at + SECTOR, source.length, length));
  }
  return bytes;
}

function read(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}
