/** The texts of a refused input: they follow the name of the field. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { PlatformError, parseInput } from './problems.ts';

function refusal(schema: z.ZodType, value: unknown): string[] {
  try {
    parseInput('The body', schema, value);
  } catch (error) {
    if (error instanceof PlatformError) return (error.errors ?? []).map(({ message }) => message);
  }
  throw new Error('it was accepted');
}

test.each([
  [z.string(), 7, 'must be a text'],
  [z.number(), 'x', 'must be a number'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.boolean(), 'x', 'must be true or false'],
  [z.array(z.string()), {}, 'must be a list'],
  [z.strictObject({}), [], 'must be an object'],
  [z.record(z.string(), z.string()), 7, 'must be an object'],
  [z.null(), 7, 'must be null'],
  [z.enum(['x', 'y']), 'z', 'must be one of x, y'],
  [z.literal(true), false, 'must be true'],
  [z.string().min(1), '', 'must have at least 1 character'],
  [z.string().max(3), 'xxxx', 'must have at most 3 characters'],
  [z.array(z.int()).max(1), [1, 2], 'must have at most 1 item'],
  [z.int().min(1), 0, 'must be at least 1'],
  [z.number().lt(1), 1, 'must be less than 1'],
  [z.email(), 'x', 'must be an e-mail address'],
  [z.url(), 'x', 'must be a URL'],
  [z.iso.datetime(), 'x', 'must be a time such as 2026-11-21T08:00:00.000Z'],
  [z.strictObject({}), { name: 1 }, 'has no field name'],
  [z.strictObject({}), { a: 1, b: 2 }, 'has no fields a, b'],
  [z.string().regex(/^k/, 'must begin with k'), 'x', 'must begin with k'],
])('%# says: %s', (schema, value, words) => {
  expect(refusal(schema, value)).toEqual([words]);
});

test('a field that is left out is missing, whatever it should have been', () => {
  const kinds = {
    a: z.string(),
    b: z.enum(['x']),
    c: z.literal(1),
    d: z.union([z.string(), z.int()]),
    e: z.email(),
  };
  expect(refusal(z.strictObject(kinds), {})).toEqual(Object.keys(kinds).map(() => 'is missing'));
});

test('the sentence names the field, and nothing that was sent', () => {
  const schema = z.strictObject({ lines: z.array(z.strictObject({ quantity: z.int() })) });
  expect(() => parseInput('The body', schema, { lines: [{ quantity: 'hunter2' }] })).toThrow(
    /^The body is not valid\. lines\.0\.quantity: must be a number\.$/,
  );
});
