/**
 * CSV, read in parts and written (RFC 4180). An empty cell is null; an empty text is `""`, so that both come back as they
 * were. A spreadsheet runs a cell that begins like a formula: such texts get an apostrophe on the way out, which is taken
 * away on the way in (OWASP, "CSV Injection").
 */
import { PlatformError } from '@freehold/contracts';

export type Cell = string | null;
export type Delimiter = ',' | ';' | '\t';

/** The characters of one line. */
const LINE_LENGTH_MAX = 30_000;

/** Returns the delimiter that a header uses: the most frequent one outside of quotes. */
export function delimiterOf(text: string): Delimiter {
  const header = text.replaceAll(/"[^"]*"/g, '').split(/\r\n|\r|\n/, 1)[0] ?? '';
  const count = (delimiter: Delimiter) => header.split(delimiter).length;
  return ([',', ';', '\t'] as const).toSorted((a, b) => count(b) - count(a))[0] as Delimiter;
}

export interface ReadPart {
  /** The whole records. Blank lines, and lines of empty cells alone, are none. */
  readonly records: readonly (readonly Cell[])[];
  /** The beginning of a record that the next part ends. */
  readonly rest: string;
}

/**
 * Reads the whole records of a part of a file.
 * @throws PlatformError `validation_failed`, reason `csv_malformed`.
 */
export function readCsv(text: string, delimiter: Delimiter, isLast: boolean): ReadPart {
  const records: Cell[][] = [];
  let at = 0;
  for (;;) {
    const record = readRecord(text, at, delimiter, isLast);
    if (record === null) break;
    at = record.end;
    if (record.cells.some((cell) => cell !== null)) records.push(record.cells);
  }
  const rest = text.slice(at);
  if (rest.length > LINE_LENGTH_MAX || (isLast && rest !== ''))
    throw malformed(
      isLast
        ? 'A quotation mark is opened and never closed.'
        : `A line has at most ${LINE_LENGTH_MAX} characters: a quotation mark may be missing.`,
    );
  return { records, rest };
}

/** Returns the record that begins at a place, and its end; null where it does not end in this part. */
function readRecord(
  text: string,
  from: number,
  delimiter: Delimiter,
  isLast: boolean,
): { readonly cells: Cell[]; readonly end: number } | null {
  if (from >= text.length) return null;
  const cells: Cell[] = [];
  let at = from;
  for (;;) {
    let cell: Cell;
    if (text[at] === '"') {
      const closed = endOfQuoted(text, at + 1);
      // A mark at the very end may be the first half of two.
      if (closed === -1 || (closed === text.length - 1 && !isLast)) return null;
      cell = text.slice(at + 1, closed).replaceAll('""', '"');
      at = closed + 1;
      const tail = endOfPlain(text, at, delimiter);
      cell += text.slice(at, tail);
      at = tail;
    } else {
      const end = endOfPlain(text, at, delimiter);
      cell = end === at ? null : text.slice(at, end);
      at = end;
    }
    cells.push(cell);
    const next = text[at];
    if (next === delimiter) {
      at += 1;
      continue;
    }
    if (next === undefined) return isLast ? { cells, end: at } : null;
    if (next === '\r' && at + 1 === text.length && !isLast) return null;
    return { cells, end: at + (next === '\r' && text[at + 1] === '\n' ? 2 : 1) };
  }
}

/** Returns the place of the closing mark, or -1. */
function endOfQuoted(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}

function endOfPlain(text: string, from: number, delimiter: Delimiter): number {
  let at = from;
  while (at < text.length) {
    const char = text[at];
    if (char === delimiter || char === '\n' || char === '\r') break;
    at += 1;
  }
  return at;
}

/** Returns one record with its line end. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(quoted).join(',')}\r\n`;
}

function quoted(cell: Cell): string {
  if (cell === null) return '';
  return cell === '' || /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** Returns a text that no spreadsheet takes for a formula. */
export function guarded(cell: Cell): Cell {
  return cell !== null && /^'*[=+\-@\t\r\n]/.test(cell) ? `'${cell}` : cell;
}

/** Returns the text that {@link guarded} was given. */
export function unguarded(cell: Cell): Cell {
  return cell !== null && /^'+[=+\-@\t\r\n]/.test(cell) ? cell.slice(1) : cell;
}

function malformed(detail: string): PlatformError {
  return new PlatformError('validation_failed', `The file is no CSV that can be read. ${detail}`, {
    reason: 'csv_malformed',
  });
}
