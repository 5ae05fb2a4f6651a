/**
 * Puts another state in a unit's place, or takes the unit away, so that a crash at any point leaves the old state or
 * the new one. What is to happen is written down first, durably: from then on it happens, now or at the next start.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { checkedLine, parseCheckedLine } from '../checked-line.ts';
import { historyDisk, makeDirectory, syncDirectory, writeDurably } from '../durable-file.ts';
import { type BaseDescription, type CompressedCopy, describeCopy } from '../history/base-writer.ts';
import { dropCommitTimes } from '../history/commit-times.ts';
import { type Base, baseFile, describeBase } from '../history/history-directory.ts';
import { swapDirectory, type UnitFiles, unitFiles } from '../unit-files.ts';

interface Intent {
  readonly kind: string;
  readonly key: string;
  readonly act: 'replace' | 'remove';
  /** What the new state is in the unit's history; null for a unit that has none. */
  readonly base: Base | null;
}

/** A state that is ready: checked, closed, synchronised. */
export interface StagedState {
  readonly path: string;
  /** The same, compressed, and what it will be in the history; null for a unit that has none. */
  readonly base: { readonly copy: CompressedCopy; readonly description: BaseDescription } | null;
}

export interface Swaps {
  /** Replaces the closed database of a unit. Once this throws, nothing was changed, or {@link finish} is needed. */
  replace(files: UnitFiles, staged: StagedState): void;
  /** Removes everything of a closed unit. */
  remove(files: UnitFiles): void;
  /** Finishes what was decided and could not be done; to be called before a unit is opened. Costs nothing otherwise. */
  finish(files: UnitFiles): void;
}

/**
 * Finishes what an earlier process decided, and forgets what it did not. No unit may be open yet.
 * @throws PlatformError `unavailable`, reason `swap_damaged`, naming a decision that cannot be read.
 */
export function openSwaps(dataDirectory: string): Swaps {
  const directory = swapDirectory(dataDirectory);
  const unfinished = new Set<string>();

  const pathOf = ({ kind, key }: Pick<UnitFiles, 'kind' | 'key'>, ending: string): string =>
    join(directory, `${kind}.${key}.${ending}`);

  const carryOut = (intent: Intent): void => {
    const files = unitFiles(dataDirectory, intent.kind, intent.key);
    unfinished.add(files.database);
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
    // It was written whole or not at all. Guessing what else it may be could cost somebody's data.
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
    replace: (files, { path, base }) => {
      makeDirectory(directory);
      historyDisk.publish(path, pathOf(files, 'sqlite'));
      if (base) historyDisk.publish(base.copy.path, pathOf(files, 'zst'));
      const described = base && describeCopy(base.copy, base.description);
      decide({ kind: files.kind, key: files.key, act: 'replace', base: described });
    },
    remove: ({ kind, key }) => decide({ kind, key, act: 'remove', base: null }),
    finish: (files) => {
      if (unfinished.has(files.database)) carryOut(readIntent(pathOf(files, 'json')));
    },
  };
}

/** Removes what a unit consists of, its database first: without it there is no unit. */
export function removeFiles(files: UnitFiles): void {
  rmSync(files.database, { force: true });
  for (const path of [files.wal, files.shm, files.history, files.snapshots])
    rmSync(path, { recursive: true, force: true });
}

function placeBase(files: UnitFiles, payload: string, base: Base): void {
  makeDirectory(files.history);
  const file = baseFile(files.history, base.commit.seq);
  moveIfThere(payload, file.payload);
  writeDurably(file.description, describeBase(base));
  // The times, and what the database was like when it was closed, are those of the state before.
  dropCommitTimes(files.history);
}

/** The second time that a move is carried out, it has happened. */
function moveIfThere(from: string, to: string): void {
  if (existsSync(from)) renameSync(from, to);
  syncDirectory(dirname(to));
}
