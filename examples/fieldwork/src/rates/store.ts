/** The SQL of the rates: one row. */
import type { SqlDatabase } from '@freehold/store';
import type { Rates } from './schema.ts';

export function loadRates(sql: SqlDatabase): Rates {
  const row = sql.get<Rates>(
    'SELECT currency, hourly_cents AS hourlyCents, call_out_cents AS callOutCents FROM rates WHERE only_row = 1',
  );
  if (!row) throw new TypeError('the rates have no row; the migration writes one');
  return row;
}

export function saveRates(sql: SqlDatabase, rates: Rates): void {
  sql.run(
    'UPDATE rates SET currency = ?, hourly_cents = ?, call_out_cents = ? WHERE only_row = 1',
    rates.currency,
    rates.hourlyCents,
    rates.callOutCents,
  );
}
