/** A start warns where deployed verticals may need more open files than there are. */
import { expect, test } from 'vitest';
import { fewFiles } from './deployed.ts';

test('a vertical with more instances than may be used at once is named with the limit that is enough', () => {
  expect(fewFiles(256, [3, 80, 5])).toEqual([
    expect.stringMatching(/256 files open.*enough for 17 instances.*one has 80.*Raise the limit to 1008 /),
  ]);
  expect([fewFiles(1_008, [80]), fewFiles(Number.POSITIVE_INFINITY, [1_000_000]), fewFiles(256, [])]).toEqual(
    [[], [], []],
  );
});
