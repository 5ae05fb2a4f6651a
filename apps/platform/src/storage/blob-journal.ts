/**
 * The attachments that the archive has yet to receive, recorded in a file of the data directory: an upload is acknowledged
 * only behind its line, so that a crash forgets none. The file is emptied when nothing waits.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { appendFile, truncate } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writePrivately } from './secrets.ts';

/** An attachment to send or to delete, or, without a digest, a scope whose attachments are to be deleted. */
export interface OwedBlob {
  readonly scopeId: string;
  readonly digest: string | null;
  /** Whether the attachment was deleted here, and its copy is to go. */
  readonly isDeleted?: true;
  /** Since when, in milliseconds since the epoch. */
  readonly sinceMs: number;
}

const LINE = /^(\d{1,16}) ([a-zA-Z0-9_-]+) ([0-9a-f]{64}|all)( deleted)?$/;
const COMPARED = 'compared ';
/** The file is rewritten when it has so many more lines than things that wait. */
const SPARE_LINES = 1_000;

/** State: the head and the number of lines of the file, and the lines that the next write adds. */
export class BlobJournal {
  readonly #path: string;
  /** The archive that everything local was compared with, by its name; null for none. */
  #compared: string | null = null;
  #lines = 0;
  #next: { text: string; readonly written: Promise<void> } | null = null;
  #last: Promise<void> = Promise.resolve();
  /** Whether the last append failed, and may have left a part of its line. */
  #isCut = false;
  readonly #append: typeof appendFile;
  /** The entries of the file when it was opened. */
  readonly found: readonly OwedBlob[];

  constructor(dataDirectory: string, append = appendFile) {
    this.#append = append;
    this.#path = join(dataDirectory, '.archive', 'attachments');
    const text = existsSync(this.#path) ? readFileSync(this.#path, 'utf8') : '';
    const lines = text.split('\n');
    this.found = lines.flatMap((line): OwedBlob[] => {
      const [, sinceMs, scopeId, digest, deleted] = LINE.exec(line) ?? [];
      if (!scopeId || !digest) return [];
      return [
        {
          scopeId,
          digest: digest === 'all' ? null : digest,
          ...(deleted ? { isDeleted: true } : {}),
          sinceMs: Number(sinceMs),
        },
      ];
    });
    this.#compared = lines.find((line) => line.startsWith(COMPARED))?.slice(COMPARED.length) || null;
    this.#lines = this.found.length;
    // A line that a crash cut off must not become one with the next.
    if (!text.startsWith(COMPARED) || !text.endsWith('\n')) this.#write(this.found);
  }

  /** For a start without an archive: what is stored now reaches none, and the next one is compared anew. */
  forgetArchive(): void {
    if (this.#compared === null) return;
    this.#compared = null;
    this.#write(this.found);
  }

  isComparedWith(archive: string): boolean {
    return this.#compared === archive;
  }

  /** Resolves when the lines are on the disk. Additions of one moment share a write. */
  add(owed: OwedBlob): Promise<void> {
    this.#lines += 1;
    const next = this.#next ?? this.#begin();
    next.text += lineOf(owed);
    return next.written;
  }

  /** Drops the lines of what has arrived, when they are many or the last ones. */
  async settle(waiting: () => readonly OwedBlob[]): Promise<void> {
    const count = waiting().length;
    if (this.#lines === 0 || (count > 0 && this.#lines < 2 * count + SPARE_LINES)) return;
    await this.#exclusive(async () => {
      if (waiting().length > 0) return this.#write(waiting());
      // A power cut may undo this, which costs sending them again.
      await truncate(this.#path, Buffer.byteLength(this.#head));
      this.#lines = 0;
    });
  }

  /** Notes that everything local that the archive lacks is among what waits. */
  async compared(archive: string, waiting: () => readonly OwedBlob[]): Promise<void> {
    await this.#exclusive(async () => {
      this.#compared = archive;
      this.#write(waiting());
    });
  }

  get #head(): string {
    return `${COMPARED}${this.#compared ?? ''}\n`;
  }

  #begin(): { text: string; readonly written: Promise<void> } {
    const { promise: written, resolve, reject } = Promise.withResolvers<void>();
    const next = { text: '', written };
    this.#next = next;
    this.#exclusive(async () => {
      this.#next = null;
      // A full disk cuts a line off, which must not become one with the next.
      const text = this.#isCut ? `\n${next.text}` : next.text;
      this.#isCut = true;
      await this.#append(this.#path, text, { flush: true });
      this.#isCut = false;
    }).then(resolve, reject);
    return next;
  }

  #exclusive(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  #write(waiting: readonly OwedBlob[]): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    writePrivately(this.#path, this.#head + waiting.map(lineOf).join(''));
    // Without its new name, the lines that follow would be lost.
    const directory = openSync(dirname(this.#path), 'r');
    fsyncSync(directory);
    closeSync(directory);
    this.#lines = waiting.length;
  }
}

function lineOf({ scopeId, digest, isDeleted, sinceMs }: OwedBlob): string {
  return `${sinceMs} ${scopeId} ${digest ?? 'all'}${isDeleted ? ' deleted' : ''}\n`;
}
