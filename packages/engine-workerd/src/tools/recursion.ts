/** Finds the common table expressions of a statement that end by themselves, as far as its text shows. */
import { wordsOf } from './statement-words.ts';

/** The largest number of rows of a common table expression with an acceptable end. */
const ROWS_MAX = 1_000_000;

/**
 * Returns the common table expressions whose text ends with `LIMIT n`, with that n, by their names in lower case.
 * Names that occur twice, and expressions without an end, are left out.
 */
export function boundedExpressions(sql: string): ReadonlyMap<string, number> {
  const tokens = wordsOf(sql);
  const found = new Map<string, number>();
  const named = new Set<string>();
  for (const [at, token] of tokens.entries()) {
    if (!/^AS$/i.test(token)) continue;
    let open = at + 1;
    while (/^(?:NOT|MATERIALIZED)$/i.test(tokens[open] ?? '')) open += 1;
    if (tokens[open] !== '(') continue;
    const name = nameBefore(tokens, at);
    const rows = limitOf(tokens.slice(open + 1, closing(tokens, open)));
    if (named.has(name)) found.delete(name);
    else if (rows !== null && rows <= ROWS_MAX) found.set(name, rows);
    named.add(name);
  }
  return found;
}

/** `name AS` or `name (column, …) AS`. */
function nameBefore(tokens: readonly string[], as: number): string {
  let at = as - 1;
  if (tokens[at] === ')') {
    let depth = 0;
    do {
      if (tokens[at] === ')') depth += 1;
      else if (tokens[at] === '(') depth -= 1;
      at -= 1;
    } while (depth > 0 && at >= 0);
  }
  return (tokens[at] ?? '').replace(/^["`[](.*)["`\]]$/s, '$1').toLowerCase();
}

function closing(tokens: readonly string[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    if (tokens[at] === '(') depth += 1;
    else if (tokens[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return tokens.length;
}

/** Returns the number of rows of a body that ends with `LIMIT n` or `LIMIT n OFFSET m`, with the skipped ones. */
function limitOf(body: readonly string[]): number | null {
  const end = /(?:^|\s)LIMIT (\d+)(?: OFFSET (\d+))?$/i.exec(body.slice(-4).join(' '));
  return end ? Number(end[1]) + Number(end[2] ?? 0) : null;
}
