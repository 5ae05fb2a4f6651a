/**
 * Checks that a SQL text is exactly one statement with positional parameters, and, for SQL that is not the
 * platform's own, nothing that could write a protected table. On workerd this is the guard; on Node it stands
 * before SQLite's authorizer, which cannot see everything either (the new name of a renamed table, the body of a
 * trigger, `OR ROLLBACK`), so that both engines refuse the same.
 *
 * It fails closed: a statement is refused unless it is known to be harmless.
 */
import type { GuardOptions } from './sql-database.ts';
import { isKeyword, isMark, StatementRefused, splitStatements, type Token, tokenize } from './sql-tokens.ts';

/** The facts that an engine needs before it runs a statement. */
export interface CheckedStatement {
  /** The number of values that it takes. */
  readonly parameters: number;
}

/**
 * Checks a text of one statement; `guard` is null for the platform's own.
 * @throws StatementRefused when it is none or several, has named parameters, or the guard refuses it.
 */
export function checkStatement(sql: string, guard: GuardOptions | null): CheckedStatement {
  const [statement, ...more] = splitStatements(tokenize(sql));
  if (!statement) throw new StatementRefused('there is no statement in the SQL');
  if (more.length > 0) throw new StatementRefused('there is more than one statement in the SQL');
  if (guard) requireHarmless(statement, guard);
  return { parameters: countParameters(statement) };
}

/**
 * Checks every statement of a script for a guarded view.
 * @throws StatementRefused when the guard refuses one of them.
 */
export function checkScript(script: string, guard: GuardOptions): void {
  for (const statement of splitStatements(tokenize(script))) requireHarmless(statement, guard);
}

function countParameters(statement: readonly Token[]): number {
  // SQLite, "Parameters": `?` takes the number after the largest so far, `?NNN` has its own.
  let largest = 0;
  for (const { kind, text } of statement) {
    if (kind === 'parameter') largest = text === '?' ? largest + 1 : Math.max(largest, Number(text.slice(1)));
  }
  return largest;
}

function requireHarmless(statement: readonly Token[], guard: GuardOptions): void {
  requireNoReach(statement);
  const main = mainVerb(statement);
  if (isKeyword(statement[main], 'SELECT', 'VALUES')) {
    requireNoWriteVerb(statement);
    return;
  }
  if (guard.readOnly) throw new StatementRefused('only reading is allowed here');
  const names = (token: Token | undefined) => isOutOfBounds(token, guard.protectedPrefix);
  if (isKeyword(statement[main], 'INSERT', 'REPLACE', 'UPDATE', 'DELETE'))
    requireOwnTarget(statement, rowTarget(statement, main), names);
  else if (isKeyword(statement[0], 'CREATE', 'ALTER', 'DROP')) requireOwnSchema(statement, names);
  else throw new StatementRefused('a statement of this kind is not allowed here');
}

/** Words that reach outside the rows of this database, in any statement. */
function requireNoReach(statement: readonly Token[]): void {
  for (const [i, { kind, text }] of statement.entries()) {
    if (kind !== 'word' && kind !== 'quoted' && kind !== 'string') continue;
    const name = text.toLowerCase();
    if (name === 'load_extension' && isMark(statement[i + 1], '('))
      throw new StatementRefused('extensions are not allowed here');
    // `pragma_…` are the pragmas in the clothes of a table.
    if (kind !== 'string' && name.startsWith('pragma_'))
      throw new StatementRefused('pragmas are not allowed here');
  }
}

/** Where the verb is: behind EXPLAIN, and behind the common table expressions of a WITH. */
function mainVerb(statement: readonly Token[]): number {
  let at = 0;
  if (isKeyword(statement[at], 'EXPLAIN')) {
    at += isKeyword(statement[1], 'QUERY') && isKeyword(statement[2], 'PLAN') ? 3 : 1;
    // Explaining a change of the schema is of no use to anybody, so only rows may be explained.
    if (isKeyword(statement[at], 'CREATE', 'ALTER', 'DROP')) return statement.length;
  }
  if (!isKeyword(statement[at], 'WITH')) return at;
  let depth = 0;
  for (; at < statement.length; at++) {
    const token = statement[at];
    if (isMark(token, '(')) depth += 1;
    else if (isMark(token, ')')) depth -= 1;
    else if (depth === 0 && isKeyword(token, 'SELECT', 'VALUES', 'INSERT', 'UPDATE', 'DELETE')) return at;
    else if (depth === 0 && isReplaceInto(statement, at)) return at;
  }
  return at;
}

