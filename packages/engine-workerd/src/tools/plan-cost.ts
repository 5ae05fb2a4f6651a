/**
 * Estimates the worst cost of a statement from SQLite's plan. A running statement cannot be stopped here, so one that
 * may not end within a few seconds is refused. The estimate errs towards refusing: it takes an unknown name for the
 * largest table, a search for its largest result, and a text that makes large values for one that makes them in every
 * row.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlValue } from '@freehold/store';
import { makeSizes, QUERY_WITHIN, type Sizes } from './plan-sizes.ts';
import { boundedExpressions } from './recursion.ts';
import { makesLargeValues, readsPlainColumns } from './statement-words.ts';

/** The number of rows that the loops of a statement may visit together. SQLite visits some ten million a second. */
const VISITS_MAX = 20_000_000;
/** The same where each row may make a value of megabytes. */
const LARGE_VISITS_MAX = 20_000;
/**
 * A table of a function (`json_each`) has the rows of one value, and a value holds two megabytes. The values stored in
 * a column are together no more than the database; values made by an expression may be that large in every row.
 */
const FUNCTION_VISITS = 1_000_000;
const COLUMN_FUNCTION_VISITS = 1_000;

export interface PlanRow extends Record<string, SqlStorageValue> {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

/**
 * Refuses a recursive statement without an end, and one whose nested loops are too large.
 * @throws PlatformError `validation_failed`, reason `statement_refused`; and SQLite's error for the statement.
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
  // The result of a search is measured only for statements that need it, because measuring reads an index.
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
 * Sibling loops are nested in each other. A query below one of them, or beside the loops (a subquery, a part of a
 * union), runs by itself, and a correlated one for each row of the loops.
 */
function makeCost(plan: readonly PlanRow[], text: string, sizes: Sizes): (parent: number) => number {
  const ofColumns = readsPlainColumns(text);
  const known = new Map<number, number>();

  const cost = (parent: number): number => {
    const before = known.get(parent);
    if (before !== undefined) return before;
    // A query that seems to contain itself, because of names that are used twice.
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

  /**
   * Returns the number of rows that one loop visits, or null for a node that is no loop. `functions` counts the loops
   * over functions up to it.
   */
  const visitsOf = (detail: string, functions: number): number | null => {
    const literal = /^SCAN (?:CONSTANT ROW|(\d+)(?: CONSTANT ROWS|-ROW VALUES CLAUSE))/.exec(detail);
    if (literal) return Number(literal[1] ?? 1);
    const loop = LOOP.exec(detail);
    if (!loop) return null;
    // A second one could multiply the values in one row.
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
