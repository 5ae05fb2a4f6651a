/** A model's memory can be rolled back, kept and replaced. */
import { expect, test } from 'vitest';
import { makeTables } from './tables.ts';

function filled() {
  const tables = makeTables();
  const people = tables.table<number>('people');
  people.set('ada', 1);
  people.set('grace', 2);
  tables.commit();
  return { tables, people };
}

test('everything since a mark is rolled back, and nothing before it', () => {
  const { tables, people } = filled();
  people.set('ada', 10);
  const mark = tables.mark();
  people.set('ada', 11);
  people.delete('grace');
  people.set('edsger', 3);
  tables.rollback(mark);
  expect([people.get('ada'), people.get('grace'), people.has('edsger')]).toEqual([10, 2, false]);
  tables.rollback(0);
  expect(people.get('ada')).toBe(1);
});

test('committed changes cannot be rolled back', () => {
  const { tables, people } = filled();
  people.set('ada', 10);
  tables.commit();
  tables.rollback(0);
  expect(people.get('ada')).toBe(10);
});

test('a snapshot stays as it is, and can be loaded again', () => {
  const { tables, people } = filled();
  const snapshot = tables.snapshot();
  people.delete('ada');
  tables.table<number>('places').set('london', 1);
  tables.load(snapshot);
  expect(people.keys()).toEqual(['ada', 'grace']);
  expect(tables.table('places').size).toBe(0);
  people.set('ada', 9);
  expect(snapshot.get('people')?.get('ada')).toBe(1);
});
