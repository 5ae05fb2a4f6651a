/**
 * The write-ahead log of a database that another process writes (SQLite, "WAL-mode File Format"). A frame counts when its
 * checksum continues those before it and a commit follows: as SQLite itself recovers a log.
 */
import type { FileHandle } from 'node:fs/promises';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
/** Number of frames that are read at once. */
const SLICE_FRAMES = 256;

/** A commit of a log. */
export interface LogPosition {
  /** The salts of the log: the next log has others. */
  readonly salt: string;
  /** The last frame of the commit, from 1. */
  readonly frame: number;
  /** The checksum of everything up to it, hexadecimal. */
  readonly check: string;
}

export interface ReadLog {
  readonly header: Buffer;
  readonly pageSize: number;
  /** The last commit. */
  readonly position: LogPosition;
  /** Size of the database after it, in pages. */
  readonly pages: number;
  /** Page → the frame with its contents at the last commit. */
  readonly frames: ReadonlyMap<number, number>;
  /** Whether it begins after the commit that was asked for; otherwise with the log. */
  readonly continues: boolean;
}

/**
 * Reads the commits of a log.
 * @param after a commit of which the contents are known: when it is in this log, frames before it are left out.
 * @returns null for a log without a commit.
 */
export async function readLog(file: FileHandle, after: LogPosition | null): Promise<ReadLog | null> {
  const header = await readHeader(file);
  if (!header || header.readUInt32BE(0) >>> 1 !== MAGIC >>> 1) return null;
  const isLittleEndian = (header.readUInt32BE(0) & 1) === 0;
  const pageSize = header.readUInt32BE(8);
  const salt = header.toString('hex', 16, 24);
  const frameBytes = FRAME_HEADER_BYTES + pageSize;
  const continues = after?.salt === salt && (await checkAt(file, after.frame, frameBytes)) === after.check;
  let sums: Sums = continues ? sumsOf(Buffer.from(after.check, 'hex')) : sumsOf(header.subarray(24));
  let position = continues ? after : null;
  let pages = 0;
  const frames = new Map<number, number>();
  // Those of a transaction whose commit was not read yet.
  let pending: [page: number, frame: number][] = [];
  const slice = Buffer.alloc(SLICE_FRAMES * frameBytes);
  for (let first = (position?.frame ?? 0) + 1; ; first += SLICE_FRAMES) {
    const { bytesRead } = await file.read(slice, 0, slice.length, offsetOf(first, frameBytes));
    const count = Math.floor(bytesRead / frameBytes);
    for (let index = 0; index < count; index++) {
      const frame = slice.subarray(index * frameBytes, (index + 1) * frameBytes);
      if (frame.toString('hex', 8, 16) !== salt) return result();
      sums = add(
        add(sums, frame.subarray(0, 8), isLittleEndian),
        frame.subarray(FRAME_HEADER_BYTES),
        isLittleEndian,
      );
      const stored = sumsOf(frame.subarray(16, 24));
      if (stored[0] !== sums[0] || stored[1] !== sums[1]) return result();
      pending.push([frame.readUInt32BE(0), first + index]);
      const pagesAfter = frame.readUInt32BE(4);
      if (pagesAfter === 0) continue;
      for (const [page, at] of pending) frames.set(page, at);
      pending = [];
      pages = pagesAfter;
      position = { salt, frame: first + index, check: frame.toString('hex', 16, 24) };
    }
    if (count < SLICE_FRAMES) return result();
  }

  function result(): ReadLog | null {
    return position && { header: header as Buffer, pageSize, position, pages, frames, continues };
  }
}

/** Whether it is still the same log: it may have been restarted, and overwritten. */
export async function isSameLog(file: FileHandle, { header }: Pick<ReadLog, 'header'>): Promise<boolean> {
  return (await readHeader(file))?.equals(header) ?? false;
}

/** Reads the contents of the page in a frame. */
export async function readFrame(file: FileHandle, { pageSize }: ReadLog, frame: number): Promise<Buffer> {
  const page = Buffer.alloc(pageSize);
  const at = offsetOf(frame, FRAME_HEADER_BYTES + pageSize) + FRAME_HEADER_BYTES;
  await file.read(page, 0, pageSize, at);
  return page;
}

async function readHeader(file: FileHandle): Promise<Buffer | null> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
  return bytesRead === HEADER_BYTES ? buffer : null;
}

async function checkAt(file: FileHandle, frame: number, frameBytes: number): Promise<string | null> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(8), 0, 8, offsetOf(frame, frameBytes) + 16);
  return bytesRead === 8 ? buffer.toString('hex') : null;
}

function offsetOf(frame: number, frameBytes: number): number {
  return HEADER_BYTES + (frame - 1) * frameBytes;
}

type Sums = readonly [number, number];

function sumsOf(bytes: Buffer): Sums {
  return [bytes.readUInt32BE(0), bytes.readUInt32BE(4)];
}

/** The checksum of section 4.2, over eight bytes at a time. */
function add([first, second]: Sums, bytes: Buffer, isLittleEndian: boolean): Sums {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [one, two] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + view.getUint32(at, isLittleEndian) + two) >>> 0;
    two = (two + view.getUint32(at + 4, isLittleEndian) + one) >>> 0;
  }
  return [one, two];
}
