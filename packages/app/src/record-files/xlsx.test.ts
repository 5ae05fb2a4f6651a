/** A workbook becomes the CSV of its first sheet, as Excel, LibreOffice and generators write it. */
import fc from 'fast-check';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { expect, test } from 'vitest';
import { runs } from '../../../testkit/src/index.ts';
import { csvLine, guarded, readCsv, unguarded } from '../records/csv.ts';
import { csvOfWorkbook, isWorkbook } from './xlsx.ts';
import { workbookOf as written } from './xlsx-writer.ts';

const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

interface Parts {
  readonly sheet: string;
  readonly strings?: string;
  readonly styles?: string;
  readonly workbook?: string;
  readonly relations?: string;
}

function workbookOf({ sheet, strings, styles, workbook, relations }: Parts): Uint8Array {
  return zipSync({
    '[Content_Types].xml': strToU8('<Types/>'),
    'xl/workbook.xml': strToU8(
      workbook ??
        `<workbook ${MAIN} xmlns:r="${RELATIONS}"><sheets><sheet name="Hidden" sheetId="1" state="hidden" r:id="rId1"/><sheet name="Animals" sheetId="2" r:id="rId2"/></sheets></workbook>`,
    ),
    'xl/_rels/workbook.xml.rels': strToU8(
      relations ??
        '<Relationships><Relationship Id="rId1" Target="worksheets/other.xml"/><Relationship Target="worksheets/animals.xml" Id="rId2"/></Relationships>',
    ),
    'xl/worksheets/animals.xml': strToU8(sheet),
    'xl/worksheets/other.xml': strToU8('<worksheet/>'),
    ...(strings === undefined ? {} : { 'xl/sharedStrings.xml': strToU8(strings) }),
    ...(styles === undefined ? {} : { 'xl/styles.xml': strToU8(styles) }),
  });
}

async function csvOf(parts: Parts): Promise<string> {
  const bytes = workbookOf(parts);
  expect(isWorkbook(bytes)).toBe(true);
  const lines: string[] = [];
  for await (const line of csvOfWorkbook(bytes)) lines.push(line);
  return lines.join('');
}

const STYLES = `<styleSheet ${MAIN}><numFmts count="3"><numFmt numFmtId="164" formatCode="[$-407]d\\.\\ mmmm\\ yyyy;@"/><numFmt numFmtId="165" formatCode="&quot;days&quot; 0.00"/><numFmt numFmtId="166" formatCode="[h]:mm"/></numFmts>
<cellStyleXfs count="1"><xf numFmtId="14"/></cellStyleXfs>
<cellXfs count="6"><xf numFmtId="0" fontId="0"/><xf numFmtId="14" xfId="0" applyNumberFormat="1"><alignment/></xf><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/><xf numFmtId="166"/></cellXfs></styleSheet>`;

test('texts, numbers, days, times, truths and results of formulas are read, and empty cells stay in their columns', async () => {
  const strings = `<sst ${MAIN}><si><t>name</t></si><si><r><rPr/><t xml:space="preserve">Tom </t></r><r><t>&amp; &#x4b;im_x000A_</t></r><rPh sb="0" eb="1"><t>x</t></rPh></si><si><t/></si></sst>`;
  const sheet = `<worksheet ${MAIN}><sheetData>
<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>fee</t></is></c></row>
<row r="2" spans="1:9"><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>46091</v></c><c r="C2"><v>12.050000000000001</v></c><c r="D2" s="2"><v>43890.5</v></c><c r="E2" s="3"><v>3</v></c><c r="F2" s="4"><v>0.35416666666666669</v></c><c r="G2" t="b"><v>1</v></c><c r="H2" t="str"><f>A1&amp;"x"</f><v>a,b</v></c><c r="I2" s="5"><v>6.25E-2</v></c></row>
<row r="3"/><row r="4"><c r="B4"/></row><row r="5"><c r="AB5" t="e"><v>#N/A</v></c></row>
<row r="6"><c><v>1</v></c><c><v>-2</v></c></row></sheetData></worksheet>`;
  expect(await csvOf({ sheet, strings, styles: STYLES })).toBe(
    [
      'name,,fee',
      '"Tom & Kim\n",2026-03-10,12.05,2020-02-29 12:00,3,08:30,true,"a,b",01:30',
      ',',
      `${','.repeat(27)}#N/A`,
      "1,'-2",
      '',
    ].join('\r\n'),
  );
});

