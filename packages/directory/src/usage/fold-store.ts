/**
 * Usage per tenant and day, folded in SQL: model calls by model, and meters. Sums cross as text, because an integer of
 * SQLite may be larger than a number.
 */
import {
  cutPage,
  decodeCursor,
  foreignCursor,
  type Page,
  PlatformError,
  type TenantId,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { METERS, type MeterName, type MeterRecord } from '../declarations/usage.ts';
import type { PageRequest, Statement } from '../lib/pages.ts';
import { picodollarsOfSplit } from './money.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS_DEFAULT = 30;

export interface Period {
  /** The first day, in UTC: `2026-11-01`. */
  readonly since: string;
  /** The last. */
  readonly until: string;
}

/** The day of a time, in UTC. */
export function dayOf(ms: number): string {
  return toTimestamp(ms).slice(0, 10);
}

/** @throws PlatformError `validation_failed` for a period that ends before it begins. */
export function periodOf(
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
  nowMs: number,
): Period {
  const last = until ?? dayOf(nowMs);
  const first = since ?? dayBefore(last, DAYS_DEFAULT - 1);
  if (first > last)
    throw new PlatformError('validation_failed', 'The period ends before it begins.', {
      errors: [{ path: 'since', message: `is after ${last}` }],
    });
  return { since: first, until: last };
}

function dayBefore(day: string, days: number): string {
  const ms = Date.parse(`${day}T00:00:00.000Z`) - days * DAY_MS;
  // Days are compared as text, and years before 0 would not sort as such.
  return ms < Date.parse('0000-01-01T00:00:00.000Z') ? '0000-01-01' : dayOf(ms);
}

interface UsageFilter extends PageRequest, Period {
  readonly tenant?: string | undefined;
}

/** One tenant's use of one model at list price. Amounts are picodollars as text. */
export interface UsageFold {
  readonly tenant: TenantId;
  readonly model: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly unpricedCalls: number;
  readonly unreportedCalls: number;
  readonly testCalls: number;
  /** Null where no call is priced. */
  readonly listPicodollars: string | null;
  /** Of live scopes alone. */
  readonly billablePicodollars: string | null;
}

const COUNTS = {
  calls: 'calls',
  inputTokens: 'input_tokens',
  cachedInputTokens: 'cached_input_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
  unpricedCalls: 'calls * (1 - priced)',
  unreportedCalls: 'calls * (1 - reported)',
  testCalls: 'calls * (1 - billable)',
} as const;
const AMOUNTS = {
  micro: 'list_micro_usd',
  pico: 'list_pico_usd',
  billableMicro: 'list_micro_usd * billable',
  billablePico: 'list_pico_usd * billable',
} as const;

type FoldRow = Readonly<Record<keyof typeof COUNTS | keyof typeof AMOUNTS, string>> & {
  readonly tenant: TenantId;
  readonly model: string;
};

const SUMS = Object.entries({ ...COUNTS, ...AMOUNTS })
  .map(([name, sql]) => `CAST(sum(${sql}) AS TEXT) AS ${name}`)
  .join(', ');

/** One page, by tenant and model. It is read along the key, and the limit ends the read. */
export function usagePage(filter: UsageFilter): Statement {
  return foldPage(`SELECT tenant, model, ${SUMS} FROM model_usage_days`, 'model', filter);
}

export function listUsage(db: SqlDatabase, filter: UsageFilter): Page<UsageFold> {
  const { sql, params } = usagePage(filter);
  return cutPage(
    db.all<FoldRow>(sql, ...params),
    filter.limit,
    (row) => foldKey(row.tenant, row.model),
    foldOf,
  );
}

/** The statement of a fold over days, by tenant and one more column. */
function foldPage(select: string, column: 'model' | 'meter', filter: UsageFilter): Statement {
  const { tenant, since, until, cursor, limit } = filter;
  const after = cursor === undefined ? [] : foldCursor(cursor);
  const conditions = [
    ...(tenant === undefined ? [] : ['tenant = ?']),
    ...(after.length === 0 ? [] : [`(tenant, ${column}) > (?, ?)`]),
    'day >= ? AND day <= ?',
  ];
  return {
    sql: `${select} WHERE ${conditions.join(' AND ')} GROUP BY tenant, ${column} ORDER BY tenant, ${column} LIMIT ?`,
    params: [...(tenant === undefined ? [] : [tenant]), ...after, since, until, limit + 1],
  };
}

/** No tenant's id has a space. */
function foldKey(tenant: string, name: string): string {
  return `${tenant} ${name}`;
}

function foldCursor(cursor: string): string[] {
  const key = decodeCursor(cursor);
  const space = key.indexOf(' ');
  if (space > 0) return [key.slice(0, space), key.slice(space + 1)];
  throw foreignCursor();
}

function foldOf(row: FoldRow): UsageFold {
  const count = (name: keyof typeof COUNTS): number => Number(row[name]);
  const [calls, unpricedCalls] = [count('calls'), count('unpricedCalls')];
  const anyPriced = calls > unpricedCalls;
  const list = picodollarsOfSplit({ micro: row.micro, pico: row.pico });
  const billable = picodollarsOfSplit({ micro: row.billableMicro, pico: row.billablePico });
  return {
    tenant: row.tenant,
    model: row.model,
    calls,
    inputTokens: count('inputTokens'),
    cachedInputTokens: count('cachedInputTokens'),
    cacheWriteTokens: count('cacheWriteTokens'),
    outputTokens: count('outputTokens'),
    reasoningTokens: count('reasoningTokens'),
    unpricedCalls,
    unreportedCalls: count('unreportedCalls'),
    testCalls: count('testCalls'),
    listPicodollars: anyPriced ? list.toString() : null,
    billablePicodollars: anyPriced ? billable.toString() : null,
  };
}

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

/** Replaces the figure of the day. */
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
