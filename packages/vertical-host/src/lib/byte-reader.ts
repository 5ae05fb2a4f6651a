/** Reads a stream of bytes up to marks in it, whatever pieces it comes in. */

export interface ByteReader {
  /** The next so many bytes, or the rest of the stream when it is shorter. */
  exactly(count: number): Promise<Uint8Array>;
  /**
   * The bytes before the mark, which is dropped. Null when there is none within the limit, or before the end.
   */
  until(mark: Uint8Array, limitBytes: number): Promise<Uint8Array | null>;
  /** The next bytes before the mark, as they come; null once the mark was met, which is dropped. */
  pieceUntil(mark: Uint8Array): Promise<Uint8Array | null | 'ended'>;
}

/** @param begun the bytes that precede the stream. */
export function makeByteReader(stream: ReadableStream<Uint8Array>, begun: Uint8Array): ByteReader {
  const reader = stream.getReader();
  let held = begun;

  const fill = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (done) return false;
    held = concatenate(held, value);
    return true;
  };
  /** Cuts so many bytes off the front. The rest is a copy: the receiver of the piece may transfer its memory. */
  const take = (count: number): Uint8Array => {
    const piece = held.subarray(0, count);
    held = held.slice(count);
    return piece;
  };

  return {
    exactly: async (count) => {
      while (held.byteLength < count && (await fill())) {}
      return take(Math.min(count, held.byteLength));
    },
    until: async (mark, limitBytes) => {
      for (;;) {
        const at = indexOf(held, mark);
        if (at > limitBytes || (at < 0 && held.byteLength > limitBytes + mark.byteLength)) return null;
        if (at >= 0) {
          const piece = take(at);
          take(mark.byteLength);
          return piece;
        }
        if (!(await fill())) return null;
      }
    },
    pieceUntil: async (mark) => {
      for (;;) {
        const at = indexOf(held, mark);
        if (at > 0) return take(at);
        if (at === 0) {
          take(mark.byteLength);
          return null;
        }
        // The last bytes may be the beginning of the mark.
        const safe = held.byteLength - mark.byteLength + 1;
        if (safe > 0) return take(safe);
        if (!(await fill())) return 'ended';
      }
    },
  };
}

function concatenate(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.byteLength === 0) return right;
  const bytes = new Uint8Array(left.byteLength + right.byteLength);
  bytes.set(left);
  bytes.set(right, left.byteLength);
  return bytes;
}

/** The position of the mark in the bytes, or -1. */
function indexOf(bytes: Uint8Array, mark: Uint8Array): number {
  const [first = 0] = mark;
  let at = bytes.indexOf(first);
  while (at >= 0 && at + mark.byteLength <= bytes.byteLength) {
    if (mark.every((byte, i) => bytes[at + i] === byte)) return at;
    at = bytes.indexOf(first, at + 1);
  }
  return -1;
}
