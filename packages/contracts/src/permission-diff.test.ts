/** The changes of permissions that an operator sees before a new version is promoted. */
import { expect, test } from 'vitest';
import type { VerticalManifest } from './manifest.ts';
import { permissionDiff } from './permission-diff.ts';

const before: VerticalManifest = {
  slug: 'shop',
  name: 'Shop',
  version: '1.0.0',
  permissions: { 'box.pack': '', 'box.ship': '', 'box.read': '', 'box.list': '', 'bill.write': '' },
  roles: {
    owner: { name: 'Owner', permissions: ['box.pack', 'box.ship', 'box.read', 'box.list', 'bill.write'] },
    packer: { name: 'Packer', permissions: ['box.pack', 'box.list', 'box.ship'] },
    guest: { name: 'Guest', permissions: ['box.list'] },
  },
  ownerRole: 'owner',
  entities: { box: {}, bill: {} },
  env: {},
};
const none = { gained: [], lost: [] };

test('a manifest and itself differ in nothing', () => {
  expect(permissionDiff(before, before)).toEqual({
    permissions: none,
    roles: none,
    services: none,
    byRole: {},
    byService: {},
    ownerRole: null,
    parents: [],
    widens: false,
  });
});

test('what a role gains and loses, what is new and what is gone', () => {
  const after: VerticalManifest = {
    ...before,
    permissions: { 'box.pack': '', 'box.read': '', 'box.list': '', 'box.weigh': '' },
    roles: {
      owner: { name: 'Owner', permissions: ['box.weigh', 'box.pack', 'box.read', 'box.list'] },
      guest: { name: 'Visitor', permissions: ['box.list'] },
      weigher: { name: 'Weigher', permissions: ['box.weigh'] },
    },
    services: { scale: { name: 'Scale', permissions: ['box.weigh'] } },
    entities: { box: { parent: 'bill' }, bill: {} },
  };
  expect(permissionDiff(before, after)).toEqual({
    permissions: { gained: ['box.weigh'], lost: ['bill.write', 'box.ship'] },
    roles: { gained: ['weigher'], lost: ['packer'] },
    services: { gained: ['scale'], lost: [] },
    byRole: {
      owner: { gained: ['box.weigh'], lost: ['bill.write', 'box.ship'] },
      packer: { gained: [], lost: ['box.list', 'box.pack', 'box.ship'] },
      weigher: { gained: ['box.weigh'], lost: [] },
    },
    byService: { scale: { gained: ['box.weigh'], lost: [] } },
    ownerRole: null,
    parents: [{ entity: 'box', before: null, after: 'bill' }],
    widens: true,
  });
});

test('taking away is not widening', () => {
  const after = { ...before, roles: { ...before.roles, guest: { name: 'Guest', permissions: [] } } };
  const diff = permissionDiff(before, after);
  expect(diff.byRole).toEqual({ guest: { gained: [], lost: ['box.list'] } });
  expect(diff.widens).toBe(false);
  expect(permissionDiff(after, before).widens).toBe(true);
});

test('names that every object has are not taken for roles', () => {
  const after = {
    ...before,
    roles: { ...before.roles, constructor: { name: 'Constructor', permissions: ['box.list'] } },
  };
  expect(permissionDiff(before, after).byRole).toEqual({ constructor: { gained: ['box.list'], lost: [] } });
});
