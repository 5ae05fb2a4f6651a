import { expect, test } from 'vitest';
import { acceptsCoding } from './request.ts';

test.each([
  ['gzip', true],
  ['br, gzip;q=0.5', true],
  ['GZIP', true],
  ['*', true],
  ['gzip;q=0', false],
  ['gzip; q=0.000', false],
  ['*, gzip;q=0', false],
  ['gzip, *;q=0', true],
  ['*;q=0', false],
  ['br', false],
  ['x-gzip', false],
  ['', false],
  [null, false],
])('"%s" takes gzip: %s', (header, expected) => {
  expect(acceptsCoding(header, 'gzip')).toBe(expected);
});
