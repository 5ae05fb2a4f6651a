/**
 * A look at the places outside of the data directory that are written now and then: an operator should hear at the start
 * that they cannot be, and not on the day on which something was to be there.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Settings } from '../settings/settings.ts';

/** What there is to say, a sentence each. Nothing is made or written. */
export function warningsOfPlaces({
  anchor,
  backupsDirectory,
}: Pick<Settings, 'anchor' | 'backupsDirectory'>): readonly string[] {
  return [
    ...(anchor !== null && 'file' in anchor ? anchorWarnings(anchor.file) : []),
    ...(backupsDirectory !== undefined && !isWritable(nearest(backupsDirectory))
      ? [`FREEHOLD_BACKUPS: nothing can be backed up: ${backupsDirectory} cannot be written.`]
      : []),
  ];
}

/** The directory of the witness is not made by us: where it is not there, the other disk most likely is not either. */
function anchorWarnings(file: string): readonly string[] {
  const directory = dirname(file);
  const isThere = isDirectory(directory);
  const why = !isThere
    ? `there is no directory ${directory}; make it, or mount its disk`
    : isDirectory(file)
      ? `${file} is a directory; name a file in it`
      : !isWritable(directory)
        ? `${directory} cannot be written`
        : null;
  return why === null ? [] : [`FREEHOLD_ANCHOR_FILE: nothing witnesses the admin log: ${why}.`];
}

/** What is there of a path: it, or the directory above it that is. */
function nearest(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearest(dirname(path));
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isWritable(directory: string): boolean {
  if (!isDirectory(directory)) return false;
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