/** INSERT, UPDATE and DELETE are reserved words; REPLACE is also the name of a function. */
function requireNoWriteVerb(statement: readonly Token[]): void {
  for (const [i, token] of statement.entries()) {
    if (isKeyword(token, 'INSERT', 'UPDATE', 'DELETE') || isReplaceInto(statement, i))
      throw new StatementRefused('a query that writes is not allowed here');
  }
}

function isReplaceInto(statement: readonly Token[], at: number): boolean {
  return isKeyword(statement[at], 'REPLACE') && isKeyword(statement[at + 1], 'INTO');
}

/** Where the name of the table is that a row statement writes. What it reads from is free. */
function rowTarget(statement: readonly Token[], verb: number): number {
  let at = verb + 1;
  if (isKeyword(statement[at], 'OR')) {
    // OR ROLLBACK would end the transaction of everybody in the group, not only this call's part in it.
    if (!isKeyword(statement[at + 1], 'ABORT', 'FAIL', 'IGNORE', 'REPLACE'))
      throw new StatementRefused('this conflict clause is not allowed here');
    at += 2;
  }
  if (isKeyword(statement[verb], 'UPDATE')) return at;
  if (!isKeyword(statement[at], isKeyword(statement[verb], 'DELETE') ? 'FROM' : 'INTO'))
    throw new StatementRefused('the table that this statement writes cannot be seen');
  return at + 1;
}

function requireOwnSchema(
  statement: readonly Token[],
  outOfBounds: (token: Token | undefined) => boolean,
): void {
  // ON CONFLICT ROLLBACK and RAISE(ROLLBACK): see rowTarget.
  if (statement.some((token) => isKeyword(token, 'ROLLBACK')))
    throw new StatementRefused('ROLLBACK is not allowed here');
  // A deferred key is checked when the group commits: one call's broken reference would fail everybody's.
  if (statement.some((token, i) => isKeyword(token, 'INITIALLY') && isKeyword(statement[i + 1], 'DEFERRED')))
    throw new StatementRefused('deferred foreign keys are not allowed here');
  if (isKeyword(statement[0], 'CREATE') && isKeyword(statement[1], 'TABLE', 'VIEW')) {
    const named = isKeyword(statement[2], 'IF') ? 5 : 2;
    requireOwnTarget(statement, named, outOfBounds);
    // A foreign key to a protected row would keep the platform from deleting that row.
    if (statement.some((token, i) => isKeyword(token, 'REFERENCES') && outOfBounds(statement[i + 1])))
      throw refusedTable();
    return;
  }
  const isObject = isKeyword(statement[1], 'TABLE', 'VIEW', 'INDEX', 'UNIQUE', 'TRIGGER');
  if (!isObject) throw new StatementRefused('a statement of this kind is not allowed here');
  // The body of a trigger runs later, also under a statement of the platform's own: it may not name the table at all.
  if (statement.some(outOfBounds)) throw refusedTable();
}

/** The name at a position, or the one after its schema: `main."_spine_events"`. */
function requireOwnTarget(
  statement: readonly Token[],
  at: number,
  outOfBounds: (token: Token | undefined) => boolean,
): void {
  const name = isMark(statement[at + 1], '.') ? statement[at + 2] : statement[at];
  if (name?.kind !== 'word' && name?.kind !== 'quoted' && name?.kind !== 'string')
    throw new StatementRefused('the table that this statement writes cannot be seen');
  if (outOfBounds(name)) throw refusedTable();
}

/** Protected tables, and SQLite's own (`sqlite_sequence` holds the counters of protected tables too). */
function isOutOfBounds(token: Token | undefined, protectedPrefix: string): boolean {
  if (token?.kind !== 'word' && token?.kind !== 'quoted' && token?.kind !== 'string') return false;
  const name = token.text.toLowerCase();
  return name.startsWith(protectedPrefix.toLowerCase()) || name.startsWith('sqlite_');
}

function refusedTable(): StatementRefused {
  return new StatementRefused("the platform's own tables can be read here, and nothing else");
}
