/** Randomness in small pieces, drawn from the system in large ones: a draw costs more than the bytes. */
import { randomFillSync } from 'node:crypto';

const DRAWN_BYTES = 4_096;
/** Larger pieces are drawn separately. */
const PIECE_BYTES_MAX = 64;

/** Builds a cryptographic source of bytes. Each byte is given out once, and then cleared here. */
export function makeRandomBytes(): (bytes: number) => Uint8Array {
  const drawn = new Uint8Array(DRAWN_BYTES);
  let used = DRAWN_BYTES;
  return (bytes) => {
    if (bytes > PIECE_BYTES_MAX) return randomFillSync(new Uint8Array(bytes));
    if (used + bytes > DRAWN_BYTES) {
      randomFillSync(drawn);
      used = 0;
    }
    const piece = drawn.slice(used, used + bytes);
    // It may become a key.
    drawn.fill(0, used, used + bytes);
    used += bytes;
    return piece;
  };
}
