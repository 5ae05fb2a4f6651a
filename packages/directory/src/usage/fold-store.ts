/** Model usage folded per tenant by model, in SQL. Sums cross as text: an integer of SQLite's own may be larger than ours. */
import { cutPage, decodeCursor, type Page, PlatformError, type TenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { PageRequest, Statement } from '../lib/pages.ts';
import { picodollarsOfSplit } from './money.ts';
import type { Period } from './period.ts';

export interface UsageFilter extends PageRequest, Period {
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

/** One page, by tenant and model. It walks along the key, and the limit ends it. */
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
export function foldPage(select: string, column: 'model' | 'meter', filter: UsageFilter): Statement {
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
export function foldKey(tenant: string, name: string): string {
  return `${tenant} ${name}`;
}

function foldCursor(cursor: string): string[] {
  const key = decodeCursor(cursor);
  const space = key.indexOf(' ');
  if (space > 0) return [key.slice(0, space), key.slice(space + 1)];
  throw new PlatformError('validation_failed', 'The cursor is not one that this list gave out.', {
    errors: [{ path: 'cursor', message: 'is not one that this list gave out' }],
  });
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
