import { expect, test } from 'vitest';
import { makeInvocationCounter } from './meters.ts';

function open(fails = false) {
  const counted: [tenant: string, scope: string, quantity: number][] = [];
  const asked: string[] = [];
  const errors: string[] = [];
  let flushes = 0;
  const counter = makeInvocationCounter({
    meter: {
      count: ({ tenant, scope }, quantity = 1) => void counted.push([tenant, scope, quantity]),
      flush: async () => {
        flushes += 1;
        return { done: 0, failed: 0 };
      },
    },
    tenantOf: async ({ vertical, scope }) => {
      asked.push(`${vertical}/${scope}`);
      if (fails && scope === 's1') throw new Error('gone');
      return `tenant of ${scope}`;
    },
    onError: (_error, scope) => errors.push(scope),
  });
  return { counter, counted, asked, errors, flushes: () => flushes };
}

test('spec C-22: operations are counted per scope, and each once', async () => {
  const { counter, counted, asked, flushes } = open();
  for (let i = 0; i < 1000; i++) counter.count('fieldwork', 's1');
  counter.count('fieldwork', 's2');
  // Nobody is asked anything within a call's way.
  expect([asked, counted]).toEqual([[], []]);
  await counter.flush();
  await counter.flush();
  expect(counted).toEqual([
    ['tenant of s1', 's1', 1000],
    ['tenant of s2', 's2', 1],
  ]);
  expect(flushes()).toBe(2);
});

test('a scope of which nobody knows whose it is is told, and costs the others nothing', async () => {
  const { counter, counted, errors } = open(true);
  counter.count('fieldwork', 's1');
  counter.count('fieldwork', 's2');
  await counter.flush();
  expect([errors, counted]).toEqual([['s1'], [['tenant of s2', 's2', 1]]]);
});
