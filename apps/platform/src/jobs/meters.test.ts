import { expect, test } from 'vitest';
import { ScopeActivity } from '../network/activity.ts';
import type { ServedRequest } from '../network/router.ts';
import { makeUseMeters, remembering } from './meters.ts';

/** Only these three are counted. */
const request = (tenant: string, scope: string, method: string): ServedRequest =>
  ({ tenant, scope, method }) as unknown as ServedRequest;

function open(fails: (tenant: string) => boolean = () => false) {
  const activity = new ScopeActivity();
  const added: [tenant: string, meter: string, quantity: number][] = [];
  const asked: string[] = [];
  const errors: string[] = [];
  const meters = makeUseMeters({
    activity,
    add: async ([reading]) => {
      if (!reading || fails(reading.tenant)) throw new Error('no');
      added.push([reading.tenant, reading.meter, reading.quantity]);
    },
    isLive: remembering(async ({ scope }) => {
      asked.push(scope);
      if (scope.startsWith('gone')) throw new Error('There is no such scope.');
      return !scope.startsWith('test');
    }),
    tenantOf: async ({ vertical, scope }) => {
      if (scope.startsWith('unknown')) throw new Error('There is no such scope.');
      return `${vertical} tenant of ${scope}`;
    },
    onError: (_error, _meter, tenant) => errors.push(tenant),
    onUnknownScope: (_error, scope) => errors.push(scope),
  });
  const serve = (tenant: string, scope: string, times: number) => {
    for (let i = 0; i < times; i++) activity.served(request(tenant, scope, 'GET'));
  };
  return { activity, meters, serve, added, asked, errors };
}

test('spec C-22: the use of a tenant’s live scopes is added up, and that of test scopes is not', async () => {
  const { meters, serve, added, asked } = open();
  serve('a', 'a1', 3);
  serve('a', 'a2', 2);
  serve('a', 'test-a', 50);
  serve('b', 'test-b', 1);
  expect(await meters.flush()).toEqual({ done: 2, failed: 0 });
  expect(added).toEqual([['a', 'http.requests', 5]]);
  serve('a', 'a1', 1);
  await meters.flush();
  await meters.flush();
  expect(added.slice(1)).toEqual([['a', 'http.requests', 1]]);
  // Each scope is asked about once.
  expect(asked.toSorted()).toEqual(['a1', 'a2', 'test-a', 'test-b']);
});

test('a failed addition is dropped and reported, and the other tenants’ use is added', async () => {
  let down = true;
  const { meters, serve, added, errors } = open((tenant) => down && tenant === 'a');
  serve('a', 'a1', 3);
  serve('b', 'b1', 2);
  expect(await meters.flush()).toEqual({ done: 2, failed: 1 });
  expect([added, errors]).toEqual([[['b', 'http.requests', 2]], ['a']]);
  down = false;
  await meters.flush();
  // The failed addition may have counted, and no tenant is charged twice.
  expect(added).toHaveLength(1);
});

test('a scope that may be a test scope costs its tenant’s other scopes nothing', async () => {
  const { meters, serve, added, errors } = open();
  serve('a', 'a1', 3);
  serve('a', 'gone-a', 4);
  serve('a', 'gone-too', 4);
  serve('a', 'a2', 2);
  serve('b', 'b1', 1);
  expect(await meters.flush()).toEqual({ done: 2, failed: 1 });
  expect(added.toSorted()).toEqual([
    ['a', 'http.requests', 5],
    ['b', 'http.requests', 1],
  ]);
  expect(errors).toEqual(['a', 'a']);
});

test('spec C-22: operations are counted per scope, and each once', async () => {
  const { activity, meters, added, asked } = open();
  const count = activity.invokedIn('fieldwork');
  for (let i = 0; i < 1000; i++) count('s1');
  count('s2');
  // A call only counts: it asks no question.
  expect([asked, added]).toEqual([[], []]);
  await meters.flush();
  await meters.flush();
  expect(added).toEqual([
    ['fieldwork tenant of s1', 'operations.invoked', 1000],
    ['fieldwork tenant of s2', 'operations.invoked', 1],
  ]);
});

test('a scope whose tenant is unknown is reported, and costs the others nothing', async () => {
  const { activity, meters, added, errors } = open();
  const count = activity.invokedIn('fieldwork');
  count('unknown');
  count('s2');
  expect(await meters.flush()).toEqual({ done: 2, failed: 1 });
  expect([errors, added]).toEqual([['unknown'], [['fieldwork tenant of s2', 'operations.invoked', 1]]]);
});

test('a request that may have called a model leaves its scope to be asked for usage, and one that reads does not', () => {
  const { activity } = open();
  activity.served(request('a', 'a1', 'GET'));
  activity.served(request('a', 'a2', 'POST'));
  expect([...activity.touched.values()]).toEqual([{ tenant: 'a', scope: 'a2' }]);
  expect(activity.tenantOf('a1')).toBe('a');
});
