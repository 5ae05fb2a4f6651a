/**
 * SQLite's write-ahead log as bytes (SQLite, "WAL-mode File Format", section 4), enough to cut it at a commit. This
 * module does not decide whether a frame is valid; SQLite does, when it recovers the log.
 */

export const WAL_HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;

/** The last bit names the byte order of checksums, which are never computed here. */
const MAGIC = 0x377f0682;

export interface WalHeader {
  readonly pageSize: number;
  /** The two salts in hexadecimal. Every frame of this log carries them; the next log has others: a generation. */
  readonly salt: string;
  readonly bytes: Uint8Array;
}

/** A frame that ends a transaction. */
export interface CommitFrame {
  /** Frames are counted from 1. */
  readonly frame: number;
  /** The checksum over everything from the start of the log to this frame, in hexadecimal: it names the commit. */
  readonly check: string;
}

/** Returns the header of a log; null for other bytes, as in an empty file. */
export function parseWalHeader(bytes: Uint8Array): WalHeader | null {
  if (bytes.length < WAL_HEADER_BYTES) return null;
  const view = viewOf(bytes);
  if (view.getUint32(0) >>> 1 !== MAGIC >>> 1) return null;
  return {
    pageSize: view.getUint32(8),
    salt: Buffer.from(bytes.subarray(16, 24)).toString('hex'),
    bytes: bytes.slice(0, WAL_HEADER_BYTES),
  };
}

export function frameBytes(pageSize: number): number {
  return FRAME_HEADER_BYTES + pageSize;
}

/** Returns the position of a frame; for the frame after the last, the length of the log. */
export function frameOffset(frame: number, pageSize: number): number {
  return WAL_HEADER_BYTES + (frame - 1) * frameBytes(pageSize);
}

/** Returns the commits in a run of whole frames, of which the first has the number `first`. */
export function commitFrames(frames: Uint8Array, first: number, pageSize: number): CommitFrame[] {
  const size = frameBytes(pageSize);
  const view = viewOf(frames);
  const commits: CommitFrame[] = [];
  for (let at = 0, frame = first; at + size <= frames.length; at += size, frame++) {
    // The size of the database after the transaction, in pages; zero in a frame that does not end one.
    if (view.getUint32(at + 4) === 0) continue;
    commits.push({ frame, check: Buffer.from(frames.subarray(at + 16, at + 24)).toString('hex') });
  }
  return commits;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
