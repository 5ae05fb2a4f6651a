/** The price of a piece of work: pure arithmetic in whole cents. */
import type { Rates } from '../rates/schema.ts';

export interface InvoiceAmounts {
  readonly callOutCents: number;
  readonly labourCents: number;
  readonly materialsCents: number;
  readonly totalCents: number;
}

/** Labour is charged by the minute and rounded once, half a cent upwards. */
export function invoiceAmounts(
  work: { readonly minutes: number; readonly materialsCents: number },
  rates: Pick<Rates, 'hourlyCents' | 'callOutCents'>,
): InvoiceAmounts {
  const labourCents = Math.round((work.minutes * rates.hourlyCents) / 60);
  return {
    callOutCents: rates.callOutCents,
    labourCents,
    materialsCents: work.materialsCents,
    totalCents: rates.callOutCents + labourCents + work.materialsCents,
  };
}
