/** The data window of a scope (spec 4.3; design: kernel, "Looking inside"): its queries and their limits. */
import { z } from 'zod';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../pages.ts';
import { scopeRef } from './shared.ts';

/** The largest number of rows in an answer. */
export const QUERY_ROWS_MAX = 1_000;
/** The time after which a query is stopped. */
export const QUERY_TIME_MS = 5_000;
/** The largest size of an answer in bytes; a longer one is cut, and says so. */
export const QUERY_BYTES_MAX = 4 * 1_024 * 1_024;
/** The longest text of a query. */
export const QUERY_SQL_LENGTH_MAX = 20_000;

/**
 * A value as JSON: text, safe integers and reals as they are; an integer beyond them as `{ $integer }` (decimal
 * text); bytes as `{ $bytes, length }` (base64url, the first 256 bytes); text beyond 4,096 characters as
 * `{ $text, length }` (its beginning).
 */
export const cell = z.union([
  z.null(),
  z.string(),
  z.number(),
  z.object({ $integer: z.string() }),
  z.object({ $bytes: z.string(), length: z.int() }),
  z.object({ $text: z.string(), length: z.int() }),
]);

export const columnInfo = z.object({
  name: z.string(),
  /** The declared type: `TEXT`, `INTEGER`, empty for none. */
  type: z.string(),
  notNull: z.boolean(),
  /** Its place in the primary key from 1, or 0. */
  primaryKey: z.int(),
});

export const tableInfo = z
  .object({
    name: z.string(),
    /** `spine` are the platform's own, `vertical` the application's. */
    kind: z.enum(['spine', 'vertical']),
    type: z.enum(['table', 'view']),
    columns: z.array(columnInfo),
    /** Null where counting would take too long: more than 100,000 rows, or a view. */
    rows: z.int().nullable(),
  })
  .meta({ id: 'Table' });
export const tablesResponse = z.object({ items: z.array(tableInfo) });

/** The greatest length of the conditions as JSON: they are part of an address. */
export const FILTERS_LENGTH_MAX = 1_024;

/** One condition on a column. `like` takes SQL's `%` and `_`; `is null` and `is not null` take no value. */
export const tableFilter = z.strictObject({
  column: z.string().min(1).max(128),
  op: z.enum(['=', '!=', '<', '<=', '>', '>=', 'like', 'is null', 'is not null']),
  value: z.union([z.string().max(FILTERS_LENGTH_MAX), z.number()]).optional(),
});

export const tableFilters = z
  .array(tableFilter)
  .max(10)
  .refine(
    (filters) => JSON.stringify(filters).length <= FILTERS_LENGTH_MAX,
    `is longer than ${FILTERS_LENGTH_MAX} characters of JSON`,
  );

/** Rows of one table, in the order of its primary key (or rowid). */
export const tableQuery = z.strictObject({
  ...scopeRef.shape,
  table: z.string().min(1).max(128),
  filters: tableFilters.default([]),
  order: z.enum(['asc', 'desc']).default('asc').describe('By the primary key, or by rowid'),
  limit: z.int().min(1).max(LIMIT_MAX).default(LIMIT_DEFAULT).describe('How many rows at most'),
  cursor: z.string().max(4_096).optional().describe('nextCursor of the page before'),
});
/** The same in an address: `filters` is a JSON array in one field. */
export const tableRequest = z.strictObject({
  ...tableQuery.shape,
  filters: z
    .string()
    .max(FILTERS_LENGTH_MAX)
    .transform((text, issues): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        issues.addIssue({ code: 'custom', message: 'is not JSON' });
        return z.NEVER;
      }
    })
    .pipe(tableFilters)
    .prefault('[]')
    .describe('A JSON array of conditions { column, op, value? }'),
});
export const tablePage = z
  .object({
    table: z.string(),
    columns: z.array(columnInfo),
    rows: z.array(z.array(cell)),
    nextCursor: z.string().nullable(),
    /** True when values were shortened. */
    truncated: z.boolean(),
  })
  .meta({ id: 'TablePage' });

/** One statement that reads; `?` parameters are bound. */
export const queryRequest = z.strictObject({
  ...scopeRef.shape,
  /** The engine checks that it only reads. */
  sql: z.string().max(QUERY_SQL_LENGTH_MAX),
  params: z
    .array(z.union([z.null(), z.string().max(65_536), z.number()]))
    .max(100)
    .default([]),
});
export const queryResponse = z
  .object({
    columns: z.array(z.string()),
    rows: z.array(z.array(cell)),
    /** The limit that cut the answer, or null. */
    truncated: z.enum(['rows', 'bytes']).nullable(),
    limits: z.object({ rows: z.int(), bytes: z.int(), timeMs: z.int() }),
    durationMs: z.number(),
  })
  .meta({ id: 'QueryResult' });

export type Cell = z.infer<typeof cell>;
export type ColumnInfo = z.infer<typeof columnInfo>;
export type TableInfo = z.infer<typeof tableInfo>;
export type TableFilter = z.infer<typeof tableFilter>;
export type TableQuery = z.infer<typeof tableQuery>;
export type TablePage = z.infer<typeof tablePage>;
export type QueryRequest = z.infer<typeof queryRequest>;
export type QueryResult = z.infer<typeof queryResponse>;
