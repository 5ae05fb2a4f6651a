/** The rates of work, on the wire. Amounts are whole cents, without tax. */
import { z } from 'zod';

const CENTS_MAX = 10_000_000;

export const ratesFields = {
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be a currency code of three capital letters'),
  hourlyCents: z.int().min(0).max(CENTS_MAX),
  callOutCents: z.int().min(0).max(CENTS_MAX).describe('Charged once an order, for coming out'),
};

export const ratesOutput = z.object(ratesFields);
export type Rates = z.infer<typeof ratesOutput>;
