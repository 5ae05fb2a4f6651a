/** What every client of declared routes is made of. Start with `retry.ts`. */
export { ConnectionBroken, EVENT_STREAM, readToEnd } from './events.ts';
export { parseJson, problemOf, versionIn } from './problem.ts';
export { type Answer, type RetryOptions, untilAnswered } from './retry.ts';
