/** Whether requests can be taken: everything is up, nothing is being closed, and the directory answers. */
import { within } from '../within.ts';

/** Whoever asks is a monitor with a deadline of its own. */
const PATIENCE_MS = 2_000;

export interface Readiness {
  /** Whether everything has come up and nothing is being closed yet. */
  readonly isUp: () => boolean;
  /** Never rejects. */
  readonly isReady: () => Promise<boolean>;
  up(): void;
  down(): void;
}

/** @param ask a question that only a working directory answers. */
export function makeReadiness(ask: () => Promise<unknown>, patienceMs = PATIENCE_MS): Readiness {
  let isUp = false;
  return {
    isUp: () => isUp,
    isReady: async () => {
      if (!isUp) return false;
      const answered = ask().then(
        () => true,
        () => false,
      );
      return (await within(patienceMs, answered)) === true && isUp;
    },
    up: () => {
      isUp = true;
    },
    down: () => {
      isUp = false;
    },
  };
}
