/**
 * Replaces a unit's state or removes the unit, so that a crash at any point leaves the old state or the new one. The
 * intent is durable before anything changes: from then on it is carried out, now or at the next start.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { type BaseDescription, type CompressedCopy, describeCopy } from '../history/base-writer.ts';
import { dropCommitTimes } from '../history/commit-times.ts';
import { type Base, baseFile, describeBase } from '../history/history-directory.ts';
import {
  checkedLine,
  makeDirectory,
  parseCheckedLine,
  publish,
  syncDirectory,
  writeDurably,
} from '../lib/durable-file.ts';
import { asideFiles, swapDirectory, type UnitFiles, unitFiles } from '../lib/unit-files.ts';

interface Intent {
  readonly kind: string;
  readonly key: string;
  readonly act: 'replace' | 'remove';
  /** The base of the new state in the unit's history; null for a unit without history. */
  readonly base: Base | null;
  /** Where the database goes that cannot be read, with its log; absent for one that is replaced or removed. */
  readonly aside?: string;
}

/** A state that is ready: checked, closed, synchronised. */
export interface StagedState {
  readonly path: string;
  /** The same state compressed, and its description in the history; null for a unit without history. */
  readonly base: { readonly copy: CompressedCopy; readonly description: BaseDescription } | null;
  /** Where to put the database aside that cannot be read; absent: it is replaced. */
  readonly aside?: string;
}

export interface Swaps {
  /**
   * Replaces the closed database of a unit. When this throws, either nothing was changed, or {@link finish} is needed.
   */
  replace(files: UnitFiles, staged: StagedState): void;
  /** Removes all files of a closed unit. */
  remove(files: UnitFiles): void;
  /** Finishes a recorded swap that failed. Called before a unit is opened. Costs nothing otherwise. */
  finish(files: UnitFiles): void;
}

/**
 * Finishes the swaps that an earlier process recorded, and discards the unrecorded ones. No unit may be open yet.
 * @throws PlatformError `unavailable`, reason `swap_damaged`, naming an intent that cannot be read.
 */
export function openSwaps(dataDirectory: string): Swaps {
  const directory = swapDirectory(dataDirectory);
  const unfinished = new Set<string>();

  const pathOf = ({ kind, key }: Pick<UnitFiles, 'kind' | 'key'>, ending: string): string =>
    join(directory, `${kind}.${key}.${ending}`);

  const carryOut = (intent: Intent): void => {
    const files = unitFiles(dataDirectory, intent.kind, intent.key);
    unfinished.add(files.database);
    // Once the new database has its place, there is nothing more to put aside.
    if (intent.aside !== undefined && existsSync(pathOf(files, 'sqlite'))) putAside(files, intent.aside);
    // A log that outlived its database would be applied to the new one.
    for (const path of [files.wal, files.shm]) rmSync(path, { force: true });
    if (intent.act === 'remove') removeFiles(files);
    else {
      moveIfThere(pathOf(files, 'sqlite'), files.database);
      if (intent.base) placeBase(files, pathOf(files, 'zst'), intent.base);
    }
    if (existsSync(dirname(files.database))) syncDirectory(dirname(files.database));
    rmSync(pathOf(files, 'json'), { force: true });
    syncDirectory(directory);
    unfinished.delete(files.database);
  };

  const decide = (intent: Intent): void => {
    makeDirectory(directory);
    writeDurably(pathOf(intent, 'json'), checkedLine(intent));
    carryOut(intent);
  };

  const readIntent = (path: string): Intent => {
    const intent = parseCheckedLine<Intent>(readFileSync(path, 'utf8'));
    // Intents are complete or absent. A guess about a damaged one could destroy data.
    if (!intent)
      throw new PlatformError(
        'unavailable',
        `${path} is damaged: a restored state may be waiting beside it.`,
        {
          reason: 'swap_damaged',
        },
      );
    return intent;
  };

  for (const name of existsSync(directory) ? readdirSync(directory) : [])
    if (name.endsWith('.json')) carryOut(readIntent(join(directory, name)));
  rmSync(directory, { recursive: true, force: true });

  return {
    replace: (files, { path, base, aside }) => {
      makeDirectory(directory);
      publish(path, pathOf(files, 'sqlite'));
      if (base) publish(base.copy.path, pathOf(files, 'zst'));
      const described = base && describeCopy(base.copy, base.description);
      const { kind, key } = files;
      decide({ kind, key, act: 'replace', base: described, ...(aside === undefined ? {} : { aside }) });
    },
    remove: ({ kind, key }) => decide({ kind, key, act: 'remove', base: null }),
    finish: (files) => {
      if (unfinished.has(files.database)) carryOut(readIntent(pathOf(files, 'json')));
    },
  };
}

/** Removes the files of a unit, its database first: without it there is no unit. */
export function removeFiles(files: UnitFiles): void {
  rmSync(files.database, { force: true });
  for (const path of [files.wal, files.shm, files.history, files.snapshots, ...asideFiles(files)])
    rmSync(path, { recursive: true, force: true });
}

/** The log first: a database without it would look complete. */
function putAside(files: UnitFiles, path: string): void {
  makeDirectory(dirname(files.database));
  moveIfThere(files.wal, `${path}-wal`);
  moveIfThere(files.database, path);
}

function placeBase(files: UnitFiles, payload: string, base: Base): void {
  makeDirectory(files.history);
  const file = baseFile(files.history, base.commit.seq);
  moveIfThere(payload, file.payload);
  writeDurably(file.description, describeBase(base));
  // The commit times and the note of the closed database are those of the state before.
  dropCommitTimes(files.history);
}

/** A move that is carried out a second time has happened already. */
function moveIfThere(from: string, to: string): void {
  if (existsSync(from)) renameSync(from, to);
  syncDirectory(dirname(to));
}
