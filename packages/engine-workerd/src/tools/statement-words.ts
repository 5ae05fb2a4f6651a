/** Reads facts from the words of a statement that its plan does not show. */

/** A quoted text, a comment, a word, a number, or one other character. */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\d+|\S/g;

/** Returns the words and marks of a statement, without its comments. */
export function wordsOf(sql: string): readonly string[] {
  return (sql.match(TOKEN) ?? []).filter((token) => !/^(?:--|\/\*)/.test(token));
}

/** Functions that make megabytes out of nothing. */
const MAKERS = new Set(['zeroblob', 'randomblob']);
/** Functions that make a larger value out of others; nested in each other, a few of them equal a maker. */
const GROWERS = new Set([
  'replace',
  'hex',
  'quote',
  'printf',
  'format',
  'concat',
  'concat_ws',
  'group_concat',
  'string_agg',
  'json_array',
  'json_object',
  'json_group_array',
  'json_group_object',
]);
const GROWERS_MAX = 8;

/** Whether each row of an answer could make a value of megabytes, which no plan shows. */
export function makesLargeValues(sql: string): boolean {
  const words = wordsOf(sql).map((word) => word.replace(/^["`[](.*)["`\]]$/s, '$1').toLowerCase());
  const isJoin = (at: number) => words[at] === '|' && words[at + 1] === '|';
  const growers = words.filter((word, at) => GROWERS.has(word) || isJoin(at)).length;
  return growers > GROWERS_MAX || words.some((word) => MAKERS.has(word));
}

/**
 * Whether every table of a function in a statement is made from a stored column: `json_each(orders.lines)`, in a
 * statement without another query, in which a name could stand for an expression's value.
 */
export function readsPlainColumns(sql: string): boolean {
  const words = wordsOf(sql);
  if (words.filter((word) => /^(?:SELECT|VALUES|WITH)$/i.test(word)).length !== 1) return false;
  return words.every((word, at) => {
    if (!/^json_(?:each|tree)$/i.test(word) || words[at + 1] !== '(') return true;
    const end = words.findIndex((each, i) => i > at && (each === ',' || each === ')'));
    const argument = words.slice(at + 2, end).join('');
    return /^(?:[\w$]+\.)?[A-Za-z_][\w$]*$/.test(argument);
  });
}

/** Words that cannot be an alias without quotes. */
const NO_ALIAS =
  /^(?:ON|USING|WHERE|JOIN|LEFT|RIGHT|FULL|INNER|OUTER|CROSS|NATURAL|GROUP|ORDER|HAVING|LIMIT|WINDOW|UNION|EXCEPT|INTERSECT|INDEXED|NOT|SET|AS|FROM|SELECT|VALUES|AND|OR|IN|IS|BY)$/i;

/**
 * Returns the aliases by which a statement may call these names: an alias, in lower case, to the names that it may
 * stand for.
 */
export function aliasesOf(sql: string, names: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Set(names.map((name) => name.toLowerCase()));
  const words = wordsOf(sql);
  const aliases = new Map<string, Set<string>>();
  for (const [at, word] of words.entries()) {
    const name = plainName(word);
    if (!known.has(name)) continue;
    const next = /^AS$/i.test(words[at + 1] ?? '') ? words[at + 2] : words[at + 1];
    if (next === undefined || !/^[\w"'`[\u0080-\uffff]/.test(next) || NO_ALIAS.test(next)) continue;
    const alias = plainName(next);
    aliases.set(alias, (aliases.get(alias) ?? new Set()).add(name));
  }
  return aliases;
}

function plainName(word: string): string {
  return word.replace(/^(["'`[])(.*)["'`\]]$/s, '$2').toLowerCase();
}
