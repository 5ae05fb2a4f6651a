/** Which reactions are failing now, so that each is an incident once and not with every attempt. */

/** Beyond, the one that began to fail first is forgotten, and is reported again. */
const NAMES_MAX = 10_000;

/** Kept in memory: a new process reports once again. */
export class FailingReactions {
  readonly #names = new Set<string>();

  /** Notes a failure. Returns whether it is the first one since the reaction was last done. */
  isFirst(name: string): boolean {
    if (this.#names.has(name)) return false;
    this.#names.add(name);
    const [oldest] = this.#names;
    if (this.#names.size > NAMES_MAX && oldest !== undefined) this.#names.delete(oldest);
    return true;
  }

  /** Notes a success: the next failure is a first one again. */
  done(name: string): void {
    this.#names.delete(name);
  }
}
