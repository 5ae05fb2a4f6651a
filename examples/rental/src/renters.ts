/** People who rent: records. Their names are in these tables alone, so that erasing a person empties one row. */
import { lineOfText, records, type SqlDatabase } from '@freehold/app';
import { z } from 'zod';

export const renters = records('renter', {
  fields: z.object({ name: lineOfText(120), phone: lineOfText(40).optional() }),
  search: ['name', 'phone'],
  sort: ['name', 'createdAt'],
  personal: ['name', 'phone'],
  permissions: { read: 'renter.read', write: 'renter.write' },
});

/** Stands in the place of the name of a person who was erased. */
export const ERASED = 'An erased person';

/** Empties the row of an erased person; the bookings stay, without a name. */
export function eraseRenter(sql: SqlDatabase, id: string): void {
  sql.run('UPDATE renters SET name = ?, phone = NULL WHERE id = ?', ERASED, id);
}
