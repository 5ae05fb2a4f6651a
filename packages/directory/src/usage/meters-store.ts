/** Meters in SQL: what a tenant used of one thing on one day. */
import { cutPage, type Page, type TenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { METERS, type MeterName, type MeterRecord } from '../declarations/usage.ts';
import type { Statement } from '../lib/pages.ts';
import { foldKey, foldPage, type UsageFilter } from './fold-store.ts';

export function addToMeters(
  db: SqlDatabase,
  { tenant, day }: { readonly tenant: string; readonly day: string },
  quantities: readonly (readonly [meter: MeterName, quantity: number])[],
): void {
  for (const [meter, quantity] of quantities) {
    if (quantity === 0) continue;
    db.run(
      `INSERT INTO meter_days (tenant, meter, day, quantity) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET quantity = quantity + excluded.quantity`,
      ...[tenant, meter, day, quantity],
    );
  }
}

export function metersPage(filter: UsageFilter): Statement {
  return foldPage(
    'SELECT tenant, meter, CAST(sum(quantity) AS TEXT) AS quantity FROM meter_days',
    'meter',
    filter,
  );
}

interface MeterRow {
  readonly tenant: TenantId;
  readonly meter: MeterName;
  readonly quantity: string;
}

export function listMeters(db: SqlDatabase, filter: UsageFilter): Page<MeterRecord> {
  const { sql, params } = metersPage(filter);
  return cutPage(
    db.all<MeterRow>(sql, ...params),
    filter.limit,
    ({ tenant, meter }) => foldKey(tenant, meter),
    ({ tenant, meter, quantity }) => ({ tenant, meter, unit: METERS[meter], quantity: Number(quantity) }),
  );
}
