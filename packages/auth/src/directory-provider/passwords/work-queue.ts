/** Expensive work, a few pieces at a time: whoever comes while too many wait is sent away at once. */
import { PlatformError } from '@freehold/contracts';

export interface WorkQueueOptions {
  /** How many pieces run at the same time. */
  readonly atOnceMax: number;
  /** How many wait behind them. */
  readonly waitingMax: number;
}

/** How long somebody who was sent away should stay away, in seconds. */
const RETRY_AFTER_S = 5;

/**
 * Makes a queue. Its `run` answers what the work answers.
 * @throws PlatformError `unavailable`, reason `busy`, with `Retry-After`, when too many wait.
 */
export function makeWorkQueue({ atOnceMax, waitingMax }: WorkQueueOptions) {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async function run<T>(work: () => Promise<T>): Promise<T> {
    if (running < atOnceMax) running += 1;
    else await turn();
    try {
      return await work();
    } finally {
      // The place goes straight to the next one, so that nobody who comes in between can take it.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };

  function turn(): Promise<void> {
    if (waiting.length >= waitingMax)
      throw new PlatformError('unavailable', 'Too many people are signing in right now. Try again shortly.', {
        reason: 'busy',
        headers: { 'retry-after': String(RETRY_AFTER_S) },
      });
    return new Promise((resolve) => void waiting.push(resolve));
  }
}
