/** Decides how long history is kept: to the base at the start of the window, and within a number of bytes. */
import { rmSync, statSync } from 'node:fs';
import { type BaseFile, listHistory, readBase } from './history-directory.ts';

export interface HistoryLimits {
  /**
   * The length of the window in milliseconds; up to a quarter more is kept. 0 keeps only the history that an archive
   * needs.
   */
  readonly historyMs: number;
  /** The largest size of a unit's history in bytes. Beyond it, its window becomes shorter. */
  readonly historyBytesMax: number;
}

/** Below this size a new base would save too little. */
const REBASE_BYTES_MIN = 8 * 1024 * 1024;

/** Whether the next base is due, judged by the bytes since the newest one. */
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
  // An idle unit: the whole window shows only the present state.
  if (historyMs > 0 && lastAtMs <= nowMs - historyMs) return true;
  const everything = sum([...bases.map(({ payload }) => payload), ...segments.map(({ path }) => path)]);
  return everything > limits.historyBytesMax && since >= base.bytes / 2;
}

/** Removes history that is older than the window, or too large. The newest base and the parts after it always stay. */
export function prune(history: string, limits: HistoryLimits, nowMs: number): void {
  const { bases, segments } = listHistory(history);
  const described = bases.map((file) => ({ file, ...windowStart(file) }));
  const first = described.findLastIndex(({ atMs }) => atMs !== null && atMs <= nowMs - limits.historyMs);
  let remaining = limits.historyMs === 0 ? described.slice(-1) : described.slice(Math.max(0, first));
  const bytesOf = (from: number): number =>
    sum([
      ...remaining.map(({ file }) => file.payload),
      ...segments.filter(({ lastPart }) => lastPart > from).map(({ path }) => path),
    ]);
  while (remaining.length > 1 && bytesOf(remaining[0]?.afterPart ?? 0) > limits.historyBytesMax)
    remaining = remaining.slice(1);
  const oldest = remaining[0];
  if (!oldest) return;
  for (const { file } of described) if (file.seq < oldest.file.seq) removeBase(file);
  for (const { path, lastPart } of segments) if (lastPart <= oldest.afterPart) rmSync(path, { force: true });
}

/** The description first: an interruption then leaves an unfinished base and not a damaged history. */
function removeBase({ description, payload }: BaseFile): void {
  rmSync(description, { force: true });
  rmSync(payload, { force: true });
}

/** A base that cannot be read begins no window, and nothing after it is removed on its account. */
function windowStart(file: BaseFile): { readonly atMs: number | null; readonly afterPart: number } {
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
