/**
 * Reads what changed in a database that another process writes, without waiting for it and without making it wait. Its log
 * has every change since the last reading, unless it was restarted since: then all pages are compared.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { looksDamaged } from './damage.ts';
import { isSameLog, type LogPosition, type ReadLog, readFrame, readLog } from './log.ts';

export interface Page {
  /** From 1. */
  readonly page: number;
  readonly digest: Uint8Array;
  readonly bytes: Uint8Array;
}

/** A state of a database that was read whole. */
export interface ReadState {
  readonly pageSize: number;
  readonly pages: number;
  /** The last commit of its log that is in it; null where the log was empty. */
  readonly log: LogPosition | null;
  /** The database file at the reading: while it is the same, nothing was moved into it. */
  readonly file: string;
}

export interface ChangesOptions {
  readonly path: string;
  /** The state that is known. */
  readonly known: ReadState | null;
  /** The digests of its pages, by their number; asked for when all pages have to be compared. */
  readonly digests: () => Promise<PageDigests>;
  /** Receives changed pages, some at a time. They count when {@link readChanges} resolves with a state. */
  readonly onPages: (pages: readonly Page[]) => Promise<void>;
  /**
   * True opens a read transaction meanwhile, so that the log is not moved into the file: for a large database under load.
   * Otherwise no lock of it is touched.
   */
  readonly isHeld: boolean;
}

/** {@link DIGEST_BYTES} bytes for each page from page 1; zeros for one that is not known. */
export type PageDigests = Buffer;

export const DIGEST_BYTES = 16;
/** Number of pages that are read, and handed over, at once. */
const SLICE_PAGES = 256;
const PAGE_SIZE_AT = 16;
/** Of a file that may change without another time. */
const UNSETTLED = '';
/** A file system may tell two moments closer than this apart as one. */
const SETTLED_MS = 50;

/**
 * @returns the state that was read, of which the changed pages were handed over; null for an empty file; `disturbed` where
 * its log was moved or restarted meanwhile, so that the pages are of no one moment.
 * @throws Error for a damaged database, of which a sound state is known.
 */
export async function readChanges(options: ChangesOptions): Promise<ReadState | null | 'disturbed'> {
  const { path, isHeld } = options;
  const database = await open(path, 'r');
  let wal: FileHandle | null = null;
  let held: DatabaseSync | null = null;
  try {
    // Before the log is looked for: a file that stays the same has every log that was gone by then.
    const before = await stampOf(database);
    wal = existsSync(`${path}-wal`) ? await open(`${path}-wal`, 'r') : null;
    if (isHeld && wal) held = holdRead(path);
    return await read(options, { database, before, wal, isHeld: held !== null });
  } finally {
    // The order matters: closing a file drops every lock that this process has on it.
    held?.close();
    await Promise.all([database.close(), wal?.close()]);
  }
}

interface Opened {
  readonly database: FileHandle;
  readonly before: Stamp;
  readonly wal: FileHandle | null;
  readonly isHeld: boolean;
}

async function read(options: ChangesOptions, opened: Opened): Promise<ReadState | null | 'disturbed'> {
  const { path, known } = options;
  const { database, before, wal, isHeld } = opened;
  const log = wal && (await readLog(wal, known?.log ?? null));
  // Either it goes on after what is known, or everything of the logs before it is in the file that is known.
  if (log && known && (log.continues || known.file === before.text)) {
    await handOver(options, pagesOfLog(log, wal as FileHandle));
    const isSame = log.continues || (await stampOf(database)).text === before.text;
    if (!isSame || !(await isSameLog(wal as FileHandle, log))) return 'disturbed';
    const pages = log.frames.size === 0 ? known.pages : log.pages;
    // Another write of this moment would leave the same time.
    const file = before.ageMs < SETTLED_MS ? UNSETTLED : before.text;
    return { pageSize: log.pageSize, pages, log: log.position, file };
  }
  if (known && !log && known.log === null && known.file === before.text) return known;
  if (!isHeld && before.ageMs < SETTLED_MS) await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  const whole = await wholeOf(opened, log);
  if (whole === null) return null;
  const digests = known?.pageSize === whole.pageSize ? await options.digests() : Buffer.alloc(0);
  const changed = await handOver(options, changedPages(whole, digests));
  const isSame = (await stampOf(database)).text === before.text;
  if ((!isHeld && !isSame) || (log && !(await isSameLog(wal as FileHandle, log)))) return 'disturbed';
  // No log tells where these pages come from: of a damaged disk they would take the place of whole ones.
  if (known && changed > 0 && (await looksDamaged(path)))
    throw new Error(`the database ${basename(path)} is damaged: its copy stays as it was`);
  // A log that began meanwhile is read by the next reading, from its start.
  const file = isHeld && before.ageMs < SETTLED_MS ? UNSETTLED : before.text;
  return { pageSize: whole.pageSize, pages: whole.pages, log: log?.position ?? null, file };
}

