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

/** Makes this the figure of the day: a measure that is repeated replaces the one before. */
export function setMeter(
  db: SqlDatabase,
  { tenant, day }: { readonly tenant: string; readonly day: string },
  { meter, quantity }: { readonly meter: MeterName; readonly quantity: number },
): void {
  db.run(
    `INSERT INTO meter_days (tenant, meter, day, quantity) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET quantity = excluded.quantity`,
    ...[tenant, meter, day, quantity],
  );
}

export function metersPage(filter: UsageFilter): Statement {
  return foldPage(
    'SELECT tenant, meter, CAST(sum(quantity) AS TEXT) AS quantity, count(*) AS days FROM meter_days',
    'meter',
    filter,
  );
}

interface MeterRow {
  readonly tenant: TenantId;
  readonly meter: MeterName;
  /** The sum of the days, as text. */
  readonly quantity: string;
  readonly days: number;
}

export function listMeters(db: SqlDatabase, filter: UsageFilter): Page<MeterRecord> {
  const { sql, params } = metersPage(filter);
  return cutPage(
    db.all<MeterRow>(sql, ...params),
    filter.limit,
    ({ tenant, meter }) => foldKey(tenant, meter),
    ({ tenant, meter, quantity: sum, days }) => {
      const { unit, kind } = METERS[meter];
      const quantity = kind === 'gauge' ? mean(BigInt(sum), BigInt(days)) : Number(sum);
      return { tenant, meter, unit, kind, quantity, days };
    },
  );
}

/** Rounded to the nearest whole number, halves up. */
function mean(sum: bigint, days: bigint): number {
  return Number((2n * sum + days) / (2n * days));
}
