import { ControlPlaneError } from '@freehold/control-plane/client';
import { expect, test } from 'vitest';
import { makeFleet } from './operator.ts';

const TENANTS = [
  { id: 'a', status: 'active' },
  { id: 'b', status: 'suspended' },
  { id: 'c', status: 'deleting' },
  { id: 'd', status: 'reaped' },
];
const SCOPES = [
  { id: 'a1', tenant: 'a', vertical: 'x', status: 'active' },
  { id: 'a2', tenant: 'a', vertical: 'x', status: 'suspended' },
  { id: 'a3', tenant: 'a', vertical: 'x', status: 'provisioning' },
  { id: 'a4', tenant: 'a', vertical: 'x', status: 'reaped' },
  { id: 'b1', tenant: 'b', vertical: 'y', status: 'active' },
  { id: 'c1', tenant: 'c', vertical: 'y', status: 'archived' },
];

/** The number of records that were handed out. */
let handedOut = 0;
async function* iterate(items: readonly object[]) {
  for (const item of items) {
    handedOut += 1;
    yield item;
  }
}
const one = async (items: readonly { readonly id: string }[], id: string) => {
  const found = items.find((each) => each.id === id);
  handedOut += 1;
  if (found) return found;
  throw new ControlPlaneError('There is no such thing.', {
    status: 404,
    problem: { code: 'not_found' } as never,
    requestId: null,
  });
};
const fleet = makeFleet({
  tenants: {
    list: { iterate: () => iterate(TENANTS) },
    get: ({ params }: { params: { tenant: string } }) => one(TENANTS, params.tenant),
  },
  scopes: {
    fleet: {
      iterate: ({ query }: { query: { tenant?: string } }) =>
        iterate(SCOPES.filter(({ tenant }) => query.tenant === undefined || tenant === query.tenant)),
    },
    get: ({ params }: { params: { scope: string } }) => one(SCOPES, params.scope),
  },
} as unknown as Parameters<typeof makeFleet>[0]);

test('a scope serves when it and its tenant are active; a scope that does not exist is not listed', async () => {
  const scopes: [string, string, boolean][] = [];
  for await (const { scope, vertical, serving } of fleet.scopes()) scopes.push([scope, vertical, serving]);
  expect(scopes).toEqual([
    ['a1', 'x', true],
    ['a2', 'x', false],
    ['b1', 'y', false],
    ['c1', 'y', false],
  ]);
});

test('a tenant has data until it is reaped', async () => {
  const tenants: string[] = [];
  for await (const tenant of fleet.tenants()) tenants.push(tenant);
  expect(tenants).toEqual(['a', 'b', 'c']);
});

test('listing the scopes of one tenant asks for no others', async () => {
  handedOut = 0;
  const scopes: [string, boolean][] = [];
  for await (const { scope, serving } of fleet.scopesOf('b')) scopes.push([scope, serving]);
  expect([scopes, handedOut]).toEqual([[['b1', false]], 2]);
  for await (const each of fleet.scopesOf('scp_unknown')) scopes.push([each.scope, each.serving]);
  expect(scopes).toHaveLength(1);
});

test('reading one scope asks for it and its tenant, and for nothing else', async () => {
  handedOut = 0;
  expect(await fleet.scope({ tenant: 'a', scope: 'a1' })).toEqual({
    tenant: 'a',
    scope: 'a1',
    vertical: 'x',
    serving: true,
  });
  expect(handedOut).toBe(2);
  expect(await fleet.scope({ tenant: 'b', scope: 'b1' })).toMatchObject({ serving: false });
  expect(await fleet.scope({ tenant: 'a', scope: 'a3' })).toBeNull();
  expect(await fleet.scope({ tenant: 'a', scope: 'a4' })).toBeNull();
  expect(await fleet.scope({ tenant: 'a', scope: 'z' })).toBeNull();
});
