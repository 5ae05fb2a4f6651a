/** People see nothing of records that they may not read, in no list, search, relation, filter, export, import or refusal. */
import { PlatformError } from '@freehold/contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testApp } from '../src/testing/index.ts';
import { clinic } from './clinic.ts';

const KEEPERS = 3;
const ANIMALS = 6;

/** A small clinic: who keeps which animal, what is archived, and what the guest was shown. */
const world = fc.record({
  keeperOf: fc.array(fc.option(fc.nat({ max: KEEPERS - 1 }), { nil: null }), {
    minLength: ANIMALS,
    maxLength: ANIMALS,
  }),
  archived: fc.uniqueArray(fc.nat({ max: ANIMALS - 1 })),
  shownAnimals: fc.uniqueArray(fc.nat({ max: ANIMALS - 1 })),
  shownKeepers: fc.uniqueArray(fc.nat({ max: KEEPERS - 1 })),
});

test('a guest with grants for single records learns nothing about the others', async () => {
  await fc.assert(
    fc.asyncProperty(world, async ({ keeperOf, archived, shownAnimals, shownKeepers }) => {
      await using instance = await testApp(clinic);
      const ada = instance.as('ada', { role: 'owner' });
      const guest = instance.as('gus', { role: 'clerk' });
      const keepers: string[] = [];
      for (let n = 0; n < KEEPERS; n++)
        keepers.push(
          (await ada.call('keeper/create', { name: `Keeper${n}x Secret`, phone: `phone-${n}` })).id,
        );
      const animals: string[] = [];
      for (const [n, keeper] of keeperOf.entries()) {
        const named = keeper === null ? {} : { keeper: keepers[keeper] as string };
        animals.push(
          (await ada.call('animal/create', { name: `Animal${n}x Secret`, fee: n % 3, ...named })).id,
        );
      }
      for (const n of archived) await ada.call('animal/archive', { animal: animals[n] as string });
      const principal = await guest.principal();
      for (const n of shownAnimals)
        await ada.call('animal/share', { type: 'animal', id: animals[n] as string, with: principal });
      for (const n of shownKeepers)
        await ada.call('animal/share', { type: 'keeper', id: keepers[n] as string, with: principal });

      const said: unknown[] = [];
      const ask = async (operation: keyof typeof clinic.operations & string, input: object) => {
        const { output, refused } = await guest.attempt(operation, input as never);
        said.push(
          refused instanceof PlatformError ? [refused.message, refused.errors, refused.reason] : output,
        );
        return output as { items: { id: string }[]; cut?: boolean; nextCursor: string | null } | undefined;
      };
      const visible = shownAnimals.filter((n) => !archived.includes(n)).map((n) => animals[n] as string);
      const ids = (answer: Awaited<ReturnType<typeof ask>>) =>
        answer?.items.map(({ id }) => id).toSorted() ?? [];

      for (const sort of ['name', '-name', 'fee', '-createdAt'])
        expect(ids(await ask('animal/list', { sort }))).toEqual(visible.toSorted());
      expect(ids(await ask('animal/list', { archived: true }))).toEqual(
        shownAnimals
          .filter((n) => archived.includes(n))
          .map((n) => animals[n] as string)
          .toSorted(),
      );
      for (const q of ['animal', 'secret anim', 'animal1x'])
        expect(ids(await ask('animal/list', { q })).every((id) => visible.includes(id))).toBe(true);
      expect(ids(await ask('animal/list', { q: 'secret' }))).toEqual(visible.toSorted());
      expect(ids(await ask('keeper/list', {}))).toEqual(
        shownKeepers.map((n) => keepers[n] as string).toSorted(),
      );
      // A narrowed list shows an animal only where both it and its keeper may be read.
      for (const [n, keeper] of keepers.entries()) {
        const theirs = visible.filter((id) => keeperOf[animals.indexOf(id)] === n);
        expect(ids(await ask('animal/list', { keeper }))).toEqual(
          shownKeepers.includes(n) ? theirs.toSorted() : [],
        );
      }
      // A search by the name of a keeper finds what the list shows that is narrowed by that keeper.
      for (const n of keepers.keys()) {
        const theirs = visible.filter((id) => keeperOf[animals.indexOf(id)] === n).toSorted();
        for (const q of [`keeper${n}x`, `animal keeper${n}x`]) {
          expect(ids(await ask('animal/list', { q }))).toEqual(shownKeepers.includes(n) ? theirs : []);
          await ask('animal/export', { q });
        }
      }
      for (const animal of animals) await ask('animal/get', { animal });
      for (const keeper of keepers) await ask('keeper/get', { keeper });

      for (const query of [{}, { archived: true }, { q: 'secret' }, { sort: '-fee' }])
        await ask('animal/export', query);
      await ask('keeper/export', {});
      await ask('keeper/export', { archived: true });

      // Each line gets its own answer: of a hidden record the one that a record gets that is not there.
      const judged = async (type: 'animal' | 'keeper', lines: readonly string[], plan: object) => {
        const { id } = await guest.call(`${type}/import`, { csv: lines.join('\n'), ...plan });
        await instance.deliver();
        const { csv } = await guest.call(`${type}/import-errors`, { import: id });
        return csv
          .split('\r\n')
          .slice(1, -1)
          .map((line) => line.slice(line.lastIndexOf(',') + 1));
      };
      const unknown = `${keepers[0]?.slice(0, -5)}zzzzz`;
      const hidden = keepers.filter((_, n) => !shownKeepers.includes(n));
      expect(
        await judged(
          'animal',
          ['name,fee,keeper', ...[...keepers, unknown].map((each, n) => `New ${n},1,${each}`)],
          {},
        ),
      ).toEqual([...hidden, unknown].map(() => 'keeper: there is no such keeper'));
      expect(
        await judged(
          'animal',
          ['name,fee,keeper', ...keepers.map((_, n) => `New ${n},1,KEEPER${n}X secret`), 'New,1,Keeper9x'],
          {},
        ),
      ).toEqual([...hidden, unknown].map(() => 'keeper: there is no such keeper'));
      expect(
        await judged('animal', ['id,name,fee', ...animals.map((id) => `${id},New,1`)], {
          key: 'id',
          duplicates: 'skip',
        }),
      ).toEqual(animals.filter((id) => !visible.includes(id)).map(() => 'id: there is no such animal'));
      expect(
        await judged('keeper', ['name,phone', ...keepers.map((_, n) => `New,phone-${n}`), 'New,'], {
          key: 'phone',
          duplicates: 'update',
        }),
      ).toEqual(hidden.map(() => 'phone: is taken already'));

      const text = JSON.stringify(said);
      for (const [n, id] of animals.entries())
        if (!shownAnimals.includes(n)) expect(text).not.toMatch(new RegExp(`${id}|Animal${n}x`));
      for (const [n, id] of keepers.entries())
        if (!shownKeepers.includes(n)) expect(text).not.toMatch(new RegExp(`${id}|Keeper${n}x|phone-${n}`));
    }),
    { numRuns: 15 },
  );
});
