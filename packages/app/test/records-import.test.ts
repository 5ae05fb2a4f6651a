/** Records imported from CSV: judged before one counts, taken over unseen, shown at once, undone. */
import { openNodeDatabase } from '@freehold/engine-node';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { day, lineOfText, records, relation, statementsOf } from '../src/index.ts';
import { importKind } from '../src/records/partitions.ts';
import { testApp } from '../src/testing/index.ts';
import { clinic, keeper } from './clinic.ts';

async function openClinic() {
  const instance = await testApp(clinic);
  const ada = instance.as('ada', { role: 'owner' });
  const done = async (id: string) => {
    await instance.deliver();
    return ada.call('animal/import-show', { import: id });
  };
  return { instance, ada, done, [Symbol.asyncDispose]: () => instance.close() };
}

const csv = (...lines: string[]) => lines.map((line) => `${line}\r\n`).join('');

test('a file is judged, taken over, seen at once, and every record has its event', async () => {
  await using opened = await openClinic();
  const { instance, ada, done } = opened;
  const grace = await ada.call('keeper/create', { name: 'Grace', phone: '1' });
  const started = await ada.call('animal/import', {
    filename: 'animals.csv',
    csv: csv(
      'Name,KIND,Fee,born,insured,Keeper,ignored',
      'Tom,dog,"12,50",10.3.2020,yes,grace,x',
      'Kim,,0.5,,,,',
    ),
  });
  expect(started).toMatchObject({
    state: 'checking',
    lines: 2,
    missing: [],
    columns: [
      { name: 'Name', field: 'name' },
      { name: 'KIND', field: 'kind' },
      { name: 'Fee', field: 'fee' },
      { name: 'born', field: 'born' },
      { name: 'insured', field: 'insured' },
      { name: 'Keeper', field: 'keeper' },
      { name: 'ignored', field: null },
    ],
  });
  expect(await done(started.id)).toMatchObject({ state: 'checked', ready: 2, errors: 0 });
  expect((await ada.call('animal/list', {})).items).toEqual([]);
  await ada.call('animal/import-apply', { import: started.id });
  expect(await done(started.id)).toMatchObject({ state: 'done', made: 2, done: 2, total: 2, error: null });
  const { items } = await ada.call('animal/list', { sort: 'name' });
  expect(items).toMatchObject([
    { name: 'Kim', kind: 'cat', fee: 50, born: null, insured: false, keeper: null },
    {
      name: 'Tom',
      kind: 'dog',
      fee: 1_250,
      born: '2020-03-10',
      insured: true,
      keeper: { id: grace.id, name: 'Grace' },
    },
  ]);
  const events = await instance.events({ type: 'animal', id: items[0]?.id as string });
  expect(events).toMatchObject([
    { type: 'animal.created', operation: 'animal/import', actor: await ada.principal() },
  ]);
  expect((await ada.call('animal/list', { q: 'tom' })).items).toHaveLength(1);
});

test('errors come back by line in a file that can be corrected and sent again', async () => {
  await using opened = await openClinic();
  const { ada, done } = opened;
  await ada.call('animal/create', { name: 'Rex', fee: 0 });
  const { id } = await ada.call('animal/import', {
    csv: csv(
      'name,fee,born,seen,keeper,kind',
      'Tom,1,,,,',
      ',1,,,,',
      ',,,,,',
      '',
      'Ann,many,2020-01-02,2020-01-01,,cow',
      'Bob,1,,,Nina,',
      '"=1+1",1.234,,,,',
    ),
  });
  expect(await done(id)).toMatchObject({ state: 'checked', ready: 1, errors: 4 });
  await expect(ada.call('animal/import-apply', { import: id })).rejects.toMatchObject({
    code: 'conflict',
    reason: 'import_errors',
  });
  const errors = await ada.call('animal/import-errors', { import: id });
  expect(errors).toMatchObject({ rows: 4, nextCursor: null });
  const lines = errors.csv.split('\r\n');
  expect(lines[0]).toBe('name,fee,born,seen,keeper,kind,error');
  expect(lines[1]).toMatch(/^,1,,,,,.*name: /);
  expect(lines[2]).toContain('fee: must be an amount, such as 1250.00');
  expect(lines[2]).toContain('kind: must be one of cat, dog, goat');
  expect(lines[3]).toBe('Bob,1,,,Nina,,keeper: there is no such keeper');
  expect(lines[4]).toBe('\'=1+1,1.234,,,,,"fee: must be an amount, such as 1250.00"');
  const corrected = errors.csv
    .replace(',1,,,,,', 'Zoe,1,,,,,')
    .replace('many', '2')
    .replace('2020-01-01', '2020-01-03')
    .replace('cow', 'goat')
    .replace('Nina', '')
    .replace('1.234', '1.23');
  const again = await ada.call('animal/import', { csv: corrected });
  expect(await done(again.id)).toMatchObject({ state: 'checked', ready: 4, errors: 0 });
  await ada.call('animal/import-apply', { import: again.id });
  await ada.call('animal/import-apply', { import: id, errors: 'leave' }).catch(() => undefined);
  await done(again.id);
  await ada.call('animal/import-apply', { import: id, errors: 'leave' });
  expect(await done(id)).toMatchObject({ state: 'done', made: 1 });
  const { items } = await ada.call('animal/list', { sort: 'name' });
  expect(items.map(({ name }) => name)).toEqual(['=1+1', 'Ann', 'Bob', 'Rex', 'Tom', 'Zoe']);
});

