/** A process that takes longer to start than its first request may take. */
import { answerRequests } from '../src/processes/answer-requests.ts';

Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
answerRequests({ echo: (input: unknown) => input });
