/** The features of rooms come together only where they fit, and a name is where its declaration says it belongs. */
import type { UnitContext } from '@freehold/store';
import { expect, expectTypeOf, test } from 'vitest';
import { defineFeature, type Feature, type MethodsOf, mergeFeatures, mergeHandlers } from './feature.ts';
import type { ChangeHandler, DelegatedHandler, ReadHandler } from './handlers.ts';
import type { PlanHandler } from './plans.ts';

const read: ReadHandler = () => ({ value: null });
const change = (() => null) as unknown as ChangeHandler;
const delegated = {} as DelegatedHandler;
const plan: PlanHandler = () => null;

const lists = defineFeature({
  reads: { 'tenants.list': read },
  methods: () => ({ count: (): number => 1, add: (_: number): null => null }),
  queries: ['count'],
});
const renames = defineFeature({
  changes: { 'tenants.update': change },
  migrations: [{ name: 'renames', migrations: [] }],
});

test('what rooms have comes together under its names', () => {
  const { reads, changes } = mergeHandlers([lists, renames]);
  expect([reads, changes]).toEqual([{ 'tenants.list': read }, { 'tenants.update': change }]);
  const { migrations, queries, open } = mergeFeatures([lists, renames]);
  expect([migrations, queries]).toEqual([renames.migrations, ['count']]);
  expect(Object.keys(open({} as UnitContext))).toEqual(['count', 'add']);
});

test('an operation that two rooms answer is refused, and one that is answered in two ways', () => {
  expect(() => mergeHandlers([lists, defineFeature({ reads: { 'tenants.list': read } })])).toThrow(
    'tenants.list is there twice',
  );
  expect(() =>
    mergeHandlers([renames, defineFeature({ delegated: { 'tenants.update': delegated } })]),
  ).toThrow('tenants.update is there twice');
});

test('a change may have a plan, and not two', () => {
  const suspends = defineFeature({
    changes: { 'tenants.set-status': change },
    plans: { 'tenants.set-status': plan },
  });
  expect(mergeHandlers([suspends]).plans).toEqual({ 'tenants.set-status': plan });
  const plans = defineFeature({ plans: { 'tenants.set-status': plan } });
  expect(() => mergeHandlers([suspends, plans])).toThrow('tenants.set-status is there twice');
});

test('a unit with two methods of one name is not opened', () => {
  const counts = defineFeature({ methods: () => ({ count: (): number => 2 }) });
  expect(() => mergeFeatures([lists, counts]).open({} as UnitContext)).toThrow('count is there twice');
});

test('the types let through an operation of its own kind alone, and a query that is a method of its room', () => {
  type Names<Kind extends 'reads' | 'changes' | 'delegated' | 'long' | 'plans'> =
    keyof Required<Feature>[Kind];
  expectTypeOf<'tenants.list' | 'access-log.list'>().toExtend<Names<'reads'>>();
  expectTypeOf<'tenants.lists'>().not.toExtend<Names<'reads'>>();
  expectTypeOf<'tenants.create'>().not.toExtend<Names<'reads'>>();
  expectTypeOf<'tenants.list'>().not.toExtend<Names<'changes'>>();
  expectTypeOf<'tenants.reap'>().toExtend<Names<'long'>>();
  expectTypeOf<'tenants.reap'>().not.toExtend<Names<'changes' | 'delegated'>>();
  expectTypeOf<'tenants.create'>().not.toExtend<Names<'long' | 'plans'>>();

  type Defined = typeof defineFeature<{ readonly count: () => number }, 'count'>;
  expectTypeOf<Parameters<Defined>[0]['queries']>().toEqualTypeOf<readonly 'count'[] | undefined>();
  expectTypeOf<keyof MethodsOf<readonly [typeof renames, typeof lists]>>().toEqualTypeOf<'count' | 'add'>();
});