test('a file can come in parts, cut anywhere, and a part that is sent again counts once', async () => {
  await using opened = await openClinic();
  const { ada, done } = opened;
  const text = csv('name,fee', '"To, ""the"" cat",1', 'Kim,2', '"a,b",3');
  const cuts = [11, 14, 17, 22, 30, 33];
  const parts = cuts.map((cut, at) => text.slice(cuts[at - 1] ?? 0, cut));
  const { id } = await ada.call('animal/import', { csv: parts[0] as string, isLast: false });
  for (const [at, part] of parts.slice(1).entries())
    for (let times = 0; times < 2; times++)
      await ada.call('animal/import-part', { import: id, part: at + 2, csv: part, isLast: false });
  const last = { import: id, part: parts.length + 1, csv: text.slice(33), isLast: true };
  expect(await ada.call('animal/import-part', last)).toMatchObject({ state: 'checking', lines: 3 });
  await expect(ada.call('animal/import-part', { ...last, part: 99 })).rejects.toMatchObject({
    reason: 'import_part',
  });
  await done(id);
  await ada.call('animal/import-apply', { import: id });
  await done(id);
  const { items } = await ada.call('animal/list', { sort: 'fee' });
  expect(items.map(({ name }) => name)).toEqual(['To, "the" cat', 'Kim', 'a,b']);
});

test('columns are mapped by hand where names do not say it, and judged anew', async () => {
  await using opened = await openClinic();
  const { ada, done } = opened;
  const { id, state, missing } = await ada.call('animal/import', { csv: csv('Rufname;Preis', 'Tom;1,50') });
  expect([state, missing]).toEqual(['mapping', ['name', 'fee']]);
  await expect(
    ada.call('animal/import-check', { import: id, columns: { Rufname: 'nam', Preis: 'fee' } }),
  ).rejects.toMatchObject({ code: 'validation_failed', errors: [{ path: 'columns.Rufname' }] });
  await ada.call('animal/import-check', { import: id, columns: { Rufname: 'name', Preis: 'fee' } });
  expect(await done(id)).toMatchObject({ state: 'checked', ready: 1 });
});

test('duplicates by a key are refused, skipped or updated; the same key twice in a file is an error', async () => {
  await using opened = await openClinic();
  const { instance, ada } = opened;
  const grace = await ada.call('keeper/create', { name: 'Grace', phone: '1' });
  const file = csv('name,phone', 'Gracie,1', 'Ann,2', 'Anne,2', 'Bob,');
  const run = async (given: object) => {
    const { id } = await ada.call('keeper/import', { csv: file, ...given });
    await instance.deliver();
    return ada.call('keeper/import-show', { import: id });
  };
  expect(await run({})).toMatchObject({ ready: 2, errors: 2, skipped: 0, updates: 0 });
  expect(await run({ key: 'phone' })).toMatchObject({ ready: 2, errors: 2 });
  expect(await run({ key: 'phone', duplicates: 'skip' })).toMatchObject({ ready: 2, errors: 1, skipped: 1 });
  const { id, ...judged } = await run({ key: 'phone', duplicates: 'update' });
  expect(judged).toMatchObject({ ready: 2, errors: 1, updates: 1 });
  const errors = await ada.call('keeper/import-errors', { import: id });
  expect(errors.csv).toContain('Anne,2,phone: line 3 has the same');
  await ada.call('keeper/import-apply', { import: id, errors: 'leave' });
  await instance.deliver();
  expect(await ada.call('keeper/import-show', { import: id })).toMatchObject({
    state: 'done',
    made: 2,
    changed: 1,
    errors: 1,
  });
  expect(await ada.call('keeper/get', { keeper: grace.id })).toMatchObject({ name: 'Gracie', phone: '1' });
  await expect(ada.call('keeper/import', { csv: file, duplicates: 'skip' })).rejects.toMatchObject({
    errors: [{ path: 'key' }],
  });
});

