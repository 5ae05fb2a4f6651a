/**
 * A part: some frames of one write-ahead log, compressed, after a line that describes them. A segment file holds one
 * part or several consecutive ones.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { checkedLine, parseCheckedLine, sha256 } from '../lib/durable-file.ts';
import { damagedHistory } from '../lib/fault.ts';
import type { Commit } from './bookmark.ts';
import { commitFrames, frameBytes, parseWalHeader, type WalHeader } from './wal.ts';

/** A commit within a log: its last frame, its checksum, its time. */
export type PartCommit = readonly [frame: number, check: string, atMs: number];

export interface PartHeader {
  readonly v: 1;
  /** The part's place in the unit's history: 1, 2, 3 … without a gap. 0 outside of one. */
  readonly n: number;
  /** The header of the log, 32 bytes in hexadecimal. */
  readonly wal: string;
  readonly first: number;
  readonly last: number;
  /** The commit before the whole log, and the number of the log's commits before this part. */
  readonly after: Pick<Commit, 'seq' | 'check'>;
  readonly before: number;
  /** May be empty: a large transaction is cut into several parts. */
  readonly commits: readonly PartCommit[];
  /** Size of the frames before compression. */
  readonly rawBytes: number;
  /** Size of the stored payload, and its SHA-256. */
  readonly bytes: number;
  readonly sha256: string;
}

export interface StoredPart {
  readonly header: PartHeader;
  readonly path: string;
  /** The position of the payload in the file. */
  readonly payloadAt: number;
}

const NEWLINE = 0x0a;
/** A header is read in pieces of this size; one with hundreds of commits takes more than one. */
const PIECE_BYTES = 16 * 1024;
/** A part has some thousand commits at most; anything longer is damage. */
const HEADER_BYTES_MAX = 4 * 1024 * 1024;

/** The description of a part, without the facts that follow from its payload. */
export type PartDescription = Omit<PartHeader, 'v' | 'bytes' | 'sha256'>;

export function encodePart(description: PartDescription, payload: Uint8Array): readonly Uint8Array[] {
  const header: PartHeader = { v: 1, ...description, bytes: payload.length, sha256: sha256(payload) };
  return [new TextEncoder().encode(checkedLine(header)), payload];
}

/** Returns the number of a commit in a part, by its position there. */
export function seqIn({ after, before }: Pick<PartHeader, 'after' | 'before'>, index: number): number {
  return after.seq + before + index + 1;
}

export function commitsOf(header: PartHeader): Commit[] {
  return header.commits.map(([, check, atMs], index) => ({ seq: seqIn(header, index), check, atMs }));
}

export function walHeaderOf(header: PartHeader, path: string): WalHeader {
  const parsed = parseWalHeader(Buffer.from(header.wal, 'hex'));
  if (!parsed) throw damagedHistory(path, 'it names no write-ahead log');
  return parsed;
}

/**
 * Returns the parts of a segment file, without their payloads.
 * @throws Fault `history_damaged`, naming the file.
 */
export function readPartHeaders(path: string): StoredPart[] {
  const file = openSync(path, 'r');
  try {
    const parts: StoredPart[] = [];
    for (let at = 0; ; ) {
      const line = readLine(file, at, path);
      if (line === null) break;
      const header = requireHeader(line, path);
      parts.push({ header, path, payloadAt: at + line.length });
      at += line.length + header.bytes;
    }
    if (parts.length === 0) throw damagedHistory(path, 'it is empty');
    return parts;
  } finally {
    closeSync(file);
  }
}

/**
 * Parses a part in memory.
 * @throws Fault `history_damaged`, naming it by `name`.
 */
export function parsePart(
  bytes: Uint8Array,
  name: string,
): { readonly header: PartHeader; readonly payload: Uint8Array } {
  const end = bytes.indexOf(NEWLINE) + 1;
  const header = requireHeader(Buffer.from(bytes.subarray(0, end)), name);
  const payload = bytes.subarray(end);
  requirePayload({ header, path: name }, payload);
  return { header, payload };
}

/**
 * Checks a payload against its header, before it is decompressed.
 * @throws Fault `history_damaged`.
 */
export function requirePayload(
  { header, path }: Pick<StoredPart, 'header' | 'path'>,
  payload: Uint8Array,
): void {
  if (payload.length !== header.bytes) throw damagedHistory(path, 'its end is missing');
  if (sha256(payload) !== header.sha256) throw damagedHistory(path, 'its digest is another');
}

/**
 * Checks decompressed frames against the header: their number, and the commits among them.
 * @throws Fault `history_damaged`.
 */
export function requireFrames(
  { header, path }: Pick<StoredPart, 'header' | 'path'>,
  frames: Uint8Array,
): void {
  const { pageSize } = walHeaderOf(header, path);
  const commits = commitFrames(frames, header.first, pageSize);
  const fits =
    frames.length === (header.last - header.first + 1) * frameBytes(pageSize) &&
    commits.length === header.commits.length &&
    commits.every(
      ({ frame, check }, i) => frame === header.commits[i]?.[0] && check === header.commits[i]?.[1],
    );
  if (!fits) throw damagedHistory(path, 'its frames are not those that it announces');
}

function requireHeader(line: Buffer, path: string): PartHeader {
  const header = parseCheckedLine<PartHeader>(line.toString('utf8'));
  if (header?.v !== 1) throw damagedHistory(path, 'its description cannot be read');
  return header;
}

/** Returns the bytes of one line with its end; null at the end of the file. */
function readLine(file: number, from: number, path: string): Buffer | null {
  const pieces: Buffer[] = [];
  for (let at = from; at - from < HEADER_BYTES_MAX; ) {
    const piece = Buffer.alloc(PIECE_BYTES);
    const read = readSync(file, piece, 0, PIECE_BYTES, at);
    if (read === 0 && at === from) return null;
    const end = piece.subarray(0, read).indexOf(NEWLINE);
    pieces.push(piece.subarray(0, end === -1 ? read : end + 1));
    if (end !== -1) return Buffer.concat(pieces);
    if (read === 0) break;
    at += read;
  }
  throw damagedHistory(path, 'its description cannot be read');
}
