import { describe, expect, test } from 'vitest';
import { StatementRefused, splitStatements, tokenize } from './sql-tokens.ts';

const texts = (sql: string) => tokenize(sql).map(({ kind, text }) => `${kind} ${text}`);

describe('the tokenizer', () => {
  test.each([
    ['SELECT a.b', ['word SELECT', 'word a', 'mark .', 'word b']],
    ['"a""b" `c``d` [e"f] \'g\'\'h\'', ['quoted a"b', 'quoted c`d', 'quoted e"f', "string g'h"]],
    ['a /* x; */ -- y;\n b', ['word a', 'word b']],
    ['/**/a/*', ['word a']],
    ['a--b', ['word a']],
    ['1.5e3 .5 0x1F 1_000', ['number 1.5e3', 'number .5', 'number 0x1F', 'number 1_000']],
    ['?, ?12', ['parameter ?', 'mark ,', 'parameter ?12']],
    ["a->>'$.b'", ['word a', 'mark -', 'mark >', 'mark >', 'string $.b']],
    ['größe _x$1', ['word größe', 'word _x$1']],
    ["x'00'", ['word x', 'string 00']],
    ['', []],
  ])('reads %j', (sql, expected) => {
    expect(texts(sql)).toEqual(expected);
  });

  test.each([
    "'open",
    '"open',
    '`open',
    '[open',
    ':name',
    '@name',
    '$name',
    '#1',
    'a \0 b',
    '\uFEFFSELECT',
    'a \\ b',
    'a \v b',
  ])('refuses %j', (sql) => {
    expect(() => tokenize(sql)).toThrow(StatementRefused);
  });
});

describe('a script', () => {
  const count = (script: string) => splitStatements(tokenize(script)).length;

  test.each([
    ['', 0],
    [';; ;', 0],
    ['SELECT 1', 1],
    ["SELECT ';'; SELECT 2 -- ;", 2],
    ['CREATE TABLE t (a); CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END; SELECT 3', 3],
    ['CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; END; SELECT 3;', 2],
    ['create trigger x after insert on t begin select case 1 when 1 then 2 end end; end; select 3', 2],
    ['CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; "END"; END; SELECT 3', 2],
  ])('is cut where SQLite cuts it: %j', (script, statements) => {
    expect(count(script)).toBe(statements);
  });
});
