/** Which version is the later one, and that nothing comparable to nothing counts as later. */
import { expect, test } from 'vitest';
import { isSameOrLater } from './versions.ts';

test.each([
  ['1.2.3', '1.2.3'],
  ['1.10.0', '1.9.9'],
  ['2', '1.9'],
  ['1.0', '1.0.0'],
  ['1.0.0', '1.0.0-rc.1'],
  ['1.0.0-rc.10', '1.0.0-rc.9'],
  ['1.0.0-rc.1', '1.0.0-rc'],
  ['1.0.0-beta', '1.0.0-alpha'],
  ['v2.0.0', '1.0.0'],
  ['1.0.0+b', '1.0.0+a'],
])('%s is as late as %s, or later', (version, other) => {
  expect(isSameOrLater(version, other)).toBe(true);
});

test.each([
  ['1.9.9', '1.10.0'],
  ['1.0.0-rc.1', '1.0.0'],
  ['1.0.0-rc.9', '1.0.0-rc.10'],
  ['1.0.0-1', '1.0.0-alpha'],
  ['2026.10.1', '2026.11.0'],
])('%s is earlier than %s', (version, other) => {
  expect(isSameOrLater(version, other)).toBe(false);
});

test.each([
  [null, '1.0.0'],
  ['1.0.0', null],
  ['unversioned', '1.0.0'],
  ['1.0.0', 'main'],
  ['unversioned', 'unversioned'],
])('where the order is unknown, %s counts as later than %s', (version, other) => {
  expect(isSameOrLater(version, other)).toBe(true);
});
