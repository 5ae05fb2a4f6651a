/** Restores a unit from a copy, rewinds it or removes it, entirely or not at all. */

import { existsSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import type {
  Admission,
  Admit,
  Bookmark,
  CopyFormat,
  ExaminedCopy,
  Replacing,
  SqlDatabase,
  UnitRestored,
} from '@freehold/store';
import type { CompressedCopy } from '../history/base-writer.ts';
import { bookmarkOf } from '../history/bookmark.ts';
import { findCommit, type Target, wayTo } from '../history/commits.ts';
import { type LoadedHistory, loadHistory } from '../history/load-history.ts';
import { syncDirectory } from '../lib/durable-file.ts';
import { isDamaged } from '../lib/sqlite-errors.ts';
import { asidePath } from '../lib/unit-files.ts';
import { discard } from '../processes/copy-workers.ts';
import type { OpenedUnit } from '../units/open-units.ts';
import { keepsHistory, requireCopies, requireHistory, type UnitAccess } from '../units/unit-access.ts';
import { prepareStaged } from './staged-unit.ts';

export interface Restore {
  readonly format: CopyFormat;
  readonly body: ReadableStream<Uint8Array>;
  readonly admit: Admit | Admission | undefined;
  readonly replacing: Replacing | undefined;
  /** Whether it is restored although its own database is damaged or missing. */
  readonly evenIfLost: boolean;
}

type ReceivedCopy = Pick<Restore, 'format' | 'body' | 'admit'>;

export async function restoreUnit(
  unit: UnitAccess,
  { replacing, evenIfLost, ...copy }: Restore,
): Promise<UnitRestored> {
  requireCopies(unit);
  if (!evenIfLost) unit.open();
  return stage(unit, copy, async (staged, examined) => {
    const placed = await takePlace(unit, staged, { reason: 'restore', replacing, evenIfLost });
    return { ...examined, ...placed };
  });
}

/** Checks a copy as a restore does. The unit itself is not touched, and may be damaged or missing. */
export async function examineCopy(
  unit: UnitAccess,
  { look = () => undefined, ...copy }: Omit<ReceivedCopy, 'admit'> & { look?: (staged: SqlDatabase) => void },
): Promise<ExaminedCopy> {
  requireCopies(unit);
  return stage(unit, { ...copy, admit: look }, async (_staged, examined) => examined);
}

/** Receives, checks and admits a copy. Its files do not outlive `use`. */
async function stage<T>(
  unit: UnitAccess,
  { format, body, admit }: ReceivedCopy,
  use: (staged: string, examined: ExaminedCopy) => Promise<T>,
): Promise<T> {
  const { workers, now } = unit.parts;
  const received = workers.newPath();
  const staged = format === 'sqlite' ? received : workers.newPath();
  try {
    await receive(body, received);
    if (format === 'ndjson') await workers.load({ from: received, to: staged, kind: unit.files.kind });
    const { tables, rows } = await workers.examine(staged);
    const { definition, files } = unit;
    await prepareStaged({ definition, key: files.key, path: staged, admit, nowMs: now(), isForeign: true });
    return await use(staged, { tables, rows });
  } finally {
    discard(received);
    discard(staged);
  }
}

async function receive(body: ReadableStream<Uint8Array>, path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of body) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
}

export async function rewindUnit(
  unit: UnitAccess,
  target: Target,
  {
    admit,
    replacing,
  }: { readonly admit: Admit | Admission | undefined; readonly replacing: Replacing | undefined },
): Promise<Bookmark & { readonly undo: string }> {
  requireCopies(unit);
  const { files, parts, definition } = unit;
  const history = requireHistory(unit.open(), unit);
  await history.begin();
  const letGo = await unit.fileLocks.take();
  const staged = parts.workers.newPath();
  try {
    // The commits until now may be the target, and must be in the files.
    const opened = unit.open();
    opened.unit.drain();
    opened.history?.storeAll();
    const commit = findCommit(files.history, target);
    await parts.workers.materialise(wayTo(files.history, commit), staged);
    letGo();
    await prepareStaged({
      definition,
      key: files.key,
      path: staged,
      admit,
      nowMs: parts.now(),
      isForeign: false,
    });
    const { undo } = await takePlace(unit, staged, { reason: 'rewind', replacing, evenIfLost: false });
    if (undo === null) throw new Error('a unit with a history was rewound without one');
    return { bookmark: bookmarkOf(commit), atMs: commit.atMs, undo };
  } finally {
    letGo();
    discard(staged);
  }
}

export async function removeUnit(unit: UnitAccess): Promise<void> {
  const { fileLocks, files, parts } = unit;
  await fileLocks.runExclusive(() => {
    unit.peek()?.unit.drain();
    unit.close();
    parts.onRemove(files);
    if ([files.database, files.history, files.snapshots].some((path) => existsSync(path)))
      parts.swaps.remove(files);
    parts.storage.removed(files);
  });
}

interface Placing {
  readonly reason: 'restore' | 'rewind';
  readonly replacing: Replacing | undefined;
  readonly evenIfLost: boolean;
}

type Placed = Pick<UnitRestored, 'undo' | 'setAside'>;

