/** How the platform comes up and goes down: what is undone when it stops, and whether it can take requests. */
import { within } from '../within.ts';

/** Tasks that undo what a start opened, when the platform stops or when its start fails half-way. */
export interface Cleanup {
  add(task: () => Promise<void>): void;
  /** Undoes everything once, what was opened last first. */
  run(): Promise<void>;
}

export function makeCleanup(): Cleanup {
  const tasks: (() => Promise<void>)[] = [];
  return {
    add: (task) => void tasks.push(task),
    run: async () => {
      for (const task of tasks.splice(0).reverse()) await task();
    },
  };
}

/** Less than the deadline of a monitor. */
const PATIENCE_MS = 2_000;

export interface Readiness {
  /** Whether everything has come up and nothing is being closed yet. */
  readonly isUp: () => boolean;
  /** Never rejects. `ask` is a question that only a working directory answers. */
  readonly isReady: (ask: () => Promise<unknown>) => Promise<boolean>;
  up(): void;
  down(): void;
}

export function makeReadiness(patienceMs = PATIENCE_MS): Readiness {
  let isUp = false;
  return {
    isUp: () => isUp,
    isReady: async (ask) => {
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
