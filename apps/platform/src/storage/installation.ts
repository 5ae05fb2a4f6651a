/**
 * Whether a data directory is a new one, or has lost its directory database, which would otherwise be made anew over the
 * data that it knows; and `npm start -- begin-anew`, which puts such a directory's contents aside.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Archive } from '@freehold/engine-node';
import { lockDataDirectory, requireFinished, unitsIn } from '@freehold/engine-node';
import { nameOfArchive, openArchive } from '../settings/archive-settings.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';
import { writePrivately } from './secrets.ts';

export const BEGIN_ANEW_USAGE = 'npm start -- begin-anew';

/** Made once the directory database exists. */
const MARKER = 'installation';
/** Units that a start makes before the directory, and one that is made anew: none shows that there was a directory. */
const EARLIER_KINDS = new Set(['platform', 'rest', 'directory']);
/** Objects that only an archive of an installation has. */
const DIRECTORY_OBJECTS = 'units/directory/';

const directoryDatabase = (dataDirectory: string): string => join(dataDirectory, 'directory', 'main.sqlite');

/** Whether the data directory has a directory database, and so an admin log. */
export function hasDirectoryDatabase(dataDirectory: string): boolean {
  return isThere(directoryDatabase(dataDirectory));
}

/** Notes that the data directory is not new any more. */
export function noteInstallation(dataDirectory: string): void {
  const path = join(dataDirectory, MARKER);
  if (!existsSync(path)) writePrivately(path, `since ${new Date().toISOString()}\n`);
}

/**
 * @throws SettingsError for a directory of an installation whose directory database is gone; PlatformError, reason
 * `data_directory_unfinished`, for one whose restore was interrupted. Nothing was changed.
 */
export function requireDirectoryDatabase(dataDirectory: string): void {
  requireFinished(dataDirectory);
  if (isThere(directoryDatabase(dataDirectory)) || !wasInstalled(dataDirectory)) return;
  throw lost(
    `The directory database ${directoryDatabase(dataDirectory)} is gone or empty, and other data of the installation is there.`,
  );
}

/** @throws SettingsError for an archive that knows a directory database which the data directory has lost. */
export async function requireNoArchivedDirectory(archive: Archive, dataDirectory: string): Promise<void> {
  if (isThere(directoryDatabase(dataDirectory))) return;
  for await (const _object of archive.list(DIRECTORY_OBJECTS))
    throw lost(
      `The directory database ${directoryDatabase(dataDirectory)} is gone or empty, and the archive has a copy.`,
    );
}

function lost(what: string): SettingsError {
  return new SettingsError(
    `${what} Nothing was changed. Put the file back; or restore everything from the archive into an empty directory (npm start -- restore); or put all of it aside and begin anew (${BEGIN_ANEW_USAGE}).`,
  );
}

function wasInstalled(dataDirectory: string): boolean {
  const has = (...path: string[]): boolean => existsSync(join(dataDirectory, ...path));
  if (has(MARKER) || has('service-token') || has('directory', 'main.history')) return true;
  if (!existsSync(dataDirectory)) return false;
  return unitsIn(dataDirectory).some(({ kind }) => !EARLIER_KINDS.has(kind));
}

/** A database without bytes holds nothing, and SQLite would fill it. */
function isThere(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Moves everything in the data directory into a directory within it, so that the next start is a first one. Nothing is
 * deleted, and no archive is touched. Returns the lines to show the operator.
 * @throws SettingsError when the archive of the settings is not empty; PlatformError when the directory is in use.
 */
export async function beginAnew(
  args: readonly string[],
  { archive, anchor, dataDirectory }: Pick<Settings, 'archive' | 'anchor' | 'dataDirectory'>,
  now = Date.now,
): Promise<readonly string[]> {
  if (args.length > 0) throw new SettingsError(`This cannot be done so. Usage: ${BEGIN_ANEW_USAGE}`);
  if (!existsSync(dataDirectory))
    throw new SettingsError(`There is no data directory ${dataDirectory}: a start makes it.`);
  if (archive !== null)
    for await (const _object of openArchive(archive).list(''))
      throw new SettingsError(
        `The archive ${nameOfArchive(archive)} is not empty, and a new installation may not replace it. Name an empty place for the archive, and repeat this.`,
      );
  const unlock = lockDataDirectory(dataDirectory);
  const aside = join(dataDirectory, `${ASIDE}${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`);
  try {
    mkdirSync(aside, { mode: 0o700 });
    for (const name of readdirSync(dataDirectory))
      if (!name.startsWith(ASIDE) && !name.startsWith('lock.sqlite'))
        renameSync(join(dataDirectory, name), join(aside, name));
  } finally {
    unlock();
  }
  rmSync(join(dataDirectory, 'lock.sqlite'), { force: true });
  return [
    `Everything in ${dataDirectory} was put aside into ${aside}. The next start makes a new installation.`,
    ...(anchor !== null && 'file' in anchor && existsSync(anchor.file)
      ? [`Before it, move ${anchor.file} away: it witnesses the admin log of the old one.`]
      : []),
  ];
}

const ASIDE = 'put-aside-';
