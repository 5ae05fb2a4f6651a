/** Acme Notes, declared: customers, their bicycles, and repairs. Pages, history, files and the API follow. */
import {
  day,
  defineApp,
  lineOfText,
  minutes,
  money,
  noteText,
  records,
  relation,
  unauthenticated,
} from '@freehold/app';
import { z } from 'zod';
import { migrations } from './migrations.ts';

export const customer = records('customer', {
  fields: z.object({ name: lineOfText(120), phone: lineOfText(40).optional(), email: z.email().optional() }),
  search: ['name', 'phone'],
  sort: ['name', 'createdAt'],
  unique: ['email'],
  personal: ['name', 'phone', 'email'],
  permissions: {
    read: 'customer.read',
    write: 'customer.write',
    import: 'customer.transfer',
    export: 'customer.transfer',
  },
});

export const bicycle = records('bicycle', {
  fields: z.object({ model: lineOfText(120), frame: lineOfText(40), owner: relation(customer) }),
  search: ['model', 'frame', 'owner'],
  filter: ['owner'],
  sort: ['model', 'createdAt'],
  unique: ['frame'],
  permissions: { read: 'repair.read', write: 'customer.write' },
});

export const repair = records('repair', {
  fields: z.object({
    what: lineOfText(200),
    bicycle: relation(bicycle),
    state: z.enum(['waiting', 'in_work', 'ready', 'collected']).default('waiting'),
    due: day(),
    work: minutes().optional(),
    price: money('EUR').optional(),
    notes: noteText(2_000).optional(),
  }),
  search: ['what', 'bicycle'],
  filter: ['state', 'bicycle', ['state', 'bicycle']],
  sort: ['due', 'createdAt'],
  permissions: { read: 'repair.read', write: 'repair.write' },
});

const attachments = { read: 'repair.read', write: 'repair.write', remove: 'repair.write' };
const permissions = {
  'customer.read': 'See customers',
  'customer.write': 'Write customers and bicycles down',
  'customer.transfer': 'Import and export customers',
  'repair.read': 'See bicycles and repairs',
  'repair.write': 'Write repairs down',
};
const roles = {
  owner: { name: 'Owner', permissions: Object.keys(permissions) },
  mechanic: { name: 'Mechanic', permissions: ['repair.read', 'repair.write'] },
};
const repairs = { ...repair.entity, attachments };
const entities = { customer: customer.entity, bicycle: bicycle.entity, repair: repairs };
const names = { slug: 'acme-notes', name: 'Acme Notes', version: '0.1.0' };

export default defineApp({
  manifest: { ...names, permissions, roles, ownerRole: 'owner', entities, env: {} },
  migrations,
  operations: { ...customer.operations, ...bicycle.operations, ...repair.operations },
  erasure: { personal: customer.personal },
  // Everything under /api answers 401 until this is signedIn(), from the same package.
  authenticatedPrincipal: unauthenticated(),
});
