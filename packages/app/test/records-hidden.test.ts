/**
 * Of any declaration, and for any role: the answers to a member are the same, whatever stands in the records that they may not
 * read, and however many there are.
 */
import type { ActorId } from '@freehold/contracts';
import { PlatformError } from '@freehold/contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runs } from '../../testkit/src/index.ts';
import { defineApp, operation, records, relation, signedIn, statementsOf } from '../src/index.ts';
import { testApp } from '../src/testing/index.ts';

const KINDS = ['cat', 'dog'] as const;
const [KEEPERS, ANIMALS] = [3, 4];

const declared = fc.record({
  keeperSearch: fc.boolean(),
  search: fc.subarray(['name', 'note', 'keeper'] as const),
  filter: fc.subarray([['kind'], ['keeper'], ['kind', 'keeper']] as const),
  sort: fc.subarray(['name', 'fee', 'createdAt'] as const, { minLength: 1 }),
  title: fc.constantFrom('name' as const, 'label' as const),
  /** Of the member, for the whole scope. */
  reads: fc.constantFrom<readonly string[]>([], ['keeper.read'], ['animal.read']),
});
type Declared = typeof declared extends fc.Arbitrary<infer T> ? T : never;

function declare({ keeperSearch, search, filter, sort, title, reads }: Declared) {
  const transfer = { list: 'clinic.open', export: 'clinic.open' };
  const keeper = records('keeper', {
    fields: z.object({ label: z.string(), name: z.string() }),
    title,
    sort: ['createdAt'],
    ...(keeperSearch && { search: ['label', 'name'] }),
    permissions: { read: 'keeper.read', write: 'clinic.write', ...transfer },
  });
  const animal = records('animal', {
    fields: z.object({
      name: z.string(),
      note: z.string(),
      kind: z.enum(KINDS),
      fee: z.int(),
      keeper: relation(keeper).optional(),
    }),
    search: search.filter((name) => name !== 'keeper' || keeperSearch),
    filter: filter.map((names) => [...names]),
    sort,
    permissions: { read: 'animal.read', write: 'clinic.write', ...transfer },
  });
  const permissions = ['clinic.open', 'clinic.write', 'keeper.read', 'animal.read'];
  return defineApp({
    manifest: {
      slug: 'clinic',
      name: 'Clinic',
      version: '0.1.0',
      permissions: Object.fromEntries(permissions.map((each) => [each, each])),
      roles: {
        owner: { name: 'Owner', permissions },
        member: { name: 'Member', permissions: ['clinic.open', ...reads] },
      },
      ownerRole: 'owner',
      entities: { keeper: keeper.entity, animal: animal.entity },
      env: {},
    },
    migrations: [
      {
        version: 1,
        name: 'tables',
        sql: [keeper, animal].flatMap(({ table }) => statementsOf(table)).join(';\n'),
      },
    ],
    operations: {
      ...keeper.operations,
      ...animal.operations,
      'clinic/share': operation({
        summary: 'Let a member see one record',
        input: z.strictObject({ type: z.enum(['animal', 'keeper']), id: z.string(), with: z.string() }),
        output: z.object({}),
        permission: 'clinic.write',
        run: (ctx, { type, id, with: subject }) => {
          ctx.grant({ subject: subject as ActorId, permission: `${type}.read`, entity: { type, id } });
          return {};
        },
      }),
    },
    authenticatedPrincipal: signedIn(),
  });
}

const COLOURS = ['red', 'green', 'blue'];
const text = fc.constantFrom(...COLOURS);
const keeperValues = fc.record({ label: text, name: text, isArchived: fc.boolean() });
const animalValues = fc.record({
  name: text,
  note: text,
  kind: fc.constantFrom(...KINDS),
  fee: fc.nat({ max: 2 }),
  keeper: fc.option(fc.nat({ max: KEEPERS - 1 }), { nil: null, freq: 5 }),
  isArchived: fc.boolean(),
});
const contents = fc.record({
  keepers: fc.array(keeperValues, { minLength: KEEPERS, maxLength: KEEPERS }),
  animals: fc.array(animalValues, { minLength: ANIMALS, maxLength: ANIMALS }),
});
type Contents = typeof contents extends fc.Arbitrary<infer T> ? T : never;

/** A clinic in which what is hidden has other contents in the second world than in the first. A hidden keeper stays one. */
function world(
  { keepers, animals }: Contents,
  isSeen: (type: 'keeper' | 'animal', n: number) => boolean,
  at: 0 | 1,
): Contents {
  const hidden = keepers.flatMap((_, n) => (isSeen('keeper', n) ? [] : [n]));
  const name = `secret${at}`;
  return {
    keepers: keepers.map((each, n) =>
      isSeen('keeper', n) ? each : { label: name, name, isArchived: each.isArchived !== (at === 1) },
    ),
    animals: animals.map((each, n) => {
      const { keeper } = each;
      const other = keeper === null || isSeen('keeper', keeper) ? keeper : (hidden.at(at - 1) ?? keeper);
      if (isSeen('animal', n)) return { ...each, keeper: other };
      return {
        name,
        note: name,
        kind: KINDS[at],
        fee: at,
        keeper: at,
        isArchived: each.isArchived !== (at === 1),
      };
    }),
  };
}

