import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sampleOperations } from '../../test/support/sample-operations.ts';
import { problemCodes, routesOf, successStatuses } from './operations.ts';

describe('a table that cannot be served is refused, with the names at fault', () => {
  const list = sampleOperations['things.list'];
  const get = sampleOperations['things.get'];
  const said = z.object({ format: z.string() });
  const BYTES = {
    mediaType: { field: 'format', types: { a: 'text/plain' } },
    headers: { 'x-format': 'format' },
  };
  test.each([
    [
      'two that dispatch alike',
      { a: 'things.list', b: 'x.list' },
      { 'x.list': { ...list, name: 'x.list' } },
      /things.list and x.list/,
    ],
    ['another key than the name', {}, { 'y.list': list }, /things.list is in the table under y.list/],
    ['a name of another form', {}, { List: { ...list, name: 'List' } }, /family.verb/],
    ['parameters that differ', {}, { 'z.get': { ...get, name: 'z.get', path: '/z/:id' } }, /z.get/],
    [
      'one path with two namings',
      {},
      {
        'q.put': {
          ...get,
          name: 'q.put',
          method: 'PUT',
          path: '/things/:id',
          input: { params: z.object({ id: z.string() }) },
        },
      },
      /q.put and things.get/,
    ],
    [
      'a GET with a body',
      {},
      { 'b.get': { ...list, name: 'b.get', path: '/b', input: { body: z.object({}) } } },
      /b.get/,
    ],
    [
      'bytes from a POST',
      {},
      { 'c.do': { ...list, name: 'c.do', path: '/c', method: 'POST', output: said, bytes: BYTES } },
      /c.do: only a GET/,
    ],
    [
      'bytes that nothing describes',
      {},
      { 'd.get': { ...list, name: 'd.get', path: '/d', bytes: BYTES } },
      /d.get: its output has no field format/,
    ],
  ] as const)('%s', (_, _names, added, message) => {
    expect(() => routesOf({ ...sampleOperations, ...added })).toThrow(message);
  });
});

test('the statuses of an operation follow from its declaration', () => {
  const { 'things.get': get, 'things.create': create, 'things.delete': remove } = sampleOperations;
  expect(successStatuses(get)).toEqual([200, 304]);
  expect(successStatuses(create)).toEqual([200, 201]);
  expect(successStatuses(remove)).toEqual([204]);
  expect(problemCodes(get)).toEqual([
    'validation_failed',
    'unauthenticated',
    'forbidden',
    'not_found',
    'rate_limited',
    'internal',
    'unavailable',
  ]);
  expect(problemCodes(create)).toContain('precondition_failed');
  expect(problemCodes(remove)).toEqual([
    'validation_failed',
    'unauthenticated',
    'forbidden',
    'not_found',
    'conflict',
    'payload_too_large',
    'unsupported_media_type',
    'rate_limited',
    'internal',
    'unavailable',
  ]);
});