test('an erasure reaches staged lines: those of the person, those that name them, and the half of a line', async () => {
  await using opened = await openClinic();
  const { instance, ada, done } = opened;
  const { id } = await ada.call('keeper/create', { name: 'Grace Hopper', phone: '0664 1' });
  const files = {
    keepers: 'name,phone\nGRACE HOPPER,2\nAlan,0664 1\nTuring,3\n',
    animals: 'name,fee,keeper\nTom,1,Grace Hopper\nKim,2,\n',
  };
  const keepers = await ada.call('keeper/import', { csv: files.keepers });
  const animals = await ada.call('animal/import', { csv: files.animals });
  const half = await ada.call('animal/import', { csv: 'name,fee,keeper\nRex,1,Grace Ho', isLast: false });
  const rest = await ada.call('animal/import', { csv: 'name,fee,keeper\nRex,1,Grace Hopper', isLast: false });
  await instance.deliver();
  const erased = await ada.http('POST', `/api/keepers/${id}/erase`, {});
  expect(erased.status).toBe(200);
  const staged = (work: string) =>
    instance.sql<{ value: string }>('SELECT value FROM _spine_work_rows WHERE work = ?', work);
  expect(staged(keepers.id).map(({ value }) => JSON.parse(value)[0])).toEqual(['Turing']);
  expect(staged(animals.id).map(({ value }) => JSON.parse(value)[0])).toEqual(['Kim']);
  const keys = instance.sql<{ key: string }>('SELECT key FROM _spine_work_keys WHERE work = ?', keepers.id);
  expect(keys.map(({ key }) => JSON.parse(key).at(-1))).toEqual(['3']);
  expect(await done(rest.id)).toMatchObject({ state: 'cancelled' });
  expect(await ada.call('animal/import-show', { import: half.id })).toMatchObject({ state: 'receiving' });
  await ada.call('keeper/import-apply', { import: keepers.id, errors: 'leave' });
  await instance.deliver();
  expect(await ada.call('keeper/import-show', { import: keepers.id })).toMatchObject({
    state: 'done',
    made: 1,
  });
});

test('an erasure reaches the earlier values of a record that an import changed, whatever its name is by now', async () => {
  await using opened = await openClinic();
  const { instance, ada } = opened;
  const { id: keeper } = await ada.call('keeper/create', { name: 'Grace Hopper' });
  const { id } = await ada.call('keeper/import', {
    csv: `id,name\n${keeper},Grace Brewster\n`,
    key: 'id',
    duplicates: 'update',
  });
  await instance.deliver();
  await ada.call('keeper/import-apply', { import: id });
  await instance.deliver();
  await ada.call('keeper/update', { keeper, name: 'Amazing Grace' });
  const staged = () =>
    instance.sql<{ value: string }>('SELECT value FROM _spine_work_rows WHERE work = ?', id);
  expect(staged()).toHaveLength(1);
  expect((await ada.http('POST', `/api/keepers/${keeper}/erase`, {})).status).toBe(200);
  expect(staged()).toEqual([]);
});

test('an erasure looks for words about the person, and for no number, day, choice or relation: others have the same', () => {
  const member = records('member', {
    fields: z.object({
      name: lineOfText(120),
      level: z.enum(['m', 'f']),
      age: z.int(),
      since: day(),
      keeper: relation(keeper).optional(),
    }),
    personal: ['name', 'level', 'age', 'since', 'keeper'],
    sort: ['name'],
    permissions: { read: 'a', write: 'a', import: 'a' },
  });
  const { db, close } = openNodeDatabase(':memory:');
  for (const sql of [...statementsOf(keeper.table), ...statementsOf(member.table)]) db.exec(sql);
  const [id, keeperId] = ['mem_01j00000000000000000000001', 'kpr_01j00000000000000000000001'];
  db.run("INSERT INTO keepers (id, created_at, updated_at, name) VALUES (?, 1, 1, 'Alan')", keeperId);
  db.run(
    `INSERT INTO members (id, created_at, updated_at, name, level, age, since, keeper)
     VALUES (?, 1, 1, 'Grace', 'f', 42, '2026-03-10', ?)`,
    ...[id, keeperId],
  );
  const work = member.works[importKind('member')];
  expect(work?.namesOf?.({ sql: db }, id)).toEqual(['Grace']);
  close();
});

