/** How long history is kept: to the base that the window begins with, and within a number of bytes. */
import { rmSync, statSync } from 'node:fs';
import { type BaseFile, listHistory, readBase } from './history-directory.ts';

export interface HistoryLimits {
  /** How far back one can go, in milliseconds; up to a quarter more is kept. 0 keeps only what an archive needs. */
  readonly historyMs: number;
  /** How many bytes a unit's history may take. Beyond, its window becomes shorter. */
  readonly historyBytesMax: number;
}

/** Below this a new base would save nothing that matters. */
const REBASE_BYTES_MIN = 8 * 1024 * 1024;

/** What is stored since the newest base, and whether it is time for the next. */
export function isRebaseDue(
  history: string,
  limits: HistoryLimits,
  { lastAtMs, nowMs }: { readonly lastAtMs: number; readonly nowMs: number },
): boolean {
  const { bases, segments } = listHistory(history);
  const newest = bases.at(-1);
  if (!newest) return false;
  const base = readBase(newest);
  const since = sum(segments.filter(({ lastPart }) => lastPart > base.afterPart).map(({ path }) => path));
  if (since === 0) return false;
  if (since >= Math.max(REBASE_BYTES_MIN, 2 * base.bytes)) return true;
  const { historyMs } = limits;
  if (historyMs > 0 && lastAtMs - base.commit.atMs >= historyMs / 4) return true;
  // Nothing happened for as long as the window is: the present is all that there is to go back to.
  if (historyMs > 0 && lastAtMs <= nowMs - historyMs) return true;
  const everything = sum([...bases.map(({ payload }) => payload), ...segments.map(({ path }) => path)]);
  return everything > limits.historyBytesMax && since >= base.bytes / 2;
}

/** Removes what is older than the window, or too much. The newest base and what follows it always stay. */
export function prune(history: string, limits: HistoryLimits, nowMs: number): void {
  const { bases, segments } = listHistory(history);
  const described = bases.map((file) => ({ file, ...whenAndWhere(file) }));
  const first = described.findLastIndex(({ atMs }) => atMs !== null && atMs <= nowMs - limits.historyMs);
  let kept = limits.historyMs === 0 ? described.slice(-1) : described.slice(Math.max(0, first));
  const bytesOf = (from: number): number =>
    sum([
      ...kept.map(({ file }) => file.payload),
      ...segments.filter(({ lastPart }) => lastPart > from).map(({ path }) => path),
    ]);
  while (kept.length > 1 && bytesOf(kept[0]?.afterPart ?? 0) > limits.historyBytesMax) kept = kept.slice(1);
  const oldest = kept[0];
  if (!oldest) return;
  for (const { file } of described) if (file.seq < oldest.file.seq) removeBase(file);
  for (const { path, lastPart } of segments) if (lastPart <= oldest.afterPart) rmSync(path, { force: true });
}

/** First what makes it a base: should this be interrupted, the rest is a leftover and not a damaged history. */
function removeBase({ description, payload }: BaseFile): void {
  rmSync(description, { force: true });
  rmSync(payload, { force: true });
}

/** A base that cannot be read begins no window, and nothing that follows it is removed on its account. */
function whenAndWhere(file: BaseFile): { readonly atMs: number | null; readonly afterPart: number } {
  try {
    const { commit, afterPart } = readBase(file);
    return { atMs: commit.atMs, afterPart };
  } catch {
    return { atMs: null, afterPart: 0 };
  }
}

function sum(paths: readonly string[]): number {
  let bytes = 0;
  for (const path of paths) bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return bytes;
}
