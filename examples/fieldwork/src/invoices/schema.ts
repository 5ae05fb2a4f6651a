/** An invoice on the wire. Amounts are whole cents, without tax: tax is added by the bookkeeping. */
import { idSchema, timestamp } from '@freehold/contracts';
import { z } from 'zod';

/** Not `inv`: that is an invocation's. */
export const INVOICE_PREFIX = 'bil';
export const invoiceId = idSchema(INVOICE_PREFIX);

export const invoiceState = z.enum(['draft', 'issued']);

export const invoiceOutput = z.object({
  id: invoiceId,
  number: z.int().nullable().describe('Given when it is issued, without gaps'),
  state: invoiceState,
  order: z.object({ id: idSchema('ord'), number: z.int(), title: z.string() }),
  customer: z.object({ id: z.string(), name: z.string() }),
  currency: z.string(),
  callOutCents: z.int(),
  labourCents: z.int(),
  materialsCents: z.int(),
  totalCents: z.int(),
  createdAt: timestamp,
  issuedAt: timestamp.nullable(),
});
export type Invoice = z.infer<typeof invoiceOutput>;
