/** Callers of an instance that did not answer are told why. */
import { expect, test } from 'vitest';
import { notAnswered } from './failures.ts';

test.each([
  ['Error: database or disk is full: SQLITE_FULL', 'storage_full', '30'],
  ['Error: internal error; reference = abc', 'instance_failed', '1'],
])('an instance that failed by "%s" is %s', (message, reason, retryAfter) => {
  const said = notAnswered(new Error(message));
  expect(said).toMatchObject({ status: 503, reason, headers: { 'retry-after': retryAfter } });
});
