/**
 * The first sheet of a workbook (XLSX, ECMA-376) as CSV. The archive is opened by fflate, which is loaded when the first
 * workbook comes. Of the sheet its values are read: texts, numbers, days and times by their formats, results of formulas.
 */
import { PlatformError } from '@freehold/contracts';
import { type Cell, csvLine, guarded } from '../records/csv.ts';

/** Bytes of a workbook, and of what is read of it: a small archive can hold a large sheet. */
export const WORKBOOK_BYTES_MAX = 20 * 1_024 * 1_024;
const UNPACKED_BYTES_MAX = 100 * 1_024 * 1_024;
const COLUMNS_MAX = 16_384;

/** Whether a file begins like an archive. */
export function isWorkbook([first, second, third, fourth]: Uint8Array): boolean {
  return first === 0x50 && second === 0x4b && third === 3 && fourth === 4;
}

/** Yields the lines of the first sheet, its texts guarded as in any file that is sent. @throws PlatformError `validation_failed`, reason `xlsx_malformed`; `payload_too_large`. */
export async function* csvOfWorkbook(bytes: Uint8Array): AsyncGenerator<string> {
  const read = await partReader(bytes);
  const { sheet, is1904 } = firstSheet(read);
  const xml = read(sheet);
  if (xml === null) throw malformed('Its first sheet is missing.');
  const strings = sharedStrings(read('xl/sharedStrings.xml') ?? '');
  const formats = dateFormats(read('xl/styles.xml') ?? '');
  for (const [, row = ''] of xml.matchAll(ROW)) {
    const cells = cellsOf(row, { strings, formats, is1904 });
    if (cells.length > 0) yield csvLine(cells.map(guarded));
  }
}

type ReadPart = (name: string) => string | null;

async function partReader(bytes: Uint8Array): Promise<ReadPart> {
  const { unzipSync, strFromU8 } = await import('fflate');
  let unpacked = 0;
  return (name) => {
    try {
      const { [name]: part } = unzipSync(bytes, {
        filter: (file) => {
          if (file.name !== name) return false;
          unpacked += file.originalSize;
          if (unpacked > UNPACKED_BYTES_MAX) throw tooLarge();
          return true;
        },
      });
      return part === undefined ? null : strFromU8(part);
    } catch (error) {
      throw error instanceof PlatformError ? error : malformed('Its archive is damaged.', error);
    }
  };
}

/** Elements are read with any prefix of their namespace. */
const ROW = /<(?:\w+:)?row\b[^>]*(?<!\/)>([\s\S]*?)<\/(?:\w+:)?row>/g;
const CELL = /<(?:\w+:)?c\b([^>]*?)(?:\/>|>([\s\S]*?)<\/(?:\w+:)?c>)/g;
const VALUE = /<(?:\w+:)?v\b[^>]*>([\s\S]*?)<\/(?:\w+:)?v>/;
const TEXTS = /<(?:\w+:)?t\b[^>]*?(?:\/>|>([\s\S]*?)<\/(?:\w+:)?t>)/g;
const ITEM = /<(?:\w+:)?si\b[^>]*?(?:\/>|>([\s\S]*?)<\/(?:\w+:)?si>)/g;
/** The pronunciation of a text stands beside it, and is no part of it. */
const PHONETIC = /<(?:\w+:)?rPh\b[\s\S]*?<\/(?:\w+:)?rPh>/g;

function attribute(text: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)(?:\\w+:)?${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(text);
  return found ? plain(found[1] ?? found[2] ?? '') : undefined;
}