/** Makes a clinic, and returns all answers that a member gets, with names in the place of ids and times. */
async function answers(
  app: ReturnType<typeof declare>,
  shape: Declared,
  { keepers, animals }: Contents,
  { shown, extra }: { readonly shown: readonly string[]; readonly extra: number },
): Promise<unknown[]> {
  await using instance = await testApp(app);
  const ada = instance.as('ada', { role: 'owner' });
  const member = instance.as('mia', { role: 'member' });
  const call = (operation: string, input: object) =>
    ada.call(operation as never, input as never) as Promise<{ id: string }>;
  const names = new Map<string, string>();
  const idOf = (name: string) => [...names].find(([, each]) => each === name)?.[0];
  const make = async (type: 'keeper' | 'animal', n: number, values: object, isArchived: boolean) => {
    const { id } = await call(`${type}/create`, values);
    names.set(id, `${type}${n}`);
    if (shown.includes(`${type}${n}`))
      await call('clinic/share', { type, id, with: await member.principal() });
    if (isArchived) await call(`${type}/archive`, { [type]: id });
  };
  for (const [n, { isArchived, ...values }] of keepers.entries()) await make('keeper', n, values, false);
  for (const [n, { isArchived, keeper, ...values }] of animals.entries())
    await make(
      'animal',
      n,
      { ...values, ...(keeper !== null && { keeper: idOf(`keeper${keeper}`) }) },
      isArchived,
    );
  for (const [n, { isArchived }] of keepers.entries())
    if (isArchived) await call('keeper/archive', { keeper: idOf(`keeper${n}`) });
  // Further ones, at the end of everything.
  if (!shape.reads.includes('animal.read'))
    for (let n = 0; n < extra; n++)
      await make('animal', ANIMALS + n, { name: 'red', note: 'blue', kind: 'cat', fee: 1 }, n === 0);

  const said: unknown[] = [];
  const ask = async (operation: string, input: object) => {
    const { output, refused } = await member.attempt(operation as never, input as never);
    const answer =
      refused instanceof PlatformError ? [refused.code, refused.message, refused.errors] : output;
    const plain = JSON.stringify(answer ?? String(refused)).replaceAll(
      /(?:kee|ani)_[0-9a-z]{26}|\d{4}-\d\d-\d\dT[\d:.]+Z/g,
      (found) => names.get(found) ?? 'a time',
    );
    said.push([operation, input, plain]);
  };
  const ids = Object.fromEntries([...names].map(([id, name]) => [name, id]));
  for (const archived of [false, true]) {
    for (const name of shape.sort)
      for (const sort of [name, `-${name}`]) await ask('animal/list', { archived, sort });
    for (const q of SEARCHES)
      for (const type of ['animal', 'keeper']) await ask(`${type}/list`, { archived, q });
    for (let n = 0; n < KEEPERS; n++) {
      await ask('animal/list', { archived, keeper: ids[`keeper${n}`] });
      await ask('animal/list', { archived, keeper: ids[`keeper${n}`], kind: 'cat' });
    }
    await ask('animal/list', { archived, kind: 'dog' });
    await ask('keeper/list', { archived });
    for (const query of [{}, { q: 'red' }, { kind: 'dog' }])
      await ask('animal/export', { archived, ...query });
    await ask('keeper/export', { archived });
  }
  for (let n = 0; n < ANIMALS; n++) await ask('animal/get', { animal: ids[`animal${n}`] });
  for (let n = 0; n < KEEPERS; n++) await ask('keeper/get', { keeper: ids[`keeper${n}`] });
  // The ids differ from one clinic to the next: what was asked is told by its place.
  return said.map((each) => (each as unknown[])[2]);
}

/** Searches for words of both worlds, the beginning of hidden ones, and several. */
const SEARCHES = [...COLOURS, 'red green', 're bl', 'secret', 'secret0', 'secret1 red'];

test('whatever is declared and allowed, a member learns nothing about what they may not read', async () => {
  const shown = fc.subarray([
    ...Array.from({ length: KEEPERS }, (_, n) => `keeper${n}`),
    ...Array.from({ length: ANIMALS }, (_, n) => `animal${n}`),
  ]);
  await fc.assert(
    fc.asyncProperty(declared, contents, shown, async (shape, seen, grants) => {
      const app = declare(shape);
      const isSeen = (type: 'keeper' | 'animal', n: number) =>
        shape.reads.includes(`${type}.read`) || grants.includes(`${type}${n}`);
      const [one, other] = [
        await answers(app, shape, world(seen, isSeen, 0), { shown: grants, extra: 0 }),
        await answers(app, shape, world(seen, isSeen, 1), { shown: grants, extra: 2 }),
      ];
      expect(other).toEqual(one);
      expect(one.length).toBeGreaterThan(50);
    }),
    { numRuns: runs(150, 12) },
  );
});
