/** Reads an upload: counts, hashes and checks its bytes, and groups them into parts of one size. */
import { PlatformError } from '@freehold/contracts';
import { type BlobLimits, type HashedBlob, makeBlobHash } from '@freehold/store';

/** Some of the bytes, in their order. */
export interface IncomingPart {
  readonly bytes: Uint8Array;
  /** The digests and length of all bytes: with the last part, once they match the announced ones. */
  readonly stored: HashedBlob | null;
}

/**
 * Yields a stream part by part to its end: all but the last have `partBytes` bytes, and there is always a last one,
 * possibly empty. A reader that stops cancels the stream.
 * @throws PlatformError `payload_too_large`; `validation_failed`, reason `length_mismatch` or `digest_mismatch`; and
 * the error of the stream.
 */
export async function* takeIn(
  body: ReadableStream<Uint8Array>,
  limits: BlobLimits,
  partBytes: number,
): AsyncGenerator<IncomingPart, void> {
  const hash = makeBlobHash();
  let bytes = 0;
  let part = new Uint8Array(0);
  let filled = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > limits.bytesMax)
      throw new PlatformError('payload_too_large', `An attachment has at most ${limits.bytesMax} bytes.`);
    hash.update(chunk);
    for (let at = 0; at < chunk.byteLength; ) {
      // Only a later byte shows that a full part is not the last.
      if (filled === partBytes) {
        yield { bytes: part, stored: null };
        part = new Uint8Array(partBytes);
        filled = 0;
      }
      const piece = chunk.subarray(at, at + partBytes - filled);
      part = roomFor(part, filled + piece.length, partBytes);
      part.set(piece, filled);
      filled += piece.length;
      at += piece.length;
    }
  }
  const stored = hash.finish();
  const { digest } = stored;
  if (limits.bytes !== undefined && limits.bytes !== bytes)
    throw mismatch('length_mismatch', `${limits.bytes} bytes were announced and ${bytes} arrived.`);
  if (limits.digest !== undefined && limits.digest !== digest)
    throw mismatch(
      'digest_mismatch',
      'The bytes that arrived are not those announced: their SHA-256 is another.',
    );
  yield { bytes: part.subarray(0, filled), stored };
}

/** Grows with the bytes, so that a small file does not take the memory of a large one. */
function roomFor(part: Uint8Array<ArrayBuffer>, bytes: number, partBytes: number): Uint8Array<ArrayBuffer> {
  if (part.length >= bytes) return part;
  const grown = new Uint8Array(Math.min(partBytes, Math.max(bytes, 2 * part.length, 65_536)));
  grown.set(part);
  return grown;
}

function mismatch(reason: string, detail: string): PlatformError {
  return new PlatformError('validation_failed', detail, { reason });
}
