import { expect, test } from 'vitest';
import { z } from 'zod';
import { queryFields, textReader } from './text-fields.ts';

test('a schema that takes unknown fields, or one that text cannot say, is refused when the reader is made', () => {
  expect(() => textReader('The query', z.object({}))).toThrow(/refuse unknown fields/);
  const deep = z.strictObject({ deep: z.object({ a: z.string() }) });
  expect(() => textReader('The query', deep)).toThrow(/deep/);
  expect(() => textReader('The query', z.strictObject({ deep: z.array(z.object({})) }))).toThrow(/deep/);
});

test('a repeated key is one field with several texts, and a prototype’s name is only a name', () => {
  const fields = queryFields(new URL('https://a.example/?a=1&__proto__=x&a=2'));
  expect(fields).toEqual([
    ['a', ['1', '2']],
    ['__proto__', ['x']],
  ]);
  const read = textReader('The query', z.strictObject({ a: z.array(z.int()) }));
  expect(() => read(fields)).toThrow(/__proto__/);
});

test('text is read through unions, names and wrappers', () => {
  const named = z.int().meta({ id: 'SampleCount' });
  const read = textReader(
    'The query',
    z.strictObject({
      a: z.nullable(named).optional(),
      b: z.union([z.boolean(), z.int()]).optional(),
      c: z.union([z.string(), z.int()]).optional(),
      d: z.array(named).max(2).optional(),
      e: z.literal([1, 'one']).optional(),
    }),
  );
  expect(
    read([
      ['a', ['1']],
      ['b', ['true']],
      ['c', ['1']],
      ['d', ['7']],
    ]),
  ).toEqual({ a: 1, b: true, c: '1', d: [7] });
  expect(read([['b', ['12']]])).toEqual({ b: 12 });
  expect(() => read([['d', ['1', '2', '3']]])).toThrow(/The query is not valid/);
  expect(() => read([['a', ['1', '2']]])).toThrow(/a: must be given once/);
  expect(() => read([['zz', ['1']]])).toThrow(/zz/);
});

test('thousands of fields are refused at once, and reading them takes no time that grows with their square', () => {
  const many = new URL(`https://x.test/?${'a&'.repeat(50_000)}`);
  expect(() => queryFields(many)).toThrow(/more than 200 fields/);
  expect(queryFields(new URL('https://x.test/?a=1&b=2&a=3'))).toEqual([
    ['a', ['1', '3']],
    ['b', ['2']],
  ]);
});
