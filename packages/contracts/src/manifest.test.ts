/** A manifest may name only what it declares. */
import { expect, test } from 'vitest';
import { manifestSchema } from './manifest.ts';

const manifest = {
  slug: 'library',
  name: 'Library',
  version: '1.0.0',
  permissions: { 'book.read': 'Read a book' },
  roles: { reader: { name: 'Reader', permissions: ['book.read'] } },
  ownerRole: 'reader',
  entities: { book: { attachments: { read: 'book.read', write: 'book.read' } }, page: { parent: 'book' } },
  services: { printer: { name: 'Printer', permissions: ['book.read'] } },
  env: {},
};

const undeclared = ['book.burn'];

test('a manifest that names only what it declares is accepted', () => {
  expect(manifestSchema.safeParse(manifest).success).toBe(true);
});

test.each([
  [
    'a role',
    { roles: { reader: { name: 'Reader', permissions: undeclared } } },
    'roles.reader.permissions.0',
  ],
  [
    'a service',
    { services: { printer: { name: 'Printer', permissions: undeclared } } },
    'services.printer.permissions.0',
  ],
  [
    'the attachments of an entity',
    { entities: { book: { attachments: { read: 'book.read', write: 'book.burn' } } } },
    'entities.book.attachments.write',
  ],
  ['the reading of an entity', { entities: { book: { read: 'book.burn' } } }, 'entities.book.read'],
])('%s that names an undeclared permission is refused, with its place', (_, change, place) => {
  const { error } = manifestSchema.safeParse({ ...manifest, ...change });
  expect(error?.issues.map(({ path, message }) => [path.join('.'), message])).toEqual([
    [place, 'names an undeclared permission: book.burn'],
  ]);
});

test.each([
  ['an owner role', { ownerRole: 'chief' }, 'ownerRole', 'names no declared role: chief'],
  [
    'a parent',
    { entities: { page: { parent: 'book' } } },
    'entities.page.parent',
    'names an undeclared parent: book',
  ],
])('%s that is not declared is refused, with its place', (_, change, place, message) => {
  const { error } = manifestSchema.safeParse({ ...manifest, ...change });
  expect(error?.issues.map(({ path, message: said }) => [path.join('.'), said])).toEqual([[place, message]]);
});

test.each([
  ['a line end in a name', { name: 'Library\nof the city' }, 'name'],
  ['a blank name', { name: ' ' }, 'name'],
  [
    'a turned text in the name of a role',
    { roles: { reader: { name: 'a\u202eb', permissions: [] } } },
    'roles.reader.name',
  ],
  [
    'a control in the name of a service',
    { services: { printer: { name: 'a\u0007', permissions: [] } } },
    'services.printer.name',
  ],
  ['a turned text in a description', { permissions: { 'book.read': 'a\u202eb' } }, 'permissions.book.read'],
  [
    'a control in the summary of a setting',
    { env: { PAPER: { summary: 'a\u001b[2J' } } },
    'env.PAPER.summary',
  ],
])('%s is refused, with its place', (_, change, place) => {
  const { error } = manifestSchema.safeParse({ ...manifest, ...change });
  expect(error?.issues.map(({ path }) => path.join('.'))).toContain(place);
});

test('descriptions keep their line ends', () => {
  const change = { permissions: { 'book.read': 'Read a book,\nalso one that is lent' } };
  expect(manifestSchema.safeParse({ ...manifest, ...change }).success).toBe(true);
});
