/** The state of a list in its address. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listQuery, offeredFilters, readList, withFilter } from '../../web/lib/lists.ts';

const kind = {
  isSearched: true,
  sorts: ['name', 'fee'],
  filters: [['kind'], ['keeper'], ['kind', 'insured']],
};

test('an address is read and written alike, and what is usual is left out', () => {
  const address = 'q=tom&kind=cat&insured=true&sort=-fee&archived=true&cursor=x';
  expect(listQuery(kind, readList(kind, `?${address}`)).toString()).toBe(address);
  expect(listQuery(kind, readList(kind, '?sort=name&q=')).toString()).toBe('');
});

test('what is not declared is not asked for: the list would be refused', () => {
  const { sort, filters } = readList(kind, '?sort=age&colour=red&insured=true');
  expect([sort, filters]).toEqual(['name', {}]);
  expect(readList({ ...kind, isSearched: false }, '?q=tom').q).toBe('');
});

test('a filter is offered where it makes a declared combination', () => {
  expect(offeredFilters(kind.filters, [])).toEqual(['kind', 'keeper']);
  expect(offeredFilters(kind.filters, ['kind'])).toEqual(['kind', 'keeper', 'insured']);
});

test('a filter that does not go with the others takes their place', () => {
  expect(withFilter(kind.filters, { kind: 'cat' }, ['insured', 'true'])).toEqual({
    kind: 'cat',
    insured: 'true',
  });
  expect(withFilter(kind.filters, { kind: 'cat', insured: 'true' }, ['keeper', 'k'])).toEqual({
    keeper: 'k',
  });
  expect(withFilter(kind.filters, { kind: 'cat', insured: 'true' }, ['kind', ''])).toEqual({});
});

test('whatever is set and cleared of the offered, the filters are a declared combination', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const filters = fc.array(fc.uniqueArray(name, { minLength: 1 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(filters, fc.array(fc.tuple(fc.nat(), fc.boolean())), (declared, steps) => {
      let current: Record<string, string> = {};
      for (const [at, isCleared] of steps) {
        const offered = offeredFilters(declared, Object.keys(current));
        const chosen = offered[at % Math.max(offered.length, 1)];
        if (chosen === undefined) return;
        current = withFilter(declared, current, [chosen, isCleared ? '' : 'x']);
        const names = Object.keys(current).toSorted().join();
        expect(names === '' || declared.some((each) => each.toSorted().join() === names)).toBe(true);
        if (!isCleared) expect(current[chosen]).toBe('x');
      }
    }),
    { numRuns: 100 },
  );
});
