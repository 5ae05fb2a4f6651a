import { expect, test } from 'vitest';
import { makeFleet } from './fleet.ts';

const list = (items: readonly object[]) => ({
  iterate: async function* iterate() {
    yield* items;
  },
});
const fleet = makeFleet({
  tenants: {
    list: list([
      { id: 'a', status: 'active' },
      { id: 'b', status: 'suspended' },
      { id: 'c', status: 'deleting' },
      { id: 'd', status: 'reaped' },
    ]),
  },
  scopes: {
    fleet: list([
      { id: 'a1', tenant: 'a', vertical: 'x', status: 'active' },
      { id: 'a2', tenant: 'a', vertical: 'x', status: 'suspended' },
      { id: 'a3', tenant: 'a', vertical: 'x', status: 'provisioning' },
      { id: 'a4', tenant: 'a', vertical: 'x', status: 'reaped' },
      { id: 'b1', tenant: 'b', vertical: 'y', status: 'active' },
      { id: 'c1', tenant: 'c', vertical: 'y', status: 'archived' },
    ]),
  },
} as unknown as Parameters<typeof makeFleet>[0]);

test('a scope serves when it and its tenant are active; what is not there is not listed', async () => {
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
