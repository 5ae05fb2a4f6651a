/** How the platform reaches a vertical that runs elsewhere. Start with `vertical-client.ts`. */
export type { NoAnswer } from './judge-answer.ts';
export * from './vertical-client.ts';
export type { SetTimer } from './watchdog.ts';