/** Reading a number of its header begins a transaction, and trusts nothing of its schema. */
function holdRead(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
  try {
    database.exec('BEGIN');
    database.prepare('PRAGMA schema_version').get();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

interface Stamp {
  readonly text: string;
  readonly ageMs: number;
}

async function stampOf(file: FileHandle): Promise<Stamp> {
  const { size, mtimeNs, mtimeMs } = await file.stat({ bigint: true });
  return { text: `${size} ${mtimeNs}`, ageMs: Date.now() - Number(mtimeMs) };
}

interface Whole {
  readonly pageSize: number;
  readonly pages: number;
  readonly slice: (first: number, count: number) => Promise<Buffer>;
  readonly logged: ReadLog | null;
  readonly wal: FileHandle | null;
}

/** Null for a database without a page. */
async function wholeOf({ database, wal }: Opened, log: ReadLog | null): Promise<Whole | null> {
  const { size } = await database.stat();
  const header = await database.read(Buffer.alloc(100), 0, 100, 0);
  const stored = header.bytesRead < 100 ? 0 : header.buffer.readUInt16BE(PAGE_SIZE_AT);
  const pageSize = log?.pageSize ?? (stored === 1 ? 65_536 : stored);
  if (pageSize === 0) return null;
  return {
    pageSize,
    pages: log?.pages ?? Math.floor(size / pageSize),
    slice: async (first, count) => {
      const bytes = Buffer.alloc(count * pageSize);
      await database.read(bytes, 0, bytes.length, (first - 1) * pageSize);
      return bytes;
    },
    logged: log,
    wal,
  };
}

async function* pagesOfLog(log: ReadLog, wal: FileHandle): AsyncGenerator<Page> {
  for (const [page, frame] of log.frames) {
    if (page > log.pages) continue;
    const bytes = await readFrame(wal, log, frame);
    yield { page, bytes, digest: digestOf(bytes) };
  }
}

async function* changedPages(whole: Whole, digests: PageDigests): AsyncGenerator<Page> {
  const { pageSize, pages, slice, logged, wal } = whole;
  for (let first = 1; first <= pages; first += SLICE_PAGES) {
    const count = Math.min(SLICE_PAGES, pages - first + 1);
    const stored = await slice(first, count);
    for (let index = 0; index < count; index++) {
      const page = first + index;
      const frame = logged?.frames.get(page);
      const bytes =
        logged && wal && frame !== undefined
          ? await readFrame(wal, logged, frame)
          : stored.subarray(index * pageSize, (index + 1) * pageSize);
      const digest = digestOf(bytes);
      const at = (page - 1) * DIGEST_BYTES;
      if (!digest.equals(digests.subarray(at, at + DIGEST_BYTES))) yield { page, bytes, digest };
    }
  }
}

/** Returns their number. */
async function handOver({ onPages }: ChangesOptions, pages: AsyncIterable<Page>): Promise<number> {
  let count = 0;
  let slice: Page[] = [];
  for await (const page of pages) {
    count += 1;
    slice.push(page);
    if (slice.length < SLICE_PAGES) continue;
    await onPages(slice);
    slice = [];
  }
  if (slice.length > 0) await onPages(slice);
  return count;
}

function digestOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest().subarray(0, DIGEST_BYTES);
}
