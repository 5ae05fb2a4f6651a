/** Records exported as CSV, and imported again: nothing is lost, run, or told that is hidden. */
import fc from 'fast-check';
import { strToU8, zipSync } from 'fflate';
import { expect, test } from 'vitest';
import { csvLine, guarded, readCsv, unguarded } from '../src/records/csv.ts';
import { testApp } from '../src/testing/index.ts';
import { clinic } from './clinic.ts';

test('an export is narrowed, sorted and searched like the list, and leaves an event', async () => {
  await using instance = await testApp(clinic);
  const ada = instance.as('ada', { role: 'owner' });
  const grace = await ada.call('keeper/create', { name: 'Grace, "G"', phone: '+1' });
  await ada.call('animal/create', { name: '=cmd()', kind: 'dog', fee: 1_205, keeper: grace.id });
  await ada.call('animal/create', { name: 'Tom', fee: 5, born: '2020-01-02', insured: true });
  const all = await ada.call('animal/export', { sort: '-fee' });
  expect(all).toMatchObject({ rows: 2, nextCursor: null });
  const stamp = '2026-03-03T07:00:00.000Z';
  expect(all.csv.replaceAll(/anm_\w+/g, 'anm')).toBe(
    [
      'id,name,kind,born,seen,fee,insured,keeper,keeper.id,createdAt,updatedAt,archivedAt',
      `anm,'=cmd(),dog,,,12.05,false,"Grace, ""G""",${grace.id},${stamp},${stamp},`,
      `anm,Tom,cat,2020-01-02,,0.05,true,,,${stamp},${stamp},`,
      '',
    ].join('\r\n'),
  );
  expect(await ada.call('animal/export', { kind: 'dog' })).toMatchObject({ rows: 1 });
  expect(await ada.call('animal/export', { q: 'tom' })).toMatchObject({ rows: 1 });
  await expect(ada.call('animal/export', { insured: true })).rejects.toMatchObject({
    code: 'validation_failed',
  });
  const events = instance.sql<{ type: string; payload: string }>(
    `SELECT type, payload FROM _spine_events WHERE type = 'animal.exported' ORDER BY id LIMIT 2`,
  );
  expect(events.map(({ payload }) => JSON.parse(payload))).toEqual([
    { filters: ['archived', 'sort'] },
    { filters: ['archived', 'sort', 'kind'] },
  ]);
  const guest = instance.as('gus', { role: 'guest' });
  await expect(guest.call('animal/export', {})).rejects.toMatchObject({ code: 'permission_denied' });
});

test('a relation that may not be read is empty, and a long export comes in parts', async () => {
  await using instance = await testApp(clinic);
  const ada = instance.as('ada', { role: 'owner' });
  const grace = await ada.call('keeper/create', { name: 'Grace' });
  const lines = Array.from({ length: 1_001 }, (_, n) => `a${n},1,${n === 0 ? 'Grace' : ''}\n`);
  const { id } = await ada.call('animal/import', { csv: `name,fee,keeper\n${lines.join('')}` });
  await instance.deliver();
  await ada.call('animal/import-apply', { import: id });
  await instance.deliver();
  const hal = instance.as('hal', { role: 'helper' });
  const parts: string[] = [];
  let cursor: string | null = null;
  do {
    const part: { csv: string; rows: number; nextCursor: string | null } = await hal.call(
      'animal/export',
      cursor === null ? {} : { cursor },
    );
    parts.push(part.csv);
    cursor = part.nextCursor;
  } while (cursor !== null);
  expect(parts).toHaveLength(3);
  const text = parts.join('');
  expect(text).not.toMatch(new RegExp(`Grace|${grace.id}`));
  expect(readCsv(text, ',', true).records).toHaveLength(1_002);
});

const cell = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '=1',
    "'=1",
    "''-x",
    '+49',
    '-5',
    '@a',
    '\t',
    '\r',
    '\n',
    'a\r\nb',
    '"',
    ',',
    ' a ',
    null,
  ),
);

