/**
 * The ids that a call has made, kept from one of its tries to the next. A handler that makes up a person and seals
 * something for them lacks a key that nobody has yet: were the person another one at every try, the key would never be
 * there, and the vault would hold one for each try.
 */
import { isKeysNeeded } from './subject-keys.ts';

/** Makes an id with a prefix. */
export type Mint = (prefix: string) => string;

/** How many calls that wait for keys are remembered. One that is forgotten makes its ids anew. */
const CALLS_MAX = 1_000;

export function makeMinted(newId: Mint) {
  /** By call, and then by the step in it: a round of work is one call and runs many handlers. */
  const calls = new Map<string, Map<string, readonly string[]>>();

  /** The n-th id of a prefix is the one that the try before made as its n-th, and a fresh one beyond those. */
  const again = (before: readonly string[], made: string[]): Mint => {
    const left = [...before];
    return (prefix) => {
      const at = left.findIndex((id) => id.startsWith(`${prefix}_`));
      const [id = newId(prefix)] = at < 0 ? [] : left.splice(at, 1);
      made.push(id);
      return id;
    };
  };

  return {
    /**
     * Runs one try of a call. Its ids are kept when it ends for want of keys, and forgotten however else it ends.
     * @param call what the caller names all tries of one call by; undefined: there will be no other.
     * @param work is given what makes the ids of a step. A step is asked for once.
     */
    during: <T>(call: string | undefined, work: (mintOf: (step: string) => Mint) => T): T => {
      if (call === undefined) return work(() => newId);
      const before = calls.get(call);
      const steps = new Map<string, string[]>();
      calls.delete(call);
      try {
        return work((step) => {
          const made: string[] = [];
          steps.set(step, made);
          return again(before?.get(step) ?? [], made);
        });
      } catch (error) {
        if (isKeysNeeded(error)) {
          if (calls.size >= CALLS_MAX) calls.delete(calls.keys().next().value as string);
          // What the try before made and this one did not come to may be asked for by the next.
          calls.set(call, merged(before, steps));
        }
        throw error;
      }
    },
  };
}

function merged(
  before: ReadonlyMap<string, readonly string[]> | undefined,
  steps: ReadonlyMap<string, readonly string[]>,
): Map<string, readonly string[]> {
  const all = new Map<string, readonly string[]>(before);
  for (const [step, made] of steps) all.set(step, [...new Set([...made, ...(before?.get(step) ?? [])])]);
  return all;
}