test('names may have a prefix, and days be counted from 1904', async () => {
  const sheet = `<x:worksheet xmlns:x="y"><x:sheetData><x:row><x:c r="A1" s="1"><x:v>44629</x:v></x:c><x:c r="B1" t="inlineStr"><x:is><x:t>a</x:t></x:is></x:c></x:row></x:sheetData></x:worksheet>`;
  const workbook = `<x:workbook xmlns:x="y" xmlns:r="${RELATIONS}"><x:workbookPr date1904="1"/><x:sheets><x:sheet name="A" sheetId="2" r:id="rId2"/></x:sheets></x:workbook>`;
  expect(await csvOf({ sheet, workbook, styles: STYLES })).toBe('2026-03-10,a\r\n');
});

test.each([
  [
    'an archive that is no workbook',
    zipSync({ 'a.txt': strToU8('a') }),
    'It is an archive, and no workbook.',
  ],
  ['a damaged archive', workbookOf({ sheet: '<row/>' }).slice(0, 60), 'Its archive is damaged.'],
])('%s is refused', async (_title, bytes, detail) => {
  await expect(csvOfWorkbook(bytes).next()).rejects.toMatchObject({
    code: 'validation_failed',
    reason: 'xlsx_malformed',
    message: expect.stringContaining(detail),
  });
});

test('a small archive that unpacks to more than fits is refused before it is unpacked', async () => {
  const bytes = workbookOf({ sheet: ' '.repeat(101 * 1_024 * 1_024) });
  expect(bytes.length).toBeLessThan(1_000_000);
  await expect(csvOfWorkbook(bytes).next()).rejects.toMatchObject({ code: 'payload_too_large' });
});

/** The cells of CSV, as a workbook knows them: it has no empty text, and no cell behind the last one of a row. */
const cellsOf = (csv: string) =>
  readCsv(csv, ',', true).records.map(([id = null, text = null, fee = null], row) => [
    id,
    text === '' ? null : text,
    fee === null || row === 0 ? fee : Number(unguarded(fee)),
  ]);

test('a text that a spreadsheet would run in CSV is written without the guard: in a workbook nothing runs', async () => {
  async function* source() {
    yield csvLine(['text']) + csvLine([guarded('=1+1')]) + csvLine([guarded("'=1")]);
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of written(source(), new Set())) chunks.push(chunk);
  const sheet = strFromU8(unzipSync(Buffer.concat(chunks))['xl/worksheets/sheet1.xml'] as Uint8Array);
  expect([...sheet.matchAll(/preserve">([^<]*)</g)].map(([, text]) => text)).toEqual(['text', '=1+1', "'=1"]);
});

test('what is written is read back as it was, in however many parts it comes, and its numbers are numbers', async () => {
  const cell = fc.option(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.constantFrom(
        '=1+1',
        '0042',
        '1e5',
        '_x0041_',
        '<b>&',
        ' a ',
        'two\r\nlines\u0007',
        '12345678901234567890',
      ),
    ),
    { nil: null },
  );
  const number = fc.integer({ min: -1e9, max: 1e9 }).map((cents) => (cents / 100).toFixed(2));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.tuple(fc.uuid(), cell, fc.option(number, { nil: null })), { maxLength: 4 }), {
        minLength: 1,
        maxLength: 3,
      }),
      async (parts) => {
        const lines = (rows: (typeof parts)[number]) =>
          rows.map(([id, text, fee]) => csvLine([id, guarded(text), fee])).join('');
        async function* source() {
          for (const [at, rows] of parts.entries())
            yield (at === 0 ? csvLine(['id', 'text', 'fee']) : '') + lines(rows);
        }
        const chunks: Uint8Array[] = [];
        for await (const chunk of written(source(), new Set(['fee']))) chunks.push(chunk);
        const bytes = Buffer.concat(chunks);
        const sheet = strFromU8(unzipSync(bytes)['xl/worksheets/sheet1.xml'] as Uint8Array);
        expect(sheet.match(/<v>/g)?.length ?? 0).toBe(
          parts.flat().filter(([, , fee]) => fee !== null).length,
        );
        expect(sheet).not.toMatch(/<f[ >]/);
        let csv = '';
        for await (const line of csvOfWorkbook(bytes)) csv += line;
        expect(cellsOf(csv)).toEqual(cellsOf(csvLine(['id', 'text', 'fee']) + parts.map(lines).join('')));
      },
    ),
    { numRuns: runs(100) },
  );
});
