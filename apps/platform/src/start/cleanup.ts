/** What has to be undone when the platform stops, or when its start fails half-way: in the opposite order. */

export interface Cleanup {
  add(task: () => Promise<void>): void;
  /** Undoes everything once; whatever was opened last goes first. */
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
