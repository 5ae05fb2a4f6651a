/** The requests of a process that are running: from the first byte that is sent to the last byte of the answer. */

interface Running {
  /** Empty for an order of the platform. */
  readonly scope: string;
  /** When it began, by the process's own clock. */
  readonly sinceMs: number;
}

export class InFlight {
  /** In the order of their beginnings. */
  readonly #running = new Set<Running>();
  /** Scopes whose requests broke off: a connection ends before the process is known to have. */
  readonly #brokenOff = new Set<string>();
  #onEmpty: (() => void) | null = null;

  get isEmpty(): boolean {
    return this.#running.size === 0;
  }

  get size(): number {
    return this.#running.size;
  }

  /** The time that the oldest one runs, in milliseconds; 0 for none. */
  get oldestMs(): number {
    for (const { sinceMs } of this.#running) return performance.now() - sinceMs;
    return 0;
  }

  /** Whether an order of the platform runs. */
  get hasOrder(): boolean {
    return [...this.#running].some(({ scope }) => scope === '');
  }

  /** Counts a request. Returns the function that ends it, which does something once. */
  begin(scope: string): (how: 'over' | 'broken') => void {
    const running = { scope, sinceMs: performance.now() };
    this.#running.add(running);
    return (how) => {
      if (!this.#running.delete(running)) return;
      if (how === 'broken') this.#brokenOff.add(scope);
      if (this.isEmpty) this.#onEmpty?.();
    };
  }

  /** The process lives: what broke off did so for another reason. */
  lives(): void {
    this.#brokenOff.clear();
  }

  /** The scopes whose requests were running when the process ended. */
  takeScopes(): readonly string[] {
    const scopes = new Set([...[...this.#running].map(({ scope }) => scope), ...this.#brokenOff]);
    this.#brokenOff.clear();
    scopes.delete('');
    return [...scopes];
  }

  /** Resolves when nothing runs, or after the time. Returns whether nothing runs. */
  async drained(waitMs: number): Promise<boolean> {
    if (this.isEmpty) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    const timer = setTimeout(resolve, waitMs);
    await promise;
    clearTimeout(timer);
    this.#onEmpty = null;
    return this.isEmpty;
  }
}
