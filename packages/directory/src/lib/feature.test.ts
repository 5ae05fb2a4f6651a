/** Features come together only where they fit, and an operation is answered in the way that its declaration says. */
import type { UnitContext } from '@freehold/store';
import { expect, expectTypeOf, test } from 'vitest';
import { adminOperations } from '../admin-operations.ts';
import { defineFeature, type MethodsOf, mergeFeatures, mergeHandlers } from './feature.ts';
import { change, delegated, longWork, planned, read } from './handlers.ts';

const answer = (): never => {
  throw new Error('no handler is called here');
};
const list = read(adminOperations['tenants.list'], answer);
const rename = change(adminOperations['tenants.update'], answer);
const setStatus = change(adminOperations['tenants.set-status'], answer);
const plan = planned(adminOperations['tenants.set-status'], answer);

const lists = defineFeature({
  operations: [list],
  methods: () => ({ count: (): number => 1, add: (_: number): null => null }),
  queries: ['count'],
});
const renames = defineFeature({ operations: [rename], migrations: [{ name: 'renames', migrations: [] }] });

test('what features have comes together under its names', () => {
  const { reads, changes } = mergeHandlers([lists, renames]);
  expect([reads, changes]).toEqual([{ 'tenants.list': list }, { 'tenants.update': rename }]);
  const { migrations, queries, open } = mergeFeatures([lists, renames]);
  expect([migrations, queries]).toEqual([renames.migrations, ['count']]);
  expect(Object.keys(open({} as UnitContext))).toEqual(['count', 'add']);
});

test('an operation that two features answer is refused, and one that is answered in two ways', () => {
  const again = defineFeature({ operations: [read(adminOperations['tenants.list'], answer)] });
  expect(() => mergeHandlers([lists, again])).toThrow('tenants.list is there twice');
  const elsewhere = delegated(adminOperations['tenants.update'], { begin: answer, settle: answer });
  expect(() => mergeHandlers([renames, defineFeature({ operations: [elsewhere] })])).toThrow(
    'tenants.update is there twice',
  );
});

test('a change may have a plan, and not two', () => {
  const suspends = defineFeature({ operations: [setStatus, plan] });
  expect(mergeHandlers([suspends]).plans).toEqual({ 'tenants.set-status': plan });
  const plans = defineFeature({ operations: [plan] });
  expect(() => mergeHandlers([suspends, plans])).toThrow('tenants.set-status is there twice');
});

test('a unit with two methods of one name is not opened', () => {
  const counts = defineFeature({ methods: () => ({ count: (): number => 2 }) });
  expect(() => mergeFeatures([lists, counts]).open({} as UnitContext)).toThrow('count is there twice');
});

test('the types let through an operation of its own kind alone, and a query that is a method of its feature', () => {
  const operations = adminOperations;
  // @ts-expect-error: what changes something is no read.
  read(operations['tenants.create'], answer);
  // @ts-expect-error: a read is no change.
  change(operations['tenants.list'], answer);
  // @ts-expect-error: what is done at once is no long work.
  longWork(operations['tenants.create'], { begin: answer, settle: answer });
  // @ts-expect-error: long work is no change.
  change(operations['tenants.reap'], answer);
  // @ts-expect-error: long work is not delegated either.
  delegated(operations['tenants.reap'], { begin: answer, settle: answer });
  // @ts-expect-error: there is no plan of this.
  planned(operations['tenants.create'], answer);

  type Defined = typeof defineFeature<{ readonly count: () => number }, 'count'>;
  expectTypeOf<Parameters<Defined>[0]['queries']>().toEqualTypeOf<readonly 'count'[] | undefined>();
  expectTypeOf<keyof MethodsOf<readonly [typeof renames, typeof lists]>>().toEqualTypeOf<'count' | 'add'>();
});
