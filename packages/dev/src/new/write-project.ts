/** Writes the files of a project to disk: all of them, or none. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DevError } from '../lib/dev-error.ts';
import { fileFailure, isSystemError } from '../lib/file-failure.ts';

/**
 * Writes a project into a directory that is missing or empty. The files are written beside it and moved when all
 * exist, so that neither a failure nor a kill leaves half a project.
 * @throws DevError `conflict` for an occupied directory; `unavailable` when it cannot be written.
 */
export function writeProject(directory: string, files: ReadonlyMap<string, string>): void {
  const found = look(directory);
  if (found === 'occupied') throw occupied(directory);
  try {
    if (found === 'empty') fill(directory, files);
    else make(directory, files);
  } catch (error) {
    if (isSystemError(error)) throw fileFailure(`${directory} cannot be written`, error);
    throw error;
  }
}

function look(directory: string): 'missing' | 'empty' | 'occupied' {
  try {
    return readdirSync(directory).length === 0 ? 'empty' : 'occupied';
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === 'ENOENT') return 'missing';
    // Either the path is a file, or one of its parents is.
    if (error.code === 'ENOTDIR' && existsSync(directory)) return 'occupied';
    throw fileFailure(`${directory} cannot be written`, error);
  }
}

/** Makes the directory in one step. A failure also removes the parents that were made. */
function make(directory: string, files: ReadonlyMap<string, string>): void {
  const parent = dirname(directory);
  const made = mkdirSync(parent, { recursive: true });
  const draft = draftIn(parent, basename(directory));
  try {
    writeFiles(draft, files);
    claim(draft, directory);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (made !== undefined) removeEmpty(parent, made);
    throw error;
  }
}

/** Renames the draft. @throws DevError `conflict` when another program made the directory in the meantime. */
function claim(draft: string, directory: string): void {
  try {
    renameSync(draft, directory);
  } catch (error) {
    const isTaken = isSystemError(error) && ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code);
    throw isTaken ? occupied(directory) : error;
  }
}

/** Removes a directory and its parents up to `upTo`, as long as they are empty. */
function removeEmpty(directory: string, upTo: string): void {
  try {
    rmdirSync(directory);
  } catch {
    return;
  }
  if (directory !== upTo) removeEmpty(dirname(directory), upTo);
}

/**
 * Moves the entries into an existing directory one by one. Replacing it would pull it from under a shell that is in
 * it.
 */
function fill(directory: string, files: ReadonlyMap<string, string>): void {
  const draft = draftIn(directory, 'project');
  const moved: string[] = [];
  try {
    writeFiles(draft, files);
    for (const entry of readdirSync(draft)) {
      const target = join(directory, entry);
      renameSync(join(draft, entry), target);
      moved.push(target);
    }
  } catch (error) {
    for (const target of moved) rmSync(target, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** An unused name. `mkdtemp` would make a directory that only its owner can read. */
function draftIn(parent: string, name: string): string {
  return join(parent, `.${name}.${randomBytes(6).toString('hex')}.draft`);
}

function writeFiles(directory: string, files: ReadonlyMap<string, string>): void {
  mkdirSync(directory);
  for (const [path, text] of files) {
    const target = join(directory, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text, { flag: 'wx' });
  }
}

function occupied(directory: string): DevError {
  return new DevError(
    'conflict',
    `There is something at ${directory} already: choose another --directory, or empty it.`,
    { reason: 'directory_occupied' },
  );
}
