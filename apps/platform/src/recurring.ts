/** Work that comes back: once soon after the start, then at an interval, and never twice at once. */

export interface RecurringOptions {
  /** How long after the start, in milliseconds. */
  readonly firstMs: number;
  readonly intervalMs: number;
  readonly work: (signal: AbortSignal) => Promise<void>;
  /** Told of what the work rejects with; it comes back all the same. */
  readonly onError: (error: unknown) => void;
}

/** Starts it. The answer stops it, and resolves when nothing of it is under way. */
export function startRecurring({
  firstMs,
  intervalMs,
  work,
  onError,
}: RecurringOptions): () => Promise<void> {
  const stopping = new AbortController();
  let timer: NodeJS.Timeout;
  let running: Promise<void> = Promise.resolve();
  const schedule = (ms: number): void => {
    // It keeps no process alive.
    timer = setTimeout(() => {
      running = work(stopping.signal)
        .catch(onError)
        .finally(() => {
          if (!stopping.signal.aborted) schedule(intervalMs);
        });
    }, ms).unref();
  };
  schedule(firstMs);
  return async () => {
    stopping.abort();
    clearTimeout(timer);
    await running;
  };
}