test('everything that an import made is archived by one operation', async () => {
  await using opened = await openClinic();
  const { instance, ada, done } = opened;
  await ada.call('animal/create', { name: 'Old', fee: 0 });
  const { id } = await ada.call('animal/import', { csv: csv('name,fee', 'Tom,1', 'Kim,2') });
  await done(id);
  await ada.call('animal/import-apply', { import: id });
  await done(id);
  const helper = instance.as('hal', { role: 'helper' });
  expect(await helper.call('animal/import-undo', { import: id })).toMatchObject({ state: 'undoing' });
  expect(await done(id)).toMatchObject({ state: 'undone' });
  expect((await ada.call('animal/list', {})).items).toMatchObject([{ name: 'Old' }]);
  expect((await ada.call('animal/list', { archived: true, sort: 'name' })).items).toMatchObject([
    { name: 'Kim' },
    { name: 'Tom' },
  ]);
});

test('what an import changed gets its values back, but for what was changed since or no longer fits', async () => {
  await using opened = await openClinic();
  const { instance, ada } = opened;
  const names = ['Ann', 'Bob', 'Cid', 'Dan', 'Eve', 'Fay'];
  const ids = await Promise.all(
    names.map(async (name, n) => (await ada.call('keeper/create', { name, phone: `${n}` })).id),
  );
  const [ann, bob, cid, dan, eve, fay] = ids as [string, string, string, string, string, string];
  const run = async (lines: readonly string[]) => {
    const { id } = await ada.call('keeper/import', { csv: csv(...lines), key: 'id', duplicates: 'update' });
    await instance.deliver();
    await ada.call('keeper/import-apply', { import: id });
    await instance.deliver();
    return ada.call('keeper/import-show', { import: id });
  };
  const { id, state, changed } = await run([
    'id,name,phone',
    `${ann},Anna,a`,
    `${bob},Bobby,b`,
    `${cid},Cindy,`,
    `${dan},Danny,3`,
    `${eve},Eva,4`,
    `${fay},Faye,5`,
  ]);
  expect([state, changed]).toEqual(['done', 6]);
  await ada.call('keeper/create', { name: 'New', phone: '1' });
  await ada.call('keeper/update', { keeper: dan, name: 'Later' });
  await ada.call('keeper/update', { keeper: eve, phone: 'new' });
  await ada.call('keeper/archive', { keeper: fay });
  await ada.call('keeper/import-undo', { import: id });
  await instance.deliver();
  expect(await ada.call('keeper/import-show', { import: id })).toMatchObject({ state: 'undone', left: 3 });
  const shown = await Promise.all(ids.map((keeper) => ada.call('keeper/get', { keeper })));
  expect(shown.map(({ name, phone }) => [name, phone])).toEqual([
    ['Ann', '0'],
    ['Bobby', 'b'],
    ['Cid', '2'],
    ['Later', '3'],
    // A field that the import left alone was changed.
    ['Eve', 'new'],
    ['Faye', '5'],
  ]);
  const events = await instance.events({ type: 'keeper', id: ann });
  expect(events.map(({ type }) => type)).toEqual(['keeper.created', 'keeper.updated', 'keeper.updated']);
});

/** Watches while the scope works: asks again and again, until it is done. */
async function meanwhile<T>(work: Promise<unknown>, ask: () => Promise<T>): Promise<T[]> {
  const seen: T[] = [];
  let isDone = false;
  void work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    seen.push(await ask());
    await new Promise(setImmediate);
  }
  await work;
  return seen;
}

/** Odd numbers below a thousand that begin with a one. */
const SHOWN_HITS = 56;

const many = (count: number) =>
  csv('name,fee', ...Array.from({ length: count }, (_, n) => `${n % 2 === 0 ? 'tom' : 'Tim'}${n},${n}`));

