/**
 * What a statement would cost at worst, told from SQLite's plan of it: a statement that runs cannot be stopped here, so
 * that one which may not end within a few seconds is not begun. The estimate errs towards refusing: it takes a name that
 * it cannot place for the largest thing there is, a search for its largest find, and a text that makes large values for
 * one that makes them in every row.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlValue } from '@freehold/store';
import { makeSizes, QUERY_WITHIN, type Sizes } from './plan-sizes.ts';
import { boundedExpressions } from './recursion.ts';
import { makesLargeValues, readsPlainColumns } from './statement-words.ts';

/** How many rows the loops of a statement may visit together. SQLite visits some ten million a second. */
const VISITS_MAX = 20_000_000;
/** The same where each row may make a value of megabytes. */
const LARGE_VISITS_MAX = 20_000;
/**
 * A table of a function (`json_each`) gives what one value holds, and a value holds two megabytes. What is stored in a
 * column is, taken together, no more than the database; what is made by an expression may be that much in every row.
 */
const FUNCTION_VISITS = 1_000_000;
const COLUMN_FUNCTION_VISITS = 1_000;

export interface PlanRow extends Record<string, SqlStorageValue> {
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
    const name = QUERY_WITHIN.exec(plan.find(({ id }) => id === parent)?.detail ?? '')?.[1];
    if (!bounded.has(name?.toLowerCase() ?? ''))
      throw refused('A recursion could not be stopped here: let it end with a LIMIT of its own.');
  }
  const most = makesLargeValues(text) ? LARGE_VISITS_MAX : VISITS_MAX;
  // What a search finds is measured only for those that need it: to measure is to read an index.
  for (const isMeasured of [false, true]) {
    const sizes = makeSizes({ sql, text, plan, bounded, rowsMax: VISITS_MAX, isMeasured });
    const visits = makeCost(plan, text, sizes)(0);
    if (visits <= most) return;
    if (isMeasured)
      throw refused(
        `It might visit ${visits < 1e15 ? Math.round(visits).toLocaleString('en') : 'countless'} rows, and could not be stopped; ${most.toLocaleString('en')} are the most. Narrow it, or join along an index.`,
      );
  }
}

const LOOP = /^(SCAN|SEARCH) (.+?)(?: VIRTUAL TABLE .*| USING .*| \(.*| LEFT-JOIN.*)?$/s;

/**
 * Loops that stand beside each other are nested in each other; what is below one of them, or beside the loops (a
 * subquery, a part of a union), runs by itself, and a correlated one for each row of the loops.
 */
function makeCost(plan: readonly PlanRow[], text: string, sizes: Sizes): (parent: number) => number {
  const ofColumns = readsPlainColumns(text);
  const known = new Map<number, number>();

  const cost = (parent: number): number => {
    const before = known.get(parent);
    if (before !== undefined) return before;
    // A query that seems to stand in itself, because of names that are used twice.
    known.set(parent, Number.POSITIVE_INFINITY);
    const found = costOf(parent);
    known.set(parent, found);
    return found;
  };

  const costOf = (parent: number): number => {
    let loops = 1;
    let once = 0;
    let forEach = 0;
    let functions = 0;
    for (const row of plan.filter((each) => each.parent === parent)) {
      const below = cost(row.id);
      if (isFunction(row)) functions += 1;
      // Several searches in the place of one.
      const visits = row.detail === 'MULTI-INDEX OR' ? below : visitsOf(row.detail, functions);
      if (visits !== null) loops *= Math.max(1, visits);
      if (row.detail.startsWith('CORRELATED')) forEach += below;
      else once += below;
    }
    return loops * (1 + forEach) + once;
  };

  /** How many rows one loop visits, or null for what is no loop. `functions` counts those of functions up to it. */
  const visitsOf = (detail: string, functions: number): number | null => {
    const literal = /^SCAN (?:CONSTANT ROW|(\d+)(?: CONSTANT ROWS|-ROW VALUES CLAUSE))/.exec(detail);
    if (literal) return Number(literal[1] ?? 1);
    const loop = LOOP.exec(detail);
    if (!loop) return null;
    // A second one could multiply what lies in one row.
    if (isFunction({ detail }))
      return ofColumns && functions === 1 ? COLUMN_FUNCTION_VISITS : FUNCTION_VISITS;
    return loop[1] === 'SEARCH'
      ? sizes.found(loop[2] as string, detail, cost)
      : sizes.rows(loop[2] as string, cost);
  };

  return cost;
}

function isFunction({ detail }: Pick<PlanRow, 'detail'>): boolean {
  return LOOP.test(detail) && detail.includes(' VIRTUAL TABLE ');
}

function refused(why: string): PlatformError {
  return new PlatformError('validation_failed', `This statement is not allowed here. ${why}`, {
    reason: 'statement_refused',
  });
}
