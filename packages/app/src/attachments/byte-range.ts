/** The range of a file that a request asks for (RFC 9110, section 14). */
import type { ByteRange } from '@freehold/store';

/** One range: from a byte on, up to one, or the last so many. */
const ONE_RANGE = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/;

/**
 * Returns the range, cut to the file. Null for all of the file: a server may ignore a header with several ranges, with
 * one outside of the file, or with none that can be read.
 */
export function requestedRange(header: string | undefined, bytes: number): ByteRange | null {
  const [, from, to, last] = ONE_RANGE.exec(header ?? '') ?? [];
  if (from === undefined && last === undefined) return null;
  const start = from === undefined ? Math.max(0, bytes - Number(last)) : Number(from);
  const end = Math.min(bytes, from === undefined || to === undefined ? bytes : Number(to) + 1);
  return start < end ? { start, end } : null;
}
