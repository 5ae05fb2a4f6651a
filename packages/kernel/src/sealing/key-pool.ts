/**
 * The free keys of a scope's unit, in memory only, and what becomes of each.
 *
 * A key is in one of these states, and goes only forwards:
 *   free → taken → used     its row was committed
 *                → burnt    the row of its use was rolled back; it is forgotten
 *   free → handed back      the unit closes, and the vault ends it
 *
 * Invariants:
 * 1. A key is taken once, for one subject. A key that was taken is never free again, whatever becomes of the transaction.
 * 2. A key is taken only while its row is written in the same transaction (`use`): what is committed names its key.
 * 3. Before a taken key seals or opens, its row must stand. A row that is gone was rolled back, and its key is burnt.
 * 4. A pool lives as long as one opening of the unit. Keys that were allotted for another opening are not accepted.
 * 5. While the pool is frozen no key is taken: another state of the scope is about to take this one's place.
 */
import type { Allotment, PoolNeed } from './key-needs.ts';

/** The first allotment, and the largest. */
export const ALLOTMENT_MIN = 8;
export const ALLOTMENT_MAX = 256;

export interface PoolState {
  /** Names this opening of the unit. */
  readonly opening: string;
  /** How many keys the next allotment fills the pool to. */
  target: number;
  isFrozen: boolean;
  /** Free keys, in the order in which they came. */
  readonly free: Map<string, Uint8Array>;
  /** Keys whose transaction has not ended, by subject. */
  readonly taken: Map<string, TakenKey>;
  /** Whether a key was ever allotted: a pool that nothing has asked for is not filled. */
  isUsed: boolean;
}

export interface TakenKey {
  readonly keyId: string;
  readonly key: Uint8Array;
}

export function emptyPool(opening: string): PoolState {
  return {
    opening,
    target: ALLOTMENT_MIN,
    isFrozen: false,
    free: new Map(),
    taken: new Map(),
    isUsed: false,
  };
}

/** Adds fresh keys. Those of another opening are left alone: nothing is known of what that one did with them. */
export function accept(pool: PoolState, { opening, keys }: Allotment): void {
  if (opening !== pool.opening || pool.isFrozen || keys.length === 0) return;
  for (const { keyId, key } of keys) {
    // Beyond this opening, the vault's primary key holds invariant 1, and its refusal to bind a key to a second subject.
    assert(!pool.free.has(keyId) && !isTaken(pool, keyId), 'a key was allotted twice');
    pool.free.set(keyId, Buffer.from(key, 'base64url'));
  }
  if (pool.isUsed) pool.target = Math.min(ALLOTMENT_MAX, pool.target * 2);
  pool.isUsed = true;
}

/** How many keys must come before a handler may run that makes so many persons; null: enough are here. */
export function needFor(pool: PoolState, persons: number): PoolNeed | null {
  // A host that is asked for nothing waits: another state of the scope is about to take this one's place.
  if (pool.isFrozen) return { opening: pool.opening, count: 0 };
  if (pool.free.size >= persons) return null;
  return { opening: pool.opening, count: Math.max(persons, pool.target) - pool.free.size };
}

/** What the pool should be filled up with in the background: nothing before half of it is used. */
export function refillOf(pool: PoolState): PoolNeed | null {
  if (pool.isFrozen || !pool.isUsed || pool.free.size > pool.target / 2) return null;
  return { opening: pool.opening, count: Math.min(ALLOTMENT_MAX, pool.target * 2) - pool.free.size };
}

/** Takes a free key for a subject; null when there is none. The caller writes its row in the same transaction. */
export function take(pool: PoolState, subject: string): TakenKey | null {
  if (pool.isFrozen) return null;
  const [first] = pool.free;
  if (!first) return null;
  const [keyId, key] = first;
  pool.free.delete(keyId);
  pool.taken.set(subject, { keyId, key });
  return { keyId, key };
}

/** A taken key whose transaction ended: with a committed row it is the subject's, without one it is burnt. */
export function leave(pool: PoolState, subject: string): void {
  pool.taken.delete(subject);
}

/**
 * Empties the pool, and answers the keys that no transaction has ever taken. A burnt key is not among them: of a commit
 * that failed on a bad disk nobody can say that it does not come back.
 */
export function giveUp(pool: PoolState): string[] {
  const unused = [...pool.free.keys()];
  pool.free.clear();
  return unused;
}

function isTaken(pool: PoolState, keyId: string): boolean {
  return [...pool.taken.values()].some((each) => each.keyId === keyId);
}

function assert(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}
