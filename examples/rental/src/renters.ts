/** People who rent. Their names are in this table alone, so that erasing a person empties one row. */
import {
  defineOperations,
  idSchema,
  lineOfText,
  operation,
  PlatformError,
  type SqlDatabase,
} from '@freehold/app';
import { z } from 'zod';

export const renterId = idSchema('ren');
const renter = z
  .object({
    id: renterId,
    name: z.string().nullable().describe('Null for a person who was erased'),
    phone: z.string().nullable(),
  })
  .meta({ id: 'Renter' });
export type Renter = z.infer<typeof renter>;

export const renterOperations = defineOperations({
  'renter/create': operation({
    summary: 'Write down a person who rents',
    input: z.strictObject({ name: lineOfText(120), phone: lineOfText(40).nullable().default(null) }),
    output: renter,
    permission: 'renter.write',
    http: { method: 'POST', path: '/api/renters' },
    created: ({ id }) => ({ type: 'renter', id }),
    run: (ctx, { name, phone }) => {
      const id = ctx.newId('ren');
      ctx.sql.run('INSERT INTO renters (id, name, phone) VALUES (?, ?, ?)', id, name, phone);
      ctx.emit({ type: 'renter.created', entity: { type: 'renter', id } });
      return loadRenter(ctx.sql, id);
    },
  }),

  'renter/get': operation({
    summary: 'Show a person who rents',
    input: z.strictObject({ renter: renterId }),
    output: renter,
    permission: 'renter.read',
    entity: (input) => ({ type: 'renter', id: input.renter }),
    http: { method: 'GET', path: '/api/renters/:renter' },
    run: ({ sql }, input) => loadRenter(sql, input.renter),
  }),
});

/** @throws PlatformError `not_found` */
export function loadRenter(sql: SqlDatabase, id: string): Renter {
  const row = sql.get<Renter>('SELECT id, name, phone FROM renters WHERE id = ?', id);
  if (row) return row;
  throw new PlatformError('not_found', 'There is no such person.', { reason: 'unknown_renter' });
}

/** Empties the row of an erased person; the bookings stay, without a name. */
export function eraseRenter(sql: SqlDatabase, id: string): void {
  sql.run('UPDATE renters SET name = NULL, phone = NULL WHERE id = ?', id);
}
