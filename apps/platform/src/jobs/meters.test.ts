import { expect, test } from 'vitest';
import { makeUseMeter, remembering } from './meters.ts';

function open(fails: (tenant: string) => boolean = () => false) {
  const added: [tenant: string, quantity: number][] = [];
  const asked: string[] = [];
  const errors: string[] = [];
  const meter = makeUseMeter({
    meter: 'operations.invoked',
    add: async ([reading]) => {
      if (!reading || fails(reading.tenant)) throw new Error('no');
      expect(reading.meter).toBe('operations.invoked');
      added.push([reading.tenant, reading.quantity]);
    },
    isLive: remembering(async ({ scope }) => {
      asked.push(scope);
      if (scope.startsWith('gone')) throw new Error('There is no such scope.');
      return !scope.startsWith('test');
    }),
    onError: (_error, tenant) => errors.push(tenant),
  });
  const count = (tenant: string, scope: string, times: number) => {
    for (let i = 1; i < times; i++) meter.count({ tenant, scope });
    meter.count({ tenant, scope }, 1);
  };
  return { meter, count, added, asked, errors };
}

test('spec C-22: what is used is added up per tenant, and what test scopes use is not', async () => {
  const { meter, count, added, asked } = open();
  count('a', 'a1', 3);
  count('a', 'a2', 2);
  count('a', 'test-a', 50);
  count('b', 'test-b', 1);
  await meter.flush();
  expect(added).toEqual([['a', 5]]);
  count('a', 'a1', 1);
  await meter.flush();
  await meter.flush();
  expect(added).toEqual([
    ['a', 5],
    ['a', 1],
  ]);
  // What a scope is for is asked once.
  expect(asked.toSorted()).toEqual(['a1', 'a2', 'test-a', 'test-b']);
});

test('what cannot be added is dropped and told, and costs the other tenants nothing', async () => {
  let down = true;
  const { meter, count, added, errors } = open((tenant) => down && tenant === 'a');
  count('a', 'a1', 3);
  count('b', 'b1', 2);
  await meter.flush();
  expect([added, errors]).toEqual([[['b', 2]], ['a']]);
  down = false;
  await meter.flush();
  // Nobody is charged twice for a call of which nobody knows whether it counted.
  expect(added).toEqual([['b', 2]]);
});

test('a scope of which nobody can say what it is for costs its tenant’s others nothing', async () => {
  const { meter, count, added, errors } = open();
  count('a', 'a1', 3);
  count('a', 'gone-a', 4);
  count('a', 'gone-too', 4);
  count('a', 'a2', 2);
  count('b', 'b1', 1);
  expect(await meter.flush()).toEqual({ done: 2, failed: 1 });
  expect([added, errors]).toEqual([
    [
      ['b', 1],
      ['a', 5],
    ],
    ['a', 'a'],
  ]);
});