test('every cell comes back from CSV as it was, however the file is cut, and none looks like a formula', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.array(cell, { minLength: 2, maxLength: 4 }).filter((row) => row.some((each) => each !== null)),
        { minLength: 1, maxLength: 5 },
      ),
      fc.array(fc.nat(200)),
      (rows, cuts) => {
        const text = rows.map((row) => csvLine(row.map(guarded))).join('');
        expect(
          rows
            .flat()
            .map(guarded)
            .filter((each) => /^[=+\-@\t\r]/.test(each ?? '')),
        ).toEqual([]);
        const read: unknown[] = [];
        let rest = '';
        const places = [
          ...cuts.map((cut) => Math.min(cut, text.length)).toSorted((a, b) => a - b),
          text.length,
        ];
        for (const [at, place] of places.entries()) {
          const part = readCsv(rest + text.slice(places[at - 1] ?? 0, place), ',', at === places.length - 1);
          read.push(...part.records.map((record) => record.map(unguarded)));
          rest = part.rest;
        }
        expect(read).toEqual(rows);
      },
    ),
  );
});

const animals = fc.uniqueArray(
  fc.record({
    name: fc
      .oneof(
        fc.constantFrom('=1+1', "'-x", 'a,b', '"q"', '-5', '+49', '007', '1e3'),
        fc.string({ minLength: 1, maxLength: 30 }),
      )
      .map((text) => text.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim())
      .filter((text) => text !== ''),
    kind: fc.constantFrom('cat', 'dog', 'goat'),
    born: fc.option(fc.constantFrom('2020-02-29', '1999-12-31'), { nil: undefined }),
    fee: fc.nat({ max: 1e12 }),
    insured: fc.boolean(),
    keeper: fc.boolean(),
  }),
  { selector: ({ name }) => name.toLowerCase(), minLength: 1, maxLength: 8 },
);

test('what is exported and imported elsewhere is the same, and imported again by id it changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(animals, async (given) => {
      await using from = await testApp(clinic);
      await using to = await testApp(clinic);
      const shown: unknown[] = [];
      let file = '';
      for (const instance of [from, to]) {
        const ada = instance.as('ada', { role: 'owner' });
        const grace = await ada.call('keeper/create', { name: '@Grace' });
        const run = async (csv: string, plan: object) => {
          const { id } = await ada.call('animal/import', { csv, ...plan });
          await instance.deliver();
          await ada.call('animal/import-apply', { import: id });
          await instance.deliver();
          expect(await ada.call('animal/import-show', { import: id })).toMatchObject({
            state: 'done',
            errors: 0,
          });
        };
        if (instance === from) {
          for (const { keeper, born, ...each } of given)
            await ada.call('animal/create', {
              ...each,
              ...(born === undefined ? {} : { born }),
              ...(keeper ? { keeper: grace.id } : {}),
            } as never);
          file = (await ada.call('animal/export', {})).csv;
          const before = (await ada.call('animal/list', {})).items;
          await run(file, { key: 'id', duplicates: 'update' });
          expect((await ada.call('animal/list', {})).items).toEqual(before);
        } else
          await run(file, {
            columns: {
              name: 'name',
              kind: 'kind',
              born: 'born',
              fee: 'fee',
              insured: 'insured',
              keeper: 'keeper',
            },
          });
        const { items } = await ada.call('animal/list', { sort: 'name', limit: 200 });
        shown.push(
          items.map(({ id: _id, createdAt: _created, updatedAt: _updated, keeper, ...rest }) => ({
            ...rest,
            keeper: keeper?.name ?? null,
          })),
        );
      }
      expect(shown[1]).toEqual(shown[0]);
    }),
    { numRuns: 6 },
  );
});

function animalsWorkbook(): Uint8Array {
  const text = (words: string) => `<c t="inlineStr"><is><t>${words}</t></is></c>`;
  const rows = `<row>${text('Name')}${text('Fee')}${text('Born')}</row><row>${text('Tom')}<c><v>2.5</v></c><c/></row>`;
  return zipSync({
    'xl/workbook.xml': strToU8('<workbook/>'),
    'xl/worksheets/sheet1.xml': strToU8(`<worksheet><sheetData>${rows}</sheetData></worksheet>`),
  });
}

