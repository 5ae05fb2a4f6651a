/** Estimates the sizes of the things in a plan: tables, inner queries, and the results of searches along an index. */
import type { PlanRow } from './plan-cost.ts';
import { aliasesOf } from './statement-words.ts';
import { quoted, schemaOf, tablesOf } from './tables.ts';

/** A query whose rows a loop reads. */
export const QUERY_WITHIN = /^(?:CO-ROUTINE|MATERIALIZE) (.*)$/s;
/** Above this number of rows, a search without an index is not measured: it would have to sort them. */
const SORTED_MAX = 200_000;

export interface SizesParts {
  readonly sql: SqlStorage;
  readonly text: string;
  readonly plan: readonly PlanRow[];
  /** Common table expressions with an end of their own. */
  readonly bounded: ReadonlyMap<string, number>;
  /** Tables are counted up to here. */
  readonly rowsMax: number;
  /** Whether the results of searches are measured; otherwise a search counts as finding everything. */
  readonly isMeasured: boolean;
}

/** Returns the number of rows that a node of the plan visits: a query returns no more rows than it visits. */
type Cost = (id: number) => number;

export interface Sizes {
  /** Returns the largest number of rows of a named thing. */
  rows(name: string, cost: Cost): number;
  /** Returns the largest number of them that one search finds. */
  found(name: string, detail: string, cost: Cost): number;
}

export function makeSizes({ sql, text, plan, bounded, rowsMax, isMeasured }: SizesParts): Sizes {
  const tables = tablesOf(sql).map(({ name }) => name);
  const queries = plan.flatMap(({ id, detail }) => {
    const name = QUERY_WITHIN.exec(detail)?.[1];
    return name === undefined ? [] : [{ id, name: name.toLowerCase() }];
  });
  // A view's text is part of the statement, and uses names of its own.
  const views = schemaOf(sql).flatMap((each) => (each.type === 'view' ? each.sql : []));
  const names = [...tables, ...queries.map(({ name }) => name), ...bounded.keys()];
  const aliases = aliasesOf([text, ...views].join('\n'), names);
  const counts = new Map<string, number>();

  const count = (table: string): number => {
    const known = counts.get(table);
    if (known !== undefined) return known;
    const counting = `SELECT count(*) AS n FROM (SELECT 1 FROM ${quoted(table)} LIMIT ${rowsMax})`;
    const { n } = sql.exec<{ n: number }>(counting).one();
    counts.set(table, n);
    return n;
  };

  /** Returns everything that a name may stand for. */
  const meant = (name: string) => {
    const names = [name.toLowerCase(), ...(aliases.get(name.toLowerCase()) ?? [])];
    return {
      tables: tables.filter((table) => names.includes(table.toLowerCase())),
      queries: queries.filter((query) => names.includes(query.name)),
      bounded: names.flatMap((each) => bounded.get(each) ?? []),
    };
  };

  const rows = (name: string, cost: Cost): number => {
    const found = meant(name);
    const isPlaced = found.tables.length + found.queries.length + found.bounded.length > 0;
    const {
      tables: fromTables,
      queries: fromQueries,
      bounded: fromBounded,
    } = isPlaced ? found : { tables, queries, bounded: [...bounded.values()] };
    const made = fromQueries.map((query) => bounded.get(query.name) ?? cost(query.id));
    return Math.max(1, ...fromTables.map(count), ...fromBounded, ...made);
  };

  /** Returns the largest number of rows that have the same values in some columns. */
  const largestGroup = (table: string, columns: readonly string[], isIndexed: boolean): number => {
    const total = count(table);
    if (total >= rowsMax || (!isIndexed && total > SORTED_MAX)) return total;
    const by = columns.map(quoted).join(', ');
    const grouping = `SELECT count(*) AS n FROM ${quoted(table)} GROUP BY ${by} ORDER BY n DESC LIMIT 1`;
    try {
      return sql.exec<{ n: number }>(grouping).toArray()[0]?.n ?? 0;
    } catch {
      // Its columns have other names: another table is meant.
      return total;
    }
  };

  return {
    rows,
    found: (name, detail, cost) => {
      if (/ USING INTEGER PRIMARY KEY \(rowid=\?\)/.test(detail)) return 1;
      const all = (): number => rows(name, cost);
      const columns = equalColumns(detail);
      if (!isMeasured || columns === null) return all();
      const { tables: ofIndex, queries: made } = indexed(sql, detail) ?? meant(name);
      if (ofIndex.length === 0 || made.length > 0) return all();
      const isIndexed = !detail.includes(' USING AUTOMATIC ');
      return Math.max(1, ...ofIndex.map((table) => largestGroup(table, columns, isIndexed)));
    },
  };
}

/** Returns the columns of a search for given values, and nothing else: `(a=? AND b=?)`; null for any other search. */
function equalColumns(detail: string): readonly string[] | null {
  const conditions = / USING [^(]*\(([^()]*)\)/.exec(detail)?.[1]?.split(' AND ');
  const columns = conditions?.map((condition) => /^([\w$]+)=\?$/.exec(condition)?.[1]);
  return columns?.every((column) => column !== undefined) ? (columns as string[]) : null;
}

/** Returns the table of the index that a search names. */
function indexed(sql: SqlStorage, detail: string) {
  const index = / USING (?:COVERING )?INDEX (.+?) \(/.exec(detail)?.[1];
  if (index === undefined || detail.includes(' USING AUTOMATIC ')) return null;
  const found = sql
    .exec<{ name: string }>(
      `SELECT tbl_name AS name FROM sqlite_master WHERE type = 'index' AND name = ?`,
      index,
    )
    .toArray();
  return found.length === 0 ? null : { tables: found.map(({ name }) => name), queries: [] };
}