test('no list, search or look sees a record before the last one is made; then all are there, in their order', async () => {
  await using opened = await openClinic();
  const { instance, ada, done } = opened;
  for (const name of ['tam', 'Ton']) await ada.call('animal/create', { name, fee: 7 });
  const { id } = await ada.call('animal/import', { csv: many(1_000) });
  await done(id);
  await ada.call('animal/import-apply', { import: id });
  const seen = await meanwhile(instance.deliver(), async () => {
    const [hidden] = instance.sql<{ id: string | null }>(
      'SELECT max(id) AS id FROM animals WHERE archived = 2',
    );
    const show = () => ada.call('animal/import-show', { import: id });
    const [before, list, hits, looked, after] = await Promise.all([
      show(),
      ada.call('animal/list', { sort: 'name', limit: 200 }),
      ada.call('animal/list', { q: 'tim1', sort: '-fee', limit: 200 }),
      hidden?.id ? ada.attempt('animal/get', { animal: hidden.id }) : null,
      show(),
    ]);
    const next =
      list.nextCursor === null
        ? []
        : (await ada.call('animal/list', { sort: 'name', limit: 200, cursor: list.nextCursor })).items;
    return {
      state: before.state === after.state ? after.state : 'between',
      names: [...list.items, ...next].map(({ name }) => name),
      hits: hits.items.length,
      found: looked === null ? null : looked.refused === null,
    };
  });
  const phases = Object.groupBy(seen, ({ state }) => state);
  expect(Object.keys(phases)).toEqual(expect.arrayContaining(['applying', 'finishing']));
  for (const { names, hits, found } of phases.applying ?? []) {
    expect(names).toEqual(['tam', 'Ton']);
    expect(hits).toBe(0);
    expect(found).not.toBe(true);
  }
  const sorted = (await ada.call('animal/list', { sort: 'name', limit: 200 })).items.map(({ name }) => name);
  for (const { names, hits, found } of [...(phases.finishing ?? []), ...(phases.done ?? [])]) {
    expect(names.slice(0, 200)).toEqual(sorted);
    expect(new Set(names).size).toBe(400);
    expect(hits).toBe(SHOWN_HITS);
    expect(found).not.toBe(false);
  }
});

test('a record that is changed before it was moved has been made first', async () => {
  await using opened = await openClinic();
  const { instance, ada, done } = opened;
  const { id } = await ada.call('animal/import', { csv: many(900) });
  await done(id);
  await ada.call('animal/import-apply', { import: id });
  let touched = '';
  await meanwhile(instance.deliver(), async () => {
    if (touched !== '') return;
    const [last] = (await ada.call('animal/list', { sort: '-fee', limit: 1 })).items;
    if (!last) return;
    touched = last.id;
    await ada.call('animal/update', { animal: touched, name: 'Last' });
  });
  const events = await instance.events({ type: 'animal', id: touched });
  expect(events.map(({ type, operation }) => [type, operation])).toEqual([
    ['animal.created', 'animal/update'],
    ['animal.updated', 'animal/update'],
  ]);
  expect(await done(id)).toMatchObject({ state: 'done', made: 900 });
  expect((await ada.call('animal/list', { q: 'last' })).items).toMatchObject([{ id: touched, fee: 89_900 }]);
});

test.each([
  ['cancelled', async (api: Api, id: string) => void (await api('POST', `/api/long-works/${id}/cancel`))],
  ['failed', async (_api: Api, _id: string, lose: () => void) => lose()],
])('an import that is %s while it is taken over leaves nothing', async (state, end) => {
  await using opened = await openClinic();
  const { instance, ada } = opened;
  const hal = instance.as('hal', { role: 'helper' });
  const { id } = await hal.call('animal/import', { csv: many(900) });
  await instance.deliver();
  await hal.call('animal/import-apply', { import: id });
  let isEnded = false;
  await meanwhile(instance.deliver(), async () => {
    const [{ hidden } = { hidden: 0 }] = instance.sql<{ hidden: number }>(
      'SELECT count(*) AS hidden FROM animals',
    );
    if (isEnded || hidden === 0) return;
    isEnded = true;
    await end(hal.http, id, () => instance.as('hal', { role: 'guest' }));
  });
  const works = (await (await hal.http('GET', '/api/long-works')).json()) as {
    readonly items: readonly { readonly error: unknown }[];
  };
  expect(works).toMatchObject({ items: [{ id, state, kind: 'animal/import' }], nextCursor: null });
  if (state === 'failed') expect(works.items[0]?.error).toMatchObject({ code: 'permission_denied' });
  for (const table of ['animals', 'animals_words', '_spine_work_rows', '_spine_work_keys'])
    expect(instance.sql(`SELECT * FROM ${table}`)).toEqual([]);
  expect((await ada.call('animal/list', {})).items).toEqual([]);
});
type Api = (method: string, path: string) => Promise<Response>;

