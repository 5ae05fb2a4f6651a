/**
 * Reads SQL the way SQLite's own tokenizer does, as far as one must to know where a statement ends, which words
 * are names and which are keywords. What SQLite and this reader could disagree on is refused.
 */

/** Says that a statement is not one that the port or a guarded view runs. */
export class StatementRefused extends Error {
  override readonly name = 'StatementRefused';
}

/**
 * `word` is a bare word: a keyword or a name. `quoted` is a name in `"…"`, `` `…` `` or `[…]`. `string` is `'…'`,
 * which SQLite takes for a name where the grammar wants one.
 */
export interface Token {
  readonly kind: 'word' | 'quoted' | 'string' | 'number' | 'parameter' | 'mark';
  /** Without its quotes; doubled quotes are undone. */
  readonly text: string;
}

const SPACE = /[ \t\n\f\r]+/y;
const LINE_COMMENT = /--[^\n]*/y;
const BLOCK_COMMENT = /\/\*[\s\S]*?(?:\*\/|$)/y;
/** SQLite takes every character outside ASCII for a letter, but a leading byte order mark for a space. */
const WORD = /(?!\uFEFF)[A-Za-z_\u0080-\uFFFF][A-Za-z0-9_$\u0080-\uFFFF]*/y;
const NUMBER = /\.?[0-9][A-Za-z0-9_.$\u0080-\uFFFF]*/y;
/** Only the positional form: SQLite reads `$a(…)` as one parameter, brackets, quotes and all. */
const PARAMETER = /\?[0-9]*/y;
const STRING = /'((?:[^']|'')*)'/y;
const DOUBLE_QUOTED = /"((?:[^"]|"")*)"/y;
const BACK_QUOTED = /`((?:[^`]|``)*)`/y;
const BRACKETED = /\[([^\]]*)\]/y;
const MARK = /[;(),.*/+\-=<>!|&~%]/y;

/**
 * The tokens of a text, without white space and comments.
 * @throws StatementRefused on a character or a quote that SQLite would not take, and on a named parameter.
 */
export function tokenize(sql: string): Token[] {
  // SQLite ends the text at a NUL, and what it does not read must not be judged as if it did.
  if (sql.includes('\0')) throw new StatementRefused('the SQL holds a NUL character');
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(sql);
    if (found) at = pattern.lastIndex;
    return found;
  };
  while (at < sql.length) {
    if (match(SPACE) ?? match(LINE_COMMENT) ?? match(BLOCK_COMMENT)) continue;
    const token = nextToken(match);
    if (!token) throw new StatementRefused(`the SQL cannot be read at character ${at + 1}`);
    tokens.push(token);
  }
  return tokens;
}

function nextToken(match: (pattern: RegExp) => RegExpExecArray | null): Token | undefined {
  let found = match(WORD);
  if (found) return { kind: 'word', text: found[0] };
  found = match(NUMBER);
  if (found) return { kind: 'number', text: found[0] };
  found = match(STRING);
  if (found) return { kind: 'string', text: (found[1] as string).replaceAll("''", "'") };
  found = match(DOUBLE_QUOTED);
  if (found) return { kind: 'quoted', text: (found[1] as string).replaceAll('""', '"') };
  found = match(BACK_QUOTED);
  if (found) return { kind: 'quoted', text: (found[1] as string).replaceAll('``', '`') };
  found = match(BRACKETED);
  if (found) return { kind: 'quoted', text: found[1] as string };
  found = match(PARAMETER);
  if (found) return { kind: 'parameter', text: found[0] };
  found = match(MARK);
  return found ? { kind: 'mark', text: found[0] } : undefined;
}

/** Whether a token is this keyword; `keyword` is in upper case. A quoted word never is. */
export function isKeyword(token: Token | undefined, ...keywords: readonly string[]): boolean {
  return token?.kind === 'word' && keywords.includes(token.text.toUpperCase());
}

/** Whether a token is this punctuation mark. */
export function isMark(token: Token | undefined, mark: string): boolean {
  return token?.kind === 'mark' && token.text === mark;
}

/**
 * Cuts a script at its semicolons. Those inside a trigger do not count: a trigger ends at the `;` after the `END`
 * that itself follows a `;`, which no `END` of a CASE does.
 */
export function splitStatements(tokens: readonly Token[]): Token[][] {
  const statements: Token[][] = [];
  let statement: Token[] = [];
  for (const token of tokens) {
    if (!isMark(token, ';') || (isTrigger(statement) && !endsTrigger(statement))) {
      statement.push(token);
      continue;
    }
    if (statement.length > 0) statements.push(statement);
    statement = [];
  }
  if (statement.length > 0) statements.push(statement);
  return statements;
}

function isTrigger(statement: readonly Token[]): boolean {
  const second = isKeyword(statement[1], 'TEMP', 'TEMPORARY') ? statement[2] : statement[1];
  return isKeyword(statement[0], 'CREATE') && isKeyword(second, 'TRIGGER');
}

function endsTrigger(statement: readonly Token[]): boolean {
  return isKeyword(statement.at(-1), 'END') && isMark(statement.at(-2), ';');
}
