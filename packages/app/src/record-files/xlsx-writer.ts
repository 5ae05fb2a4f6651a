/**
 * CSV as the one sheet of a workbook (XLSX, ECMA-376), part by part: no file is ever whole in memory. Texts are written as
 * texts, which no spreadsheet runs; fields of numbers as numbers.
 */
import { PlatformError } from '@freehold/contracts';
import { type Cell, readCsv, unguarded } from '../records/csv.ts';

export const XLSX_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
/** The rows of a sheet (Excel). */
const ROWS_MAX = 1_048_576;

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const DECLARED = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const CONTENT = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** The parts beside the sheet. */
const FRAME: Readonly<Record<string, string>> = {
  '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${CONTENT}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${CONTENT}.worksheet+xml"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="Records" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
};

/**
 * Yields a workbook with the records of some parts of CSV, of which the first begins with a header.
 * @param numbers the names of the columns that hold numbers.
 */
export async function* workbookOf(
  parts: AsyncIterable<string>,
  numbers: ReadonlySet<string>,
): AsyncGenerator<Uint8Array> {
  const { strToU8, Zip, ZipDeflate } = await import('fflate');
  let made: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error) throw error;
    made.push(chunk);
  });
  const add = (name: string): InstanceType<typeof ZipDeflate> => {
    const file = new ZipDeflate(name, { level: 1 });
    zip.add(file);
    return file;
  };
  for (const [name, text] of Object.entries(FRAME)) add(name).push(strToU8(DECLARED + text), true);
  const sheet = add('xl/worksheets/sheet1.xml');
  sheet.push(strToU8(`${DECLARED}<worksheet xmlns="${MAIN}"><sheetData>`));
  let header: readonly Cell[] | null = null;
  let row = 0;
  for await (const part of parts) {
    const { records } = readCsv(part, ',', true);
    let xml = '';
    for (const record of records) {
      row += 1;
      if (row > ROWS_MAX) throw tooLong();
      xml += rowText(row, record, (at) => header !== null && numbers.has(header[at] ?? ''));
      header ??= record;
    }
    sheet.push(strToU8(xml));
    yield* made;
    made = [];
  }
  sheet.push(strToU8('</sheetData></worksheet>'), true);
  zip.end();
  yield* made;
}

function rowText(row: number, cells: readonly Cell[], isNumber: (at: number) => boolean): string {
  const texts = cells.map((cell, at) => {
    if (cell === null) return '';
    const reference = `r="${columnName(at)}${row}"`;
    // More digits than a spreadsheet counts with would be rounded.
    if (isNumber(at) && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(cell) && cell.length <= 16)
      return `<c ${reference}><v>${cell}</v></c>`;
    return `<c ${reference} t="inlineStr"><is><t xml:space="preserve">${escaped(unguarded(cell))}</t></is></c>`;
  });
  return `<row r="${row}">${texts.join('')}</row>`;
}

/** The download breaks off: a file that lacks records without a word would be worse. */
function tooLong(): PlatformError {
  return new PlatformError(
    'payload_too_large',
    `A workbook has at most ${ROWS_MAX} rows. Narrow the list, or export CSV.`,
  );
}

/** `0` → `A`, `26` → `AA` */
function columnName(at: number): string {
  const letter = String.fromCharCode(65 + (at % 26));
  return at < 26 ? letter : columnName(Math.floor(at / 26) - 1) + letter;
}

const MARKS: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Signs that XML has not are written as `_x0007_`, and a text that looks so is told from them (ECMA-376, 22.9.2.19). */
function escaped(text: Cell): string {
  return (text ?? '')
    .replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
    .replaceAll(/[&<>]/g, (mark) => MARKS[mark] as string)
    .replaceAll(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the signs that XML has not.
      /[\u0000-\u0008\u000b\u000c\u000d\u000e-\u001f\ufffe\uffff]/g,
      (sign) => `_x${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
    );
}
