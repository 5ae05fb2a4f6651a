/** Lets tasks on one thing run one after the other, in the order in which they came; those on different things side by side. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs a task once all that came before on the same thing have ended. */
  take<T>(thing: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(thing) ?? Promise.resolve();
    const running = before.then(task, task);
    this.#last.set(thing, running);
    const forget = (): void => {
      if (this.#last.get(thing) === running) this.#last.delete(thing);
    };
    running.then(forget, forget);
    return running;
  }
}
