/** The recursions in the text of a statement. */
import { expect, test } from 'vitest';
import { boundedExpressions } from './recursion.ts';

const of = (sql: string) => Object.fromEntries(boundedExpressions(sql));

test.each<[string, Record<string, number>]>([
  ['WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 50) SELECT * FROM c', { c: 50 }],
  ['with "C d" as materialized (select 1 limit 7 offset 3) select 1', { 'c d': 10 }],
  ['WITH a AS (SELECT 1), b AS NOT MATERIALIZED (SELECT 1 LIMIT 2) SELECT 1', { b: 2 }],
  ['WITH c AS (SELECT (SELECT 1 LIMIT 1) FROM c) SELECT 1', {}],
  ['WITH c AS (SELECT 1 FROM c WHERE x IN (SELECT 1 LIMIT 1)) SELECT 1', {}],
  [`WITH c AS (SELECT ' LIMIT 5') SELECT 1`, {}],
  ['WITH c AS (SELECT 1 FROM c -- LIMIT 5\n) SELECT 1', {}],
  ['WITH c AS (SELECT 1 FROM c /* ( */ LIMIT 5 /* ) */) SELECT 1', { c: 5 }],
  ['WITH c AS (SELECT 1 FROM c LIMIT -1) SELECT 1', {}],
  ['WITH c AS (SELECT 1 FROM c LIMIT ?) SELECT 1', {}],
  ['WITH c AS (SELECT 1 FROM c LIMIT 5 + 5) SELECT 1', {}],
  ['WITH c AS (SELECT 1 FROM c LIMIT 5, 5) SELECT 1', {}],
  ['WITH c AS (SELECT 1 FROM c LIMIT 1000001) SELECT 1', {}],
  [
    'WITH c AS (SELECT 1 LIMIT 5) SELECT * FROM (WITH c AS (SELECT 1 UNION ALL SELECT 1 FROM c) SELECT * FROM c)',
    {},
  ],
  ['SELECT 1 AS a, 2 AS (', {}],
])('%s', (sql, bounded) => {
  expect(of(sql)).toEqual(bounded);
});
