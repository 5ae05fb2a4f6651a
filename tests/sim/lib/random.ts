/**
 * The only source of chance in a simulation: xoshiro128** (Blackman and Vigna, 2018), seeded through splitmix32. Equal
 * seeds give equal numbers forever, because a failure is reported by its seed.
 */

export interface Random {
  /** Returns 32 random bits. */
  u32(): number;
  /** Returns a whole number from 0 to `count - 1`. */
  below(count: number): number;
  /** Returns a whole number from `min` to `max`, both included. */
  between(min: number, max: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** Returns one of a list, which is not empty. */
  pick<T>(list: readonly T[]): T;
  /** Returns one of the values; twice the weight comes twice as often, and weight 0 never. */
  weighted<T>(choices: readonly { readonly weight: number; readonly value: T }[]): T;
  bytes(count: number): Uint8Array;
  /**
   * Returns a separate generator for one purpose, independent of the draws so far: one more draw in a part of a
   * simulation must not change every other part.
   */
  fork(purpose: string): Random;
}

export function makeRandom(seed: string): Random {
  const mix = splitmix32(hash(seed));
  const state = new Uint32Array([mix(), mix(), mix(), mix()]);

  const u32 = (): number => {
    const [a = 0, b = 0, c = 0, d = 0] = state;
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    const third = c ^ a;
    const fourth = d ^ b;
    state[0] = a ^ fourth;
    state[1] = b ^ third;
    state[2] = third ^ shifted;
    state[3] = rotateLeft(fourth, 11);
    return result;
  };
  const unit = (): number => u32() / 2 ** 32;
  const below = (count: number): number => Math.floor(unit() * count);

  return {
    u32,
    below,
    between: (min, max) => min + below(max - min + 1),
    chance: (probability) => unit() < probability,
    pick: <T>(list: readonly T[]) => list[below(list.length)] as T,
    weighted: (choices) => {
      const total = choices.reduce((sum, { weight }) => sum + weight, 0);
      let at = unit() * total;
      for (const { weight, value } of choices) {
        at -= weight;
        if (at < 0) return value;
      }
      throw new TypeError('there is nothing to choose from');
    },
    bytes: (count) => Uint8Array.from({ length: count }, () => u32() & 255),
    fork: (purpose) => makeRandom(`${seed}/${purpose}`),
  };
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

function splitmix32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let value = state ^ (state >>> 16);
    value = Math.imul(value, 0x21f0aaad);
    value ^= value >>> 15;
    value = Math.imul(value, 0x735a2d97);
    return (value ^ (value >>> 15)) >>> 0;
  };
}

function rotateLeft(value: number, by: number): number {
  return ((value << by) | (value >>> (32 - by))) >>> 0;
}
