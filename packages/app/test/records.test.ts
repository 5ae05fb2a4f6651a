/** Records: what a declaration of fields does, on an instance in memory. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { day, defineApp, records, relation, signedIn, statementsOf } from '../src/index.ts';
import { testApp } from '../src/testing/index.ts';
import { clinic, keeper } from './clinic.ts';

async function openClinic() {
  const instance = await testApp(clinic);
  const ada = instance.as('ada', { role: 'owner' });
  return { instance, ada, [Symbol.asyncDispose]: () => instance.close() };
}

test('a record is made, shown, changed, archived and taken back, each with an event', async () => {
  await using clinicOpen = await openClinic();
  const { instance, ada } = clinicOpen;
  const grace = await ada.call('keeper/create', { name: 'Grace', phone: '0123' });
  const tom = await ada.call('animal/create', { name: 'Tom', fee: 1_250, keeper: grace.id });
  expect(tom).toMatchObject({
    name: 'Tom',
    kind: 'cat',
    born: null,
    fee: 1_250,
    insured: false,
    keeper: { id: grace.id, name: 'Grace' },
    archivedAt: null,
  });
  const changed = await ada.call('animal/update', { animal: tom.id, born: '2024-02-29', insured: true });
  expect(changed).toMatchObject({ name: 'Tom', born: '2024-02-29', insured: true });
  expect(await ada.call('animal/update', { animal: tom.id, born: null })).toMatchObject({ born: null });
  expect(await ada.call('animal/archive', { animal: tom.id })).toMatchObject({
    archivedAt: expect.any(String),
  });
  expect((await ada.call('animal/list', {})).items).toEqual([]);
  expect((await ada.call('animal/list', { archived: true })).items).toHaveLength(1);
  await expect(ada.call('animal/update', { animal: tom.id, name: 'Tim' })).rejects.toMatchObject({
    code: 'invalid_transition',
    reason: 'archived',
  });
  await ada.call('animal/unarchive', { animal: tom.id });
  expect((await ada.call('animal/list', {})).items).toMatchObject([{ id: tom.id }]);
  const events = await instance.events({ type: 'animal', id: tom.id });
  expect(events.map(({ type, payload }) => [type, payload])).toEqual(
    expect.arrayContaining([
      ['animal.created', expect.objectContaining({ name: 'Tom', keeper: grace.id })],
      ['animal.updated', { born: '2024-02-29', insured: true }],
      ['animal.updated', { born: null }],
    ]),
  );
  expect(events).toHaveLength(5);
});

test('a change of nothing is none, and fields that are not declared are refused', async () => {
  await using clinicOpen = await openClinic();
  const { instance, ada } = clinicOpen;
  const tom = await ada.call('animal/create', { name: 'Tom', fee: 0 });
  await ada.call('animal/update', { animal: tom.id, name: 'Tom' });
  expect(await instance.events({ type: 'animal', id: tom.id })).toHaveLength(1);
  await expect(
    ada.call('animal/create', { name: 'Tom', fee: 0, colour: 'red' } as never),
  ).rejects.toMatchObject({
    code: 'validation_failed',
  });
  await expect(ada.call('animal/update', { animal: tom.id, fee: null } as never)).rejects.toMatchObject({
    code: 'validation_failed',
  });
});

test('a rule between fields holds for the whole record, when one field of it is changed', async () => {
  await using clinicOpen = await openClinic();
  const { ada } = clinicOpen;
  const tom = await ada.call('animal/create', { name: 'Tom', fee: 0, born: '2024-05-01' });
  await expect(ada.call('animal/update', { animal: tom.id, seen: '2024-04-30' })).rejects.toMatchObject({
    code: 'validation_failed',
    errors: [{ path: 'seen', message: 'must not be before the day of birth' }],
  });
  expect(await ada.call('animal/update', { animal: tom.id, seen: '2024-05-02' })).toMatchObject({
    seen: '2024-05-02',
  });
});

test('what must differ is refused at the field, and an archived record does not count until it comes back', async () => {
  await using clinicOpen = await openClinic();
  const { ada } = clinicOpen;
  const grace = await ada.call('keeper/create', { name: 'Grace', phone: 'X1' });
  const taken = {
    code: 'conflict',
    reason: 'taken',
    errors: [{ path: 'phone', message: 'is taken already' }],
  };
  await expect(ada.call('keeper/create', { name: 'Eve', phone: 'x1' })).rejects.toMatchObject(taken);
  // Left out, it differs from everything.
  await ada.call('keeper/create', { name: 'Bob' });
  await ada.call('keeper/create', { name: 'Cid' });
  await ada.call('keeper/archive', { keeper: grace.id });
  const eve = await ada.call('keeper/create', { name: 'Eve', phone: 'x1' });
  await expect(ada.call('keeper/unarchive', { keeper: grace.id })).rejects.toMatchObject(taken);
  await ada.call('keeper/update', { keeper: eve.id, phone: null });
  await ada.call('keeper/unarchive', { keeper: grace.id });
});

test('a relation names a record that is there, is not archived, and that the caller may read', async () => {
  await using clinicOpen = await openClinic();
  const { instance, ada } = clinicOpen;
  const [grace, gone] = await Promise.all(
    ['Grace', 'Gone'].map((name) => ada.call('keeper/create', { name })),
  );
  await ada.call('keeper/archive', { keeper: gone?.id as string });
  const refused = {
    code: 'validation_failed',
    errors: [{ path: 'keeper', message: 'there is no such keeper' }],
  };
  const make = (person: typeof ada, keeper: string) =>
    person.call('animal/create', { name: 'Tom', fee: 0, keeper: keeper });
  await expect(make(ada, gone?.id as string)).rejects.toMatchObject(refused);
  await expect(make(ada, `kpr_${'0'.repeat(26)}`)).rejects.toMatchObject(refused);
  const helper = instance.as('bob', { role: 'helper' });
  await expect(make(helper, grace?.id as string)).rejects.toMatchObject(refused);
  const tom = await make(ada, grace?.id as string);
  expect(await helper.call('animal/get', { animal: tom.id })).toMatchObject({
    keeper: { id: null, name: null },
  });
  // Another field can be changed without a look at the keeper.
  expect(await helper.call('animal/update', { animal: tom.id, fee: 7 })).toMatchObject({ fee: 7 });
  expect(await ada.call('animal/get', { animal: tom.id })).toMatchObject({ keeper: { name: 'Grace' } });
  // A caller who may not read a keeper does not learn by asking whose an animal is.
  const of = (person: typeof ada) => person.call('animal/list', { keeper: grace?.id as string });
  expect([(await of(ada)).items.length, (await of(helper)).items.length]).toEqual([1, 0]);
});

test('personal fields are in no event', async () => {
  await using clinicOpen = await openClinic();
  const { instance, ada } = clinicOpen;
  // No id has these by chance: none has two hyphens.
  const grace = await ada.call('keeper/create', { name: 'Grace', phone: '0-1-23' });
  await ada.call('keeper/update', { keeper: grace.id, phone: '9-9-9' });
  const events = await instance.events({ type: 'keeper', id: grace.id });
  expect(events.map(({ payload }) => payload).toSorted()).toEqual([
    { personal: ['name', 'phone'] },
    { personal: ['phone'] },
  ]);
  expect(JSON.stringify(events)).not.toMatch(/Grace|0-1-23|9-9-9/);
});

test('a list has its orders in both directions, page by page, without a gap or a double', async () => {
  await using clinicOpen = await openClinic();
  const { ada } = clinicOpen;
  const names = ['Zoe', 'ada', 'Bär', 'bob', 'Ada', 'cid', 'Bob', 'Dan'];
  for (const [index, name] of names.entries())
    await ada.call('animal/create', { name, fee: (index * 7) % 3, kind: index % 2 ? 'dog' : 'cat' });
  const walk = async (input: Record<string, string>): Promise<string[]> => {
    const found: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await ada.call('animal/list', {
        ...input,
        limit: 3,
        ...(cursor !== undefined && { cursor }),
      });
      found.push(...page.items.map(({ name }) => name as string));
      cursor = page.nextCursor;
    }
    return found;
  };
  const byName = await walk({});
  expect(byName.map((name) => name.toLowerCase())).toEqual(
    names.map((name) => name.toLowerCase()).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
  );
  expect(await walk({ sort: '-name' })).toEqual(byName.toReversed());
  expect(await walk({ sort: 'createdAt' })).toEqual(names);
  const dogs = names
    .map((name, index) => ({ name, fee: (index * 7) % 3 }))
    .filter((_, index) => index % 2 === 1);
  // Of one fee, the newest comes first.
  const expected = dogs.toReversed().toSorted((a, b) => b.fee - a.fee);
  expect(await walk({ sort: '-fee', kind: 'dog' })).toEqual(expected.map(({ name }) => name));
  const { nextCursor } = await ada.call('animal/list', { limit: 1 });
  await expect(ada.call('animal/list', { sort: 'fee', cursor: nextCursor as string })).rejects.toMatchObject({
    code: 'validation_failed',
    errors: [{ path: 'cursor' }],
  });
});

test('a list can be narrowed by what is declared, and by nothing else', async () => {
  await using clinicOpen = await openClinic();
  const { ada } = clinicOpen;
  for (const [name, kind, insured] of [
    ['Tom', 'cat', true],
    ['Rex', 'dog', true],
    ['Kit', 'cat', false],
  ] as const)
    await ada.call('animal/create', { name, kind, insured, fee: 0 });
  const names = async (input: Record<string, string | boolean>) =>
    (await ada.call('animal/list', input)).items.map(({ name }) => name);
  expect(await names({ kind: 'cat' })).toEqual(['Kit', 'Tom']);
  expect(await names({ kind: 'cat', insured: true })).toEqual(['Tom']);
  await expect(names({ insured: true })).rejects.toMatchObject({
    code: 'validation_failed',
    errors: [{ path: 'insured', message: expect.stringContaining('kind with insured') }],
  });
  await expect(names({ born: '2024-01-01' })).rejects.toMatchObject({ code: 'validation_failed' });
});

test('a search finds beginnings of words without accents and case, all of which must be there', async () => {
  await using clinicOpen = await openClinic();
  const { ada } = clinicOpen;
  for (const name of ['Björn the Brave', 'BJORN', 'Brave Heart', 'Żółw', '東京タワー'])
    await ada.call('keeper/create', { name });
  const found = async (q: string) => {
    const { items, cut } = await ada.call('keeper/list', { q });
    expect(cut).toBe(false);
    return items.map(({ name }) => name);
  };
  expect(await found('bjö')).toEqual(['BJORN', 'Björn the Brave']);
  expect(await found('bra bjorn')).toEqual(['Björn the Brave']);
  expect(await found('ZOŁW')).toEqual(['Żółw']);
  expect(await found('東京')).toEqual(['東京タワー']);
  expect(await found('rave')).toEqual([]);
  expect(await found('%')).toEqual([]);
  const [heart] = (await ada.call('keeper/list', { q: 'heart' })).items;
  await ada.call('keeper/update', { keeper: heart?.id as string, name: 'Lion' });
  expect([await found('heart'), await found('lion')]).toEqual([[], ['Lion']]);
  await ada.call('keeper/archive', { keeper: heart?.id as string });
  expect(await found('lion')).toEqual([]);
  expect((await ada.call('keeper/list', { q: 'lion', archived: true })).items).toHaveLength(1);
});

test('a search finds records by the names of those that they name, whatever became of these, and by words of both', async () => {
  await using clinicOpen = await openClinic();
  const { instance, ada } = clinicOpen;
  const [grace, bob] = await Promise.all(
    ['Grace Hopper', 'Bob'].map(async (name) => (await ada.call('keeper/create', { name })).id),
  );
  for (const [name, keeper] of [
    ['Tom', grace],
    ['Rex', grace],
    ['Grace', bob],
    ['Kit', undefined],
  ] as const)
    await ada.call('animal/create', { name, fee: 0, ...(keeper !== undefined && { keeper }) });
  const found = async (q: string, person = ada) =>
    (await person.call('animal/list', { q })).items.map(({ name }) => name);
  expect(await found('grace')).toEqual(['Grace', 'Rex', 'Tom']);
  expect(await found('HOPPER')).toEqual(['Rex', 'Tom']);
  expect(await found('hopper grace re')).toEqual(['Rex']);
  expect(await found('bob grace')).toEqual(['Grace']);
  expect(await found('bob hopper')).toEqual([]);
  // A caller who may not read keepers finds nothing by their names.
  expect(await found('grace', instance.as('bob', { role: 'helper' }))).toEqual(['Grace']);
  await ada.call('keeper/archive', { keeper: grace as string });
  expect(await found('hopper')).toEqual(['Rex', 'Tom']);
  await ada.call('keeper/update', { keeper: bob as string, name: 'Rob' });
  expect([await found('bob'), await found('rob')]).toEqual([[], ['Grace']]);
  const [rex] = (await ada.call('animal/list', { q: 'rex' })).items;
  await ada.call('animal/archive', { animal: rex?.id as string });
  expect(await found('hopper')).toEqual(['Tom']);
  expect((await ada.call('animal/list', { q: 'hopper', archived: true })).items).toHaveLength(1);
  expect((await ada.call('animal/export', { q: 'hopper' })).csv.split('\r\n')[1]).toContain('Tom');
});

test('an erased person is found by no word, and the words of others stay; a preview masks the words of personal fields', async () => {
  await using clinicOpen = await openClinic();
  const { instance, ada } = clinicOpen;
  const [grace] = await Promise.all(
    ['Grace Hopper', 'Grace Kelly'].map(async (name) => (await ada.call('keeper/create', { name })).id),
  );
  await ada.call('animal/create', { name: 'Tom', fee: 0, keeper: grace as string });
  await ada.call('keeper/archive', { keeper: grace as string });
  expect((await ada.http('POST', `/api/keepers/${grace}/erase`, {})).status).toBe(200);
  expect(instance.sql('SELECT word FROM keepers_words ORDER BY word')).toEqual([
    { word: 'grace' },
    { word: 'kelly' },
  ]);
  expect((await ada.call('animal/list', { q: 'hopper' })).items).toEqual([]);
  expect(keeper.personal).toEqual({ keepers: ['name', 'phone'], keepers_words: ['word'] });
});

test('over HTTP, its routes have names, versions and a document of their own', async () => {
  await using clinicOpen = await openClinic();
  const { ada } = clinicOpen;
  const made = await ada.http('POST', '/api/animals', { name: 'Tom', fee: 5 });
  expect([made.status, made.headers.get('location')]).toEqual([
    201,
    expect.stringMatching(/^\/api\/animals\/anm_/),
  ]);
  const path = made.headers.get('location') as string;
  const etag = made.headers.get('etag') as string;
  const change = (name: string) => ada.http('PATCH', path, { name }, { 'if-match': etag });
  expect((await change('Tim')).status).toBe(200);
  expect((await change('Ted')).status).toBe(412);
  const list = await ada.http('GET', '/api/animals?kind=cat&sort=-fee');
  expect(await list.json()).toMatchObject({ items: [{ name: 'Tim', fee: 5 }], nextCursor: null });
  const document = (await (await ada.http('GET', '/api/openapi.json')).json()) as {
    components: { schemas: Record<string, unknown> };
  };
  expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(['Animal', 'Keeper']));
});

test('a program meets them as tools and as resources, and reads those that its person may read', async () => {
  await using clinicOpen = await openClinic();
  const { instance, ada } = clinicOpen;
  const grace = await ada.call('keeper/create', { name: 'Grace' });
  const tom = await ada.call('animal/create', { name: 'Tom', fee: 0, keeper: grace.id });
  const model = ada.mcp();
  expect((await model.tools()).map(({ name }) => name)).toContain('animal_create');
  // A page has records of one type.
  expect(await model.resources()).toMatchObject([{ uri: `freehold://keeper/${grace.id}`, title: 'Grace' }]);
  expect(await model.read(`freehold://animal/${tom.id}`)).toMatchObject({ keeper: { name: 'Grace' } });
  const helper = instance.as('bob', { role: 'helper' }).mcp();
  expect((await helper.resources()).map(({ title }) => title)).toEqual(['Tom']);
  await expect(helper.read(`freehold://keeper/${grace.id}`)).rejects.toThrow(/resources\/read was/);
});

test('a type of two words, and a field that must be there and can be null', async () => {
  const permissions = { read: 'order.read', write: 'order.write' };
  const workOrder = records('work-order', {
    fields: z.object({
      title: z.string(),
      due: day().nullable(),
      urgent: z.boolean().nullable().default(null),
    }),
    permissions,
  });
  const app = defineApp({
    manifest: {
      slug: 'orders',
      name: 'Orders',
      version: '0.1.0',
      permissions: { 'order.read': 'See', 'order.write': 'Write' },
      roles: { owner: { name: 'Owner', permissions: Object.values(permissions) } },
      ownerRole: 'owner',
      entities: { 'work-order': workOrder.entity },
      env: {},
    },
    migrations: [{ version: 1, name: 'orders', sql: statementsOf(workOrder.table).join(';\n') }],
    operations: workOrder.operations,
    authenticatedPrincipal: signedIn(),
  });
  await using instance = await testApp(app);
  const ada = instance.as('ada', { role: 'owner' });
  const made = await ada.call('work-order/create', { title: 'Boiler', due: null });
  expect(made).toMatchObject({ due: null, urgent: null });
  const changed = await ada.call('work-order/update', { workOrder: made.id, title: 'Boiler, again' });
  expect(changed).toMatchObject({ title: 'Boiler, again', due: null });
  const shown = await ada.http('GET', `/api/work-orders/${made.id}`);
  expect(await shown.json()).toMatchObject({ title: 'Boiler, again' });
  await ada.call('work-order/archive', { workOrder: made.id });
});

const plain = {
  fields: z.object({ name: z.string() }),
  permissions: { read: 'pet.read', write: 'pet.write' },
};

test.each([
  [
    'a field that no column holds',
    { fields: z.object({ tags: z.array(z.string()) }) },
    /the field tags must be a text/,
  ],
  [
    'a list of numbers',
    { fields: z.object({ size: z.enum({ small: 1, large: 2 }) }) },
    /the field size must be a text/,
  ],
  [
    'a field with the name of its id',
    { fields: z.object({ pet: z.string() }) },
    /pet cannot be the name of a field/,
  ],
  [
    'a field that every list takes',
    { fields: z.object({ sort: z.string() }) },
    /sort cannot be the name of a field/,
  ],
  [
    'an order by a field that can be left out',
    { fields: z.object({ a: z.string().optional() }), sort: ['a'] },
    /sort names a, which may be left out/,
  ],
  [
    'a search of numbers',
    { fields: z.object({ a: z.int() }), search: ['a'] },
    /search names a, which is no text/,
  ],
  [
    'a search by records that are not found by their names',
    { fields: z.object({ a: z.string(), owner: relation(records('vet', plain)) }), search: ['owner'] },
    /search names owner, and 'vet' does not search its name: name it there too/,
  ],
  [
    'a filter by what it does not have',
    { fields: z.object({ a: z.int() }), filter: ['b'] },
    /filter names a field that it does not have: b/,
  ],
  [
    'an import that would read all records of another kind for a name',
    {
      fields: z.object({ a: z.string(), owner: relation(records('vet', { ...plain, sort: ['createdAt'] })) }),
      permissions: { ...plain.permissions, import: 'pet.import' },
    },
    /its import finds owner by name, and no index has the names: let 'vet' be sorted by them/,
  ],
])('%s is refused where it is declared', (_title, options, words) => {
  expect(() => records('pet', { ...plain, ...options } as never)).toThrow(words);
});
