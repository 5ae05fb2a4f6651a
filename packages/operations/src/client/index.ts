/** The parts of every client of declared routes. Start with `retry.ts`. */
export { ConnectionBroken, EVENT_STREAM, readToEnd } from './events.ts';
export { parseJson, problemOf, versionIn } from './problem.ts';
export { type Answer, type RetryOptions, untilAnswered } from './retry.ts';