/**
 * Swaps the state in. Calls that were made before see the old state, those after it the new one.
 * @param path a database file, checked, closed and synchronised; it is gone afterwards.
 * @returns the bookmark of the state before, null without history; and where a lost database was put aside.
 */
export async function takePlace(
  unit: UnitAccess,
  path: string,
  { reason, replacing = (swap) => swap(), evenIfLost }: Placing,
): Promise<Placed> {
  const { parts, fileLocks } = unit;
  let copy: CompressedCopy | null = null;
  try {
    const opened = evenIfLost ? openUnlessLost(unit) : unit.open();
    await opened?.history?.begin().catch((error: unknown) => {
      if (!evenIfLost || !isLost(unit, error)) throw error;
    });
    if (parts.historyOf(unit.definition)) copy = await parts.workers.compress(path);
    const state = { path, copy };
    return await replacing((require) =>
      fileLocks.runExclusive(() => {
        if (require) requirePresent(unit, require);
        if (!evenIfLost) return { undo: swapIn(unit, state, reason) };
        try {
          return { undo: swapIn(unit, state, reason) };
        } catch (error) {
          if (!isLost(unit, error)) throw error;
          return putInPlaceOfLost(unit, state);
        }
      }),
    );
  } finally {
    discard(path);
    if (copy) discard(copy.path);
  }
}

/** Reads the state after the last commit. A failed commit closes the unit, and it is read as it was opened again. */
function requirePresent(unit: UnitAccess, require: (present: SqlDatabase) => void): void {
  unit.open().unit.drain();
  require(unit.open().database.db);
}

function openUnlessLost(unit: UnitAccess): OpenedUnit | null {
  try {
    return unit.open();
  } catch (error) {
    if (isLost(unit, error)) return null;
    throw error;
  }
}

/**
 * Whether an error says that the unit's database is damaged or missing. A full or failing disk, a lock, a missing right
 * or too many open files do not: then the database may be whole, and the rights in it are those that count.
 * @throws the file system's error where it cannot tell whether the database is there.
 */
function isLost({ files }: UnitAccess, error: unknown): boolean {
  const isNone = error instanceof PlatformError && error.reason === 'unknown_unit';
  return isNone || isDamaged(error) || statSync(files.database, { throwIfNoEntry: false }) === undefined;
}

/** Puts the database aside that cannot be read, with its log. Its history and its snapshots stay, and go on. */
function putInPlaceOfLost(unit: UnitAccess, { path, copy }: StateToPlace): Placed {
  const { parts, files } = unit;
  unit.abandon();
  const aside = asidePath(files, parts.now());
  const wasThere = existsSync(files.database) || existsSync(files.wal);
  const history = copy && numberedHistory(unit);
  const last = history?.last ?? null;
  const check = Buffer.from(parts.random(8)).toString('hex');
  const atMs = Math.max(parts.now(), last?.atMs ?? 0);
  parts.swaps.replace(files, {
    path,
    aside,
    base:
      copy && history
        ? {
            copy,
            description: {
              commit: { seq: history.seqMax + 1, check, atMs },
              reason: 'restore',
              afterPart: history.part,
            },
          }
        : null,
  });
  parts.onChange(files);
  const undo = last && keepsHistory(unit) ? bookmarkOf(last) : null;
  return { undo, ...(wasThere ? { setAside: basename(aside) } : {}) };
}

/**
 * Returns the history that goes on. Where it is gone too, its numbers begin beyond all that the archive may have under
 * the same names: the clock gives such numbers, within the digits of the names of files.
 */
function numberedHistory({ parts, files }: UnitAccess): LoadedHistory {
  const history = loadHistory(files, true);
  if (history.seqMax > 0 || !parts.wasShipped(files)) return history;
  return { ...history, seqMax: Math.floor(parts.now() / 10), part: Math.floor(parts.now() / 60_000) };
}

interface StateToPlace {
  readonly path: string;
  readonly copy: CompressedCopy | null;
}

function swapIn(unit: UnitAccess, { path, copy }: StateToPlace, reason: 'restore' | 'rewind'): string | null {
  const { parts, files } = unit;
  const opened = unit.open();
  opened.unit.drain();
  const before = opened.history?.storeAll() ?? null;
  unit.close();
  requireClosed(unit);
  if (!before || !copy) {
    parts.swaps.replace(files, { path, base: null });
    return null;
  }
  const atMs = Math.max(parts.now(), before.commit.atMs);
  const check = Buffer.from(parts.random(8)).toString('hex');
  const commit = { seq: before.commit.seq + 1, check, atMs };
  parts.swaps.replace(files, {
    path,
    base: { copy, description: { commit, reason, afterPart: before.part } },
  });
  parts.onChange(files);
  return keepsHistory(unit) ? bookmarkOf(before.commit) : null;
}

/** A remaining log holds commits that are nowhere else, and would be applied to the next database. */
function requireClosed({ files }: UnitAccess): void {
  if (existsSync(files.wal))
    throw new PlatformError(
      'unavailable',
      'The unit could not be closed in order, so it was left as it is.',
      {
        reason: 'busy',
      },
    );
  syncDirectory(dirname(files.database));
}
