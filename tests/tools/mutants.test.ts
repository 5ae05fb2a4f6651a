/** A mutant is killed only by a test that ran and failed by itself. */
import { expect, test } from 'vitest';
import { judge, type Report } from '../../tools/killer.ts';

const reportOf = (
  ...tests: readonly [fullName: string, status: string, ...messages: string[]][]
): Report => ({
  testResults: [
    {
      assertionResults: tests.map(([fullName, status, ...failureMessages]) => ({
        fullName,
        status,
        failureMessages,
      })),
    },
  ],
});
const ASSERTION = 'AssertionError: expected 200 to be 403\n    at file.test.ts:1';

test('a test that fails by an assertion or a thrown error kills', () => {
  expect(judge(reportOf(['a door is closed', 'failed', ASSERTION]), 'is closed')).toEqual({
    state: 'killed',
    reason: 'AssertionError: expected 200 to be 403',
  });
  const thrown = reportOf(['a', 'failed', 'TypeError: x'], ['a', 'passed']);
  expect(judge(thrown, 'a').state).toBe('killed');
});

test('a mutant survives when every test with the title passes', () => {
  const others = reportOf(['a door is closed', 'passed'], ['another', 'failed', ASSERTION]);
  expect(judge(others, 'is closed').state).toBe('survived');
});

test.each<[why: string, report: Report | null]>([
  ['there is no report', null],
  ['no test has the title', reportOf(['another', 'failed', ASSERTION])],
  ['the test was skipped', reportOf(['a door is closed', 'skipped'])],
  ['the test file did not load', { testResults: [{ message: 'Parse failure', assertionResults: [] }] }],
  [
    'the mutant names what does not exist',
    reportOf(['is closed', 'failed', 'ReferenceError: x is not defined']),
  ],
  ['a test ran out of time', reportOf(['is closed', 'failed', 'Error: Test timed out in 5000ms.'])],
  ['a failure has no message', reportOf(['is closed', 'failed'])],
])('no verdict is given when %s', (_why, report) => {
  expect(judge(report, 'is closed').state).toBe('broken');
});