test('a file is sent and downloaded over its routes, in parts, and in the encodings of spreadsheets', async () => {
  await using instance = await testApp(clinic);
  const ada = instance.as('ada', { role: 'owner' });
  const lines = Array.from(
    { length: 4_000 },
    (_, n) => `Ä${n} with a name that is rather long for one,1\r\n`,
  );
  const file = new TextEncoder().encode(`name,fee\r\n${lines.join('')}x,\r\n`);
  const sent = await ada.http('POST', '/api/animal-imports/file?filename=a.csv', file, {
    'content-type': 'text/csv',
  });
  expect(sent.status).toBe(201);
  const { id, ...started } = (await sent.json()) as { readonly id: string };
  expect(started).toMatchObject({ state: 'checking', lines: 4_001, filename: 'a.csv' });
  const utf16 = new Uint8Array([0xff, 0xfe, ...Buffer.from('name;fee\r\nZoë;2,50\r\nBob;x', 'utf16le')]);
  const other = (await (await ada.http('POST', '/api/animal-imports/file', utf16)).json()) as {
    readonly id: string;
  };
  await instance.deliver();
  expect(await ada.call('animal/import-show', { import: id })).toMatchObject({ ready: 4_000, errors: 1 });
  const errors = await ada.http('GET', `/api/animal-imports/${other.id}/errors.csv`);
  expect(errors.headers.get('content-disposition')).toBe('attachment; filename="animal-errors.csv"');
  expect(await errors.text()).toBe('name,fee,error\r\nBob,x,"fee: must be an amount, such as 1250.00"\r\n');
  await ada.call('animal/import-apply', { import: other.id, errors: 'leave' });
  await instance.deliver();
  const download = await ada.http('GET', '/api/animal-exports/file?q=zoe&archived=false');
  expect((await download.text()).split('\r\n')[1]).toMatch(/^anm_\w+,Zoë,cat,,,2.50,false,,,/);
  expect((await ada.http('GET', '/api/animal-exports/file?insured=true')).status).toBe(400);
  const sheet = await ada.http('GET', '/api/animal-exports/file.xlsx?q=zoe');
  expect(sheet.headers.get('content-disposition')).toBe('attachment; filename="animal-export.xlsx"');
  const again = await ada.http('POST', '/api/animal-imports/file', new Uint8Array(await sheet.arrayBuffer()));
  expect(await again.json()).toMatchObject({ lines: 1, missing: [] });
  const bad = ['name,fee', ...Array.from({ length: 1_001 }, (_, n) => `x${n},many`)].join('\n');
  const wrong = (await (await ada.http('POST', '/api/animal-imports/file', bad)).json()) as {
    readonly id: string;
  };
  await instance.deliver();
  const all = await (await ada.http('GET', `/api/animal-imports/${wrong.id}/errors.csv`)).text();
  expect(
    all
      .trim()
      .split('\r\n')
      .map((line) => line.split(',', 1)[0]),
  ).toEqual(['name', ...Array.from({ length: 1_001 }, (_, n) => `x${n}`)]);
  const short = await ada.http('POST', '/api/animal-imports/file', `name,fee\n${'a,1\n'.repeat(12_000)}`);
  expect([short.status, await short.json()]).toMatchObject([201, { lines: 12_000 }]);
  const workbook = await ada.http('POST', '/api/animal-imports/file', animalsWorkbook());
  expect(await workbook.json()).toMatchObject({
    lines: 1,
    columns: [{ field: 'name' }, { field: 'fee' }, { field: 'born' }],
  });
  const latin1 = new Uint8Array([...Buffer.from('name,fee\r\nZo'), 0xeb, ...Buffer.from(',1')]);
  const refused = await ada.http('POST', '/api/animal-imports/file', latin1);
  expect([refused.status, await refused.json()]).toMatchObject([400, { reason: 'csv_malformed' }]);
  const guest = instance.as('gus', { role: 'guest' });
  for (const path of ['/api/animal-exports/file', `/api/animal-imports/${id}/errors.csv`])
    expect((await guest.http('GET', path)).status).toBe(403);
  expect((await guest.http('POST', '/api/animal-imports/file', file)).status).toBe(403);
  expect((await instance.anonymous.http('GET', '/api/animal-exports/file')).status).toBe(401);
});
