/**
 * What a statement would cost at worst, told from SQLite's plan of it: a statement that runs cannot be stopped here, so
 * that one which may not end within a few seconds is not begun. The estimate is rough: it knows loops, and neither what a
 * function costs nor what an alias hides behind the name of another table.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlValue } from '@freehold/store';
import { boundedExpressions } from './recursion.ts';
import { quoted, tablesOf } from './tables.ts';

/** How many rows the loops of a statement may visit together. SQLite visits some ten million a second. */
const VISITS_MAX = 20_000_000;
/** A search along an index finds a few rows; a table of a function (`json_each`) gives what one value holds. */
const SEARCH_VISITS = 10;
const FUNCTION_VISITS = 1_000;

interface PlanRow extends Record<string, SqlStorageValue> {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

/**
 * Refuses a statement that calls itself, or whose nested loops are too large.
 * @throws PlatformError `validation_failed`, reason `statement_refused`; and what SQLite throws at the statement.
 */
export function requireAffordable(
  sql: SqlStorage,
  { sql: text, params }: { readonly sql: string; readonly params: readonly SqlValue[] },
): void {
  const plan = sql.exec<PlanRow>(`EXPLAIN QUERY PLAN ${text}`, ...params).toArray();
  const bounded = boundedExpressions(text);
  for (const { detail, parent } of plan) {
    if (detail !== 'RECURSIVE STEP') continue;
    const name = /^(?:CO-ROUTINE|MATERIALIZE) (.*)$/s.exec(
      plan.find(({ id }) => id === parent)?.detail ?? '',
    )?.[1];
    if (!bounded.has(name?.toLowerCase() ?? ''))
      throw refused('A recursion could not be stopped here: let it end with a LIMIT of its own.');
  }
  const visits = costOf(plan, 0, makeRowCounter(sql, bounded));
  if (visits > VISITS_MAX)
    throw refused(
      `It might visit ${visits < 1e15 ? Math.round(visits).toLocaleString('en') : 'countless'} rows, and could not be stopped; ${VISITS_MAX.toLocaleString('en')} are the most. Narrow it, or join along an index.`,
    );
}

/**
 * Loops that stand beside each other are nested in each other; what is below one of them, or beside the loops (a
 * subquery, a part of a union), runs by itself, and a correlated one for each row of the loops.
 */
function costOf(plan: readonly PlanRow[], parent: number, rowsOf: (name: string) => number): number {
  let loops = 1;
  let once = 0;
  let forEach = 0;
  for (const row of plan.filter((each) => each.parent === parent)) {
    const below = costOf(plan, row.id, rowsOf);
    const visits = visitsOf(row.detail, rowsOf);
    if (visits !== null) loops *= Math.max(1, visits);
    if (row.detail.startsWith('CORRELATED')) forEach += below;
    else once += below;
  }
  return loops * (1 + forEach) + once;
}

/** How many rows one loop visits, or null for what is no loop. */
function visitsOf(detail: string, rowsOf: (name: string) => number): number | null {
  if (/^SCAN CONSTANT ROW/.test(detail)) return 1;
  const loop = /^(SCAN|SEARCH) (.+?)(?: VIRTUAL TABLE .*| USING .*| \(.*| LEFT-JOIN.*)?$/s.exec(detail);
  if (!loop) return null;
  if (detail.includes(' VIRTUAL TABLE ')) return FUNCTION_VISITS;
  // A search for all that is larger than something may find nearly everything.
  const isNarrow = loop[1] === 'SEARCH' && !/[<>]\?/.test(detail);
  return isNarrow ? SEARCH_VISITS : rowsOf(loop[2] as string);
}

/** A plan names a table by its alias, where it has one: a name that is no table stands for the largest there is. */
function makeRowCounter(sql: SqlStorage, bounded: ReadonlyMap<string, number>): (name: string) => number {
  const counts = new Map<string, number>();
  const count = (table: string): number => {
    const known = counts.get(table);
    if (known !== undefined) return known;
    const bounded = `SELECT count(*) AS n FROM (SELECT 1 FROM ${quoted(table)} LIMIT ${VISITS_MAX})`;
    const { n } = sql.exec<{ n: number }>(bounded).one();
    counts.set(table, n);
    return n;
  };
  const tables = tablesOf(sql).map(({ name }) => name);
  let largest: number | undefined;
  return (name) => {
    const rows = bounded.get(name.toLowerCase());
    if (rows !== undefined) return rows;
    if (tables.includes(name)) return count(name);
    largest ??= Math.max(1, ...tables.map(count), ...bounded.values());
    return largest;
  };
}

function refused(why: string): PlatformError {
  return new PlatformError('validation_failed', `This statement is not allowed here. ${why}`, {
    reason: 'statement_refused',
  });
}
