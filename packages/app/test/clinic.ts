/** An application made of records alone, for their tests: animals, and who keeps them. */
import type { ActorId } from '@freehold/contracts';
import { z } from 'zod';
import {
  day,
  defineApp,
  lineOfText,
  money,
  operation,
  records,
  relation,
  signedIn,
  statementsOf,
} from '../src/index.ts';

export const keeper = records('keeper', {
  fields: z.object({ name: lineOfText(120), phone: z.string().max(40).optional() }),
  prefix: 'kpr',
  search: ['name'],
  sort: ['name', 'createdAt'],
  unique: ['phone'],
  personal: ['name', 'phone'],
  permissions: {
    read: 'keeper.read',
    write: 'keeper.write',
    list: 'clinic.open',
    import: 'clinic.import',
    export: 'clinic.export',
  },
});

export const animal = records('animal', {
  fields: z
    .object({
      name: lineOfText(120),
      kind: z.enum(['cat', 'dog', 'goat']).default('cat'),
      born: day().optional(),
      seen: day().optional(),
      fee: money('EUR'),
      insured: z.boolean().default(false),
      keeper: relation(keeper).optional(),
    })
    .refine(({ born, seen }) => born === undefined || seen === undefined || born <= seen, {
      path: ['seen'],
      message: 'must not be before the day of birth',
    }),
  prefix: 'anm',
  search: ['name', 'keeper'],
  filter: ['kind', 'keeper', ['kind', 'insured']],
  sort: ['name', 'fee', 'createdAt'],
  unique: [['name', 'keeper']],
  permissions: {
    read: 'animal.read',
    write: 'animal.write',
    list: 'clinic.open',
    import: 'clinic.import',
    export: 'clinic.export',
  },
});

export const clinic = defineApp({
  manifest: {
    slug: 'clinic',
    name: 'Clinic',
    version: '0.1.0',
    permissions: {
      'clinic.open': 'Open the lists',
      'keeper.read': 'See keepers',
      'keeper.write': 'Write keepers down',
      'animal.read': 'See animals',
      'animal.write': 'Write animals down',
      'clinic.import': 'Import from files',
      'clinic.export': 'Export to files',
    },
    roles: {
      owner: {
        name: 'Owner',
        permissions: [
          'clinic.open',
          'keeper.read',
          'keeper.write',
          'animal.read',
          'animal.write',
          'clinic.import',
          'clinic.export',
        ],
      },
      helper: {
        name: 'Helper',
        permissions: ['clinic.open', 'animal.read', 'animal.write', 'clinic.import', 'clinic.export'],
      },
      guest: { name: 'Guest', permissions: ['clinic.open'] },
      // Imports and exports, and reads single records alone.
      clerk: {
        name: 'Clerk',
        permissions: ['clinic.open', 'animal.write', 'keeper.write', 'clinic.import', 'clinic.export'],
      },
    },
    ownerRole: 'owner',
    entities: { keeper: keeper.entity, animal: animal.entity },
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'keepers and animals',
      sql: [keeper, animal].flatMap(({ table }) => statementsOf(table)).join(';\n'),
    },
  ],
  operations: {
    ...keeper.operations,
    ...animal.operations,
    'animal/share': operation({
      summary: 'Let a member see one record',
      input: z.strictObject({ type: z.enum(['animal', 'keeper']), id: z.string(), with: z.string() }),
      output: z.object({}),
      permission: 'animal.write',
      run: (ctx, { type, id, with: subject }) => {
        ctx.grant({ subject: subject as ActorId, permission: `${type}.read`, entity: { type, id } });
        return {};
      },
    }),
  },
  erasure: {
    persons: { keeper: { permission: 'keeper.write' } },
    onShred: ({ sql }, subject) =>
      sql.run("UPDATE keepers SET name = '', phone = NULL WHERE id = ?", subject),
    personal: keeper.personal,
  },
  authenticatedPrincipal: signedIn(),
});
