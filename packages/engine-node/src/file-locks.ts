/**
 * Who reads a unit's files beside its connection. While somebody holds them, nothing is moved from the log into the
 * database file, and the file is neither replaced nor closed; what must do so waits, and those who come later wait
 * behind it.
 */

export interface FileLocks {
  /** Takes hold, after everybody who waits to be alone. Answers the function that lets go; a second call is nothing. */
  take(): Promise<() => void>;
  /** Whether nobody holds. */
  readonly free: boolean;
  /** Whether nobody holds and nobody waits: only then may another object take this one's place. */
  readonly unused: boolean;
  /** Runs `work` in the same turn in which nobody holds any more. */
  alone<T>(work: () => T): Promise<T>;
}

/** @param onFree told whenever the last one has let go. */
export function makeFileLocks(onFree: () => void): FileLocks {
  let holding = 0;
  let waitingAlone = 0;
  let wake: (() => void)[] = [];

  const changed = (): Promise<void> =>
    new Promise((resolve) => {
      wake.push(resolve);
    });
  const tell = (): void => {
    const waiting = wake;
    wake = [];
    for (const resolve of waiting) resolve();
  };

  const take = async (): Promise<() => void> => {
    while (waitingAlone > 0) await changed();
    holding += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      holding -= 1;
      if (holding > 0) return;
      tell();
      onFree();
    };
  };

  const alone = async <T>(work: () => T): Promise<T> => {
    waitingAlone += 1;
    try {
      // Out of whatever call is on the stack: a transaction is synchronous, so none is open after one turn.
      await Promise.resolve();
      while (holding > 0) await changed();
      return work();
    } finally {
      waitingAlone -= 1;
      tell();
    }
  };

  return {
    take,
    get free() {
      return holding === 0;
    },
    get unused() {
      return holding === 0 && waitingAlone === 0 && wake.length === 0;
    },
    alone,
  };
}