function firstSheet(read: ReadPart): { readonly sheet: string; readonly is1904: boolean } {
  const workbook = read('xl/workbook.xml');
  if (workbook === null) throw malformed('It is an archive, and no workbook.');
  const relations = read('xl/_rels/workbook.xml.rels') ?? '';
  const sheets = [...workbook.matchAll(/<(?:\w+:)?sheet\s([^>]*)>/g)].map(([, given = '']) => given);
  const shown = sheets.find((given) => !/\sstate\s*=\s*["'](?:hidden|veryHidden)/.test(` ${given}`));
  const id = shown === undefined ? undefined : /(?:^|\s)\w+:id\s*=\s*["']([^"']*)/.exec(shown)?.[1];
  const target = [...relations.matchAll(/<(?:\w+:)?Relationship\s([^>]*)>/g)]
    .map(([, given = '']) => given)
    .find((given) => attribute(given, 'Id') === id);
  const path = target === undefined ? undefined : attribute(target, 'Target');
  const is1904 = /date1904\s*=\s*["'](?:1|true)/.test(workbook);
  const sheet =
    path === undefined ? 'xl/worksheets/sheet1.xml' : path.startsWith('/') ? path.slice(1) : `xl/${path}`;
  return { sheet, is1904 };
}

function sharedStrings(xml: string): readonly string[] {
  return [...xml.matchAll(ITEM)].map(([, item = '']) => textsOf(item));
}

function textsOf(xml: string): string {
  return [...xml.replaceAll(PHONETIC, '').matchAll(TEXTS)].map(([, text = '']) => plain(text)).join('');
}

/** Formats of days and times that have no code in the workbook (ECMA-376, part 1, 18.8.30). */
const isBuiltInDate = (id: number): boolean =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);

/** Returns whether each style of cells shows a day or a time. */
function dateFormats(xml: string): readonly boolean[] {
  const codes = new Map(
    [...xml.matchAll(/<(?:\w+:)?numFmt\s([^>]*)>/g)].map(([, given = '']) => [
      Number(attribute(given, 'numFmtId')),
      attribute(given, 'formatCode') ?? '',
    ]),
  );
  const styles = /<(?:\w+:)?cellXfs\b[^>]*>([\s\S]*?)<\/(?:\w+:)?cellXfs>/.exec(xml)?.[1] ?? '';
  return [...styles.matchAll(/<(?:\w+:)?xf\b([^>]*)>/g)].map(([, given = '']) => {
    const id = Number(attribute(given, 'numFmtId'));
    const code = codes.get(id);
    if (code === undefined) return isBuiltInDate(id);
    // Letters in quotation marks, behind a backslash and in brackets (colours, languages) are shown as they are.
    const shown = code.replaceAll(/"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, '');
    return /[ymdhs]/i.test(shown) && !/general/i.test(shown);
  });
}

interface Sheet {
  readonly strings: readonly string[];
  readonly formats: readonly boolean[];
  readonly is1904: boolean;
}

function cellsOf(row: string, sheet: Sheet): Cell[] {
  const cells: Cell[] = [];
  for (const [, given = '', content = ''] of row.matchAll(CELL)) {
    const column = columnOf(attribute(given, 'r')) ?? cells.length;
    if (column >= COLUMNS_MAX) throw malformed('A cell stands beyond the last column.');
    while (cells.length < column) cells.push(null);
    cells[column] = cellOf(given, content, sheet);
  }
  return cells;
}

/** `AB12` → 27 */
function columnOf(place: string | undefined): number | null {
  const letters = /^[A-Z]{1,3}/.exec(place ?? '')?.[0];
  if (letters === undefined) return null;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function cellOf(given: string, content: string, { strings, formats, is1904 }: Sheet): Cell {
  const type = attribute(given, 't') ?? 'n';
  if (type === 'inlineStr') return textsOf(content);
  const value = VALUE.exec(content)?.[1];
  if (value === undefined) return null;
  if (type === 's') return strings[Number(value)] ?? null;
  if (type === 'b') return value === '1' ? 'true' : 'false';
  if (type !== 'n') return plain(value);
  const number = Number(value);
  if (!Number.isFinite(number)) return plain(value);
  if (formats[Number(attribute(given, 's') ?? 0)] === true) return dayOrTime(number, is1904);
  // A number has fifteen digits in a spreadsheet; further ones are of its binary form.
  return String(Number(number.toPrecision(15)));
}

const DAY_MS = 86_400_000;

/** The day, the time, or both, of a number of days. Spreadsheets count a 29 February 1900 that never was. */
function dayOrTime(number: number, is1904: boolean): string {
  const minutes = Math.round((number % 1) * 1_440);
  const time = `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
  const days = Math.floor(number);
  if (days === 0 && !is1904) return time;
  const firstDay = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, days < 60 ? 31 : 30);
  const at = new Date(firstDay + days * DAY_MS);
  if (Number.isNaN(at.getTime())) return String(number);
  const day = at.toISOString().slice(0, 10);
  return minutes === 0 ? day : `${day} ${time}`;
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Returns a text without the escapes of XML, and those of spreadsheets for control characters. */
function plain(text: string): string {
  return text
    .replaceAll(/<!\[CDATA\[([\s\S]*?)\]\]>/g, (_, inside: string) => inside.replaceAll('&', '&amp;'))
    .replaceAll(
      /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi,
      (whole, hex?: string, decimal?: string, name = '') => {
        const code =
          hex !== undefined ? Number.parseInt(hex, 16) : decimal !== undefined ? Number(decimal) : null;
        if (code === null) return NAMED[name as string] ?? whole;
        return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
      },
    )
    .replaceAll(/_x([0-9A-F]{4})_/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function tooLarge(): PlatformError {
  return new PlatformError(
    'payload_too_large',
    `A workbook holds at most ${UNPACKED_BYTES_MAX} bytes unpacked. Divide it, or send it as CSV.`,
  );
}

function malformed(detail: string, cause?: unknown): PlatformError {
  return new PlatformError('validation_failed', `The file is no workbook that can be read. ${detail}`, {
    reason: 'xlsx_malformed',
    cause,
  });
}
