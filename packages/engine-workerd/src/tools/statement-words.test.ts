/** Facts from the words of a statement, in every spelling. */
import { expect, test } from 'vitest';
import { aliasesOf, makesLargeValues, readsPlainColumns } from './statement-words.ts';

test.each<[string, boolean]>([
  ['SELECT text FROM note', false],
  ["SELECT a || b || c || ' and ' || d FROM note", false],
  ['SELECT zeroblob(9)', true],
  ['SELECT "ZeroBlob"(9)', true],
  ["SELECT 'zeroblob(9)'", false],
  ['SELECT 1 -- zeroblob(9)', false],
  [`SELECT ${'a || '.repeat(9)}a`, true],
  [`SELECT ${'replace('.repeat(9)}a${", '', '')".repeat(9)}`, true],
])('whether it may make large values: %s', (sql, large) => {
  expect(makesLargeValues(sql)).toBe(large);
});

test.each<[string, boolean]>([
  ['SELECT value FROM orders, json_each(orders.lines)', true],
  ["SELECT value FROM orders, json_each(lines, '$.items')", true],
  ['SELECT value FROM orders o JOIN json_tree(o.lines)', true],
  ['SELECT value FROM json_each(?)', false],
  ["SELECT value FROM json_each('[1]')", false],
  ['SELECT value FROM orders, json_each(lines || lines)', false],
  ['SELECT value FROM orders, json_each(upper(lines))', false],
  ['SELECT value FROM (SELECT big FROM orders) s, json_each(s.big)', false],
  ['WITH s AS (VALUES (1)) SELECT value FROM s, json_each(s.column1)', false],
])('whether its functions read stored columns: %s', (sql, plain) => {
  expect(readsPlainColumns(sql)).toBe(plain);
});

test('an alias is found where a name has one, quoted or not, and no keyword is taken for one', () => {
  const sql = `SELECT o.x FROM orders o LEFT JOIN "Lines" AS "L 1" ON l.id = o.id, made m WHERE orders.id = 1`;
  const found = aliasesOf(sql, ['orders', 'Lines', 'made', 'absent']);
  expect(Object.fromEntries([...found].map(([alias, names]) => [alias, [...names]]))).toEqual({
    o: ['orders'],
    'l 1': ['lines'],
    m: ['made'],
  });
});
