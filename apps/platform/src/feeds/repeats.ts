/** What was said already: the platform repeats its work every few minutes, and its logs must not. */

export interface Repeats {
  /** Whether this was not said of this unit within that time. What is news is remembered as said. */
  isNews(unit: string, word: string, forMs: number): boolean;
}

/**
 * Units remembered: more than any sweep goes over, at some hundred bytes each. Beyond, the one that was spoken of longest
 * ago is forgotten, and is news again.
 */
const UNITS_MAX = 100_000;

/** @param now milliseconds since the epoch. Kept in memory: a new process says everything once again. */
export function makeRepeats(now: () => number): Repeats {
  const said = new Map<string, { readonly word: string; readonly atMs: number }>();
  return {
    isNews: (unit, word, forMs) => {
      const last = said.get(unit);
      if (last?.word === word && now() - last.atMs < forMs && now() >= last.atMs) return false;
      said.delete(unit);
      said.set(unit, { word, atMs: now() });
      const [oldest] = said.keys();
      if (said.size > UNITS_MAX && oldest !== undefined) said.delete(oldest);
      return true;
    },
  };
}