test('one import of a type is taken over at a time, and what is staged is seen by its sender alone', async () => {
  await using opened = await openClinic();
  const { instance, ada } = opened;
  const hal = instance.as('hal', { role: 'helper' });
  const [first, second] = [
    await ada.call('animal/import', { csv: many(3) }),
    await ada.call('animal/import', { csv: csv('name,fee', 'Zoe,1') }),
  ];
  await instance.deliver();
  await ada.call('animal/import-apply', { import: first.id });
  await expect(ada.call('animal/import-apply', { import: second.id })).rejects.toMatchObject({
    reason: 'import_running',
  });
  for (const operation of ['animal/import-errors', 'animal/import-apply', 'animal/import-check'] as const)
    await expect(hal.call(operation, { import: second.id })).rejects.toMatchObject({ code: 'not_found' });
  await expect(hal.call('keeper/import-show', { import: first.id })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('an import says of a record that may not be read no more than of one that is not there', async () => {
  await using opened = await openClinic();
  const { instance, ada } = opened;
  const hal = instance.as('hal', { role: 'helper' });
  const grace = await ada.call('keeper/create', { name: 'Grace', phone: '1' });
  const tom = await ada.call('animal/create', { name: 'Tom', fee: 0, keeper: grace.id });
  const unknown = `${grace.id.slice(0, -4)}0000`;
  const errorsOf = async (keepers: readonly string[], plan: object = {}) => {
    const { id } = await hal.call('animal/import', {
      csv: csv('id,name,fee,keeper,keeper.id', ...keepers),
      ...plan,
    });
    await instance.deliver();
    const { csv: text } = await hal.call('animal/import-errors', { import: id });
    return text
      .trim()
      .split('\r\n')
      .slice(1)
      .map((line) => line.slice(line.lastIndexOf(',') + 1));
  };
  const said = await errorsOf([
    `,A,1,Grace,`,
    `,A,1,Grade,`,
    `,A,1,,${grace.id}`,
    `,A,1,,${unknown}`,
    `,A,1,${grace.id},`,
  ]);
  expect(new Set(said)).toEqual(new Set(['keeper: there is no such keeper']));
  expect(said).toHaveLength(5);
  // An empty cell does not clear what its writer cannot see.
  const { id } = await hal.call('animal/import', {
    csv: csv('id,name,fee,keeper,keeper.id', `${tom.id},Tim,2,,`),
    key: 'id',
    duplicates: 'update',
  });
  await instance.deliver();
  await hal.call('animal/import-apply', { import: id });
  await instance.deliver();
  expect(await ada.call('animal/get', { animal: tom.id })).toMatchObject({
    name: 'Tim',
    fee: 200,
    keeper: { id: grace.id },
  });
});

test('no transaction of an import has more than its share of the lines', async () => {
  await using opened = await openClinic();
  const { instance, ada } = opened;
  const csvOf = (count: number) => csv('name,phone', ...Array.from({ length: count }, (_, n) => `Kay,${n}`));
  await expect(ada.call('keeper/import', { csv: csvOf(5_001) })).rejects.toMatchObject({
    code: 'payload_too_large',
    reason: 'import_part_lines',
  });
  const { id } = await ada.call('keeper/import', { csv: csvOf(1_200) });
  const steps = async () => {
    await instance.deliver();
    return ((await (await ada.http('GET', `/api/long-works/${id}`)).json()) as { step: number }).step;
  };
  // Fifty lines each at most, and one that finds no more.
  const judged = await steps();
  expect(judged).toBeGreaterThanOrEqual(25);
  await ada.call('keeper/import-check', { import: id });
  // The keys of the first judgement are given back a thousand at a time.
  const again = await steps();
  expect(again - judged).toBeGreaterThanOrEqual(1 + 25);
  expect(await ada.call('keeper/import-show', { import: id })).toMatchObject({ ready: 1_200, errors: 0 });
  await ada.call('keeper/import-apply', { import: id });
  // Made, moved, and none to change.
  expect((await steps()) - again).toBeGreaterThanOrEqual(25 + 25 + 1);
  const perTransaction = instance.sql<{ n: number }>(
    `SELECT count(*) AS n FROM _spine_events WHERE type = 'keeper.created' GROUP BY invocation`,
  );
  expect(Math.max(...perTransaction.map(({ n }) => n))).toBeLessThanOrEqual(50);
  expect(perTransaction.reduce((sum, { n }) => sum + n, 0)).toBe(1_200);
});
