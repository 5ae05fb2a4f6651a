/** A process for the tests of the pool. */
import { answerRequests } from '../src/processes/answer-requests.ts';

answerRequests({
  pid: () => process.pid,
  environment: () => Object.keys(process.env),
  echo: (input: unknown) => input,
  fail: () => {
    throw new Error('it failed');
  },
  leave: () => process.exit(3),
  hang: () => {
    for (;;);
  },
});
