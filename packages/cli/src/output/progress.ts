/** Writes progress in one line. */

const BAR_CHARS = 24;

export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly unit: string;
}

/** `[######------] 12 of 24 scopes`; without a total, the amount that is done. */
export function progressText(what: string, { done, total, unit }: Progress): string {
  const amount = (count: number) => (unit === 'bytes' ? bytesText(count) : `${count} ${unit}`);
  if (total === null || total === 0) return done === 0 ? `${what} …` : `${what} … ${amount(done)}`;
  const filled = Math.round(BAR_CHARS * Math.min(1, done / total));
  const bar = '#'.repeat(filled).padEnd(BAR_CHARS, '-');
  return `${what} [${bar}] ${unit === 'bytes' ? bytesText(done) : done} of ${amount(total)}`;
}

/** `1536` → `1.5 KiB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const [size, unit] =
    bytes < 1024 ** 2 ? [1024, 'KiB'] : bytes < 1024 ** 3 ? [1024 ** 2, 'MiB'] : [1024 ** 3, 'GiB'];
  return `${(bytes / size).toFixed(1)} ${unit}`;
}
