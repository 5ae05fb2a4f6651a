/** Reads the lines of a copy out of parts that were cut at any place. */
import { copyDamaged } from './refusals.ts';

/** The largest row as text: the limit of a row in a Durable Object, with room for its encoding. */
const LINE_BYTES_MAX = 16 * 1_024 * 1_024;
const NEWLINE = 0x0a;

/**
 * Yields each line with its line end.
 * @throws PlatformError `validation_failed`, reason `copy_damaged`, when a line is too long or the last has no end.
 */
export function* linesOf(parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for (const part of parts) {
    let from = 0;
    for (let end = part.indexOf(NEWLINE); end !== -1; end = part.indexOf(NEWLINE, from)) {
      pieces.push(part.subarray(from, end + 1));
      yield pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
      pieces = [];
      bytes = 0;
      from = end + 1;
    }
    pieces.push(part.subarray(from));
    bytes += part.length - from;
    if (bytes > LINE_BYTES_MAX) throw copyDamaged('a line of it is too long');
  }
  if (bytes > 0) throw copyDamaged('its end is missing');
}
