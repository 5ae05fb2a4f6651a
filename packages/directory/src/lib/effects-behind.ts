/** Work that goes on behind an answer that was given, so that whoever stops the platform can wait for it. */
import type { Sleep } from '../long-work/follow.ts';

export interface WorkBehind {
  /** @param work does not reject. */
  add(work: Promise<void>): void;
  /** Resolves when none is left, and at the latest after 30 seconds: the intent then says what was being done. */
  idle(): Promise<void>;
}

const PATIENCE_MS = 30_000;

export function makeWorkBehind(sleep: Sleep): WorkBehind {
  const running = new Set<Promise<void>>();
  return {
    add: (work) => {
      running.add(work);
      void work.finally(() => running.delete(work));
    },
    idle: async () => {
      if (running.size === 0) return;
      const timer = new AbortController();
      await Promise.race([Promise.all(running), sleep(PATIENCE_MS, timer.signal)]);
      timer.abort();
    },
  };
}
