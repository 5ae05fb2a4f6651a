/** The platform's client for a vertical that runs elsewhere. Start with `vertical-client.ts`. */

export type { SetTimer } from '../lib/watchdog.ts';
export type { NoAnswer } from './judge-answer.ts';
export * from './vertical-client.ts';
