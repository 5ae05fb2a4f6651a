/**
 * Shared locks on a unit's files. While one is held, nothing is moved from the log into the database file, and the
 * file is neither replaced nor closed. Exclusive work waits for the holders; later holders wait behind it.
 */

export interface FileLocks {
  /**
   * Takes a shared lock, after all waiting exclusive work. Returns the release function; a second call does nothing.
   */
  take(): Promise<() => void>;
  readonly free: boolean;
  /** True when no lock is held and no work waits: only then may another object replace this one. */
  readonly unused: boolean;
  /** Runs `work` in the same turn in which the last lock is released. */
  runExclusive<T>(work: () => T): Promise<T>;
}

/** @param onFree called whenever the last lock is released. */
export function makeFileLocks(onFree: () => void): FileLocks {
  let holding = 0;
  let waitingAlone = 0;
  let wake: (() => void)[] = [];

  const changed = (): Promise<void> =>
    new Promise((resolve) => {
      wake.push(resolve);
    });
  const wakeAll = (): void => {
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
      wakeAll();
      onFree();
    };
  };

  const runExclusive = async <T>(work: () => T): Promise<T> => {
    waitingAlone += 1;
    try {
      // Leaves the current call stack: a transaction is synchronous, so none is open after one turn.
      await Promise.resolve();
      while (holding > 0) await changed();
      return work();
    } finally {
      waitingAlone -= 1;
      wakeAll();
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
    runExclusive,
  };
}
