/** Restores a unit from a copy, rewinds it or removes it, entirely or not at all. */

import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import type { Admission, Admit, Bookmark, CopyFormat, Replacing, UnitRestored } from '@freehold/store';
import type { CompressedCopy } from '../history/base-writer.ts';
import { bookmarkOf } from '../history/bookmark.ts';
import { findCommit, type Target, wayTo } from '../history/commits.ts';
import { syncDirectory } from '../lib/durable-file.ts';
import { discard } from '../processes/copy-workers.ts';
import { keepsHistory, requireCopies, requireHistory, type UnitAccess } from '../units/unit-access.ts';
import { prepareStaged } from './staged-unit.ts';

export interface Restore {
  readonly format: CopyFormat;
  readonly body: ReadableStream<Uint8Array>;
  readonly admit: Admit | Admission | undefined;
  readonly replacing: Replacing | undefined;
}

export async function restoreUnit(
  unit: UnitAccess,
  { format, body, admit, replacing }: Restore,
): Promise<UnitRestored> {
  requireCopies(unit);
  unit.open();
  const { workers, now } = unit.parts;
  const received = workers.newPath();
  const staged = format === 'sqlite' ? received : workers.newPath();
  try {
    await receive(body, received);
    if (format === 'ndjson') await workers.load({ from: received, to: staged, kind: unit.files.kind });
    const { tables, rows } = await workers.examine(staged);
    const { definition, files } = unit;
    await prepareStaged({ definition, key: files.key, path: staged, admit, nowMs: now(), isForeign: true });
    return { tables, rows, undo: await takePlace(unit, staged, { reason: 'restore', replacing }) };
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
    const undo = await takePlace(unit, staged, { reason: 'rewind', replacing });
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
  });
}

interface Placing {
  readonly reason: 'restore' | 'rewind';
  readonly replacing: Replacing | undefined;
}

/**
 * Swaps the state in. Calls that were made before see the old state, those after it the new one.
 * @param path a database file, checked, closed and synchronised; it is gone afterwards.
 * @returns the bookmark of the state before; null without history.
 */
export async function takePlace(
  unit: UnitAccess,
  path: string,
  { reason, replacing = (swap) => swap() }: Placing,
): Promise<string | null> {
  const { parts, fileLocks } = unit;
  let copy: CompressedCopy | null = null;
  try {
    const { history } = unit.open();
    await history?.begin();
    if (history) copy = await parts.workers.compress(path);
    return await replacing(() => fileLocks.runExclusive(() => swapIn(unit, { path, copy }, reason)));
  } finally {
    discard(path);
    if (copy) discard(copy.path);
  }
}

function swapIn(
  unit: UnitAccess,
  { path, copy }: { readonly path: string; readonly copy: CompressedCopy | null },
  reason: 'restore' | 'rewind',
): string | null {
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
