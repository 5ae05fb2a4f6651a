/**
 * The keys of persons inside a scope, in memory only. The host hands in a known person's key before a handler runs; a
 * person whom the operation makes takes a free key from the pool, in the operation's own transaction.
 *
 * A key of the pool is in one of these states, and goes only forwards:
 *   free → taken → used     its row was committed
 *                → burnt    its row was rolled back; the key is forgotten
 *   free → handed back      the unit closes, and the vault ends the key
 *
 * Invariants:
 * 1. A key is taken once, for one subject. A taken key is never free again, whatever becomes of the transaction.
 * 2. A key is taken only while its row is written in the same transaction (`use`): what is committed names its key.
 * 3. Before a taken key seals or opens, its row must stand. A row that is gone was rolled back, and its key is burnt.
 * 4. A pool lives as long as one opening of the unit. Keys that were allotted to another opening are not accepted.
 * 5. While the pool is frozen no key is taken: another state of the scope is about to replace this one.
 */
import { PlatformError, type ShredReceipt } from '@freehold/contracts';
import { open, type SqlDatabase, seal, type UnitContext } from '@freehold/store';
import { type Allotment, type KeyNeeds, type KeySupply, keysNeeded, type PoolNeed } from './key-needs.ts';
import type { Binding, HeldKeys, SubjectKey } from './vault.ts';

/** The first allotment, and the largest. */
export const ALLOTMENT_MIN = 8;
export const ALLOTMENT_MAX = 256;
/** The number of persons whose keys a scope holds in memory. */
const KEYS_MAX = 10_000;
const SUBJECT_LENGTH_MAX = 128;
const OPENING_BYTES = 12;

/** Stands for an erased payload. */
export interface Shredded {
  readonly $shredded: { readonly at: string };
}
/** Stands for a payload that is sealed and not opened. */
export interface Sealed {
  readonly $sealed: string;
}

export interface PoolState {
  /** Names this opening of the unit. */
  readonly opening: string;
  /** The number of keys to which the next allotment fills the pool. */
  target: number;
  isFrozen: boolean;
  /** Free keys, in the order of their arrival. */
  readonly free: Map<string, Uint8Array>;
  /** Keys whose transaction has not ended, by subject. */
  readonly taken: Map<string, TakenKey>;
  /** Whether a key was ever allotted: an unused pool is not filled. */
  isUsed: boolean;
}

interface TakenKey {
  readonly keyId: string;
  readonly key: Uint8Array;
}

/** A person's keys: the first seals, all open. */
type Keys = readonly [Uint8Array, ...Uint8Array[]];

export type SubjectKeys = ReturnType<typeof makeSubjectKeys>;

/**
 * @param foreignSeals judges a text that the key of its person does not open. `fault`: a bug or a damage. `sealed`: a text
 * from before the scope was copied without its keys, which stays sealed.
 */
export function makeSubjectKeys(
  unit: Pick<UnitContext, 'key' | 'random' | 'db' | 'afterCommit' | 'onRollback'>,
  foreignSeals: 'fault' | 'sealed' = 'fault',
) {
  const store = makeSubjectKeyStore(unit.db);
  const pool = emptyPool(Buffer.from(unit.random(OPENING_BYTES)).toString('base64url'));
  const known = new Map<string, Keys | ShredReceipt>();
  /** Whether rows wait for the vault; null: unknown since a roll-back. */
  let unbound: boolean | null = null;
  unit.onRollback(() => {
    unbound = null;
  });
  const hasUnbound = (): boolean => {
    unbound ??= store.unbound(1).length > 0;
    return unbound;
  };

  const placeOf = (subject: string, place: string): string => `${unit.key}/${subject}/${place}`;

  const remember = (subject: string, value: Keys | ShredReceipt): void => {
    if (known.size >= KEYS_MAX) known.delete(known.keys().next().value as string);
    known.set(subject, value);
  };

  const find = (subject: string): Keys | ShredReceipt | undefined => {
    const found = known.get(subject);
    if (found) return found;
    const taken = pool.taken.get(subject);
    if (!taken) return undefined;
    // A row that is gone was rolled back with its savepoint, and the key with it (invariant 3).
    if (store.isUsed({ subject, keyId: taken.keyId })) return [taken.key];
    leave(pool, subject);
    return undefined;
  };

  const heldBy = (subject: string): HeldKeys => ({ subject, keyIds: store.idsOf(subject) });

  const lookUp = (subject: string): Keys | ShredReceipt => {
    const found = find(subject);
    if (!found) throw keysNeeded({ subjects: [heldBy(subject)], pool: null });
    return found;
  };

  /** After a commit each taken key is its subject's, or burnt. */
  const settleTaken = (): void => {
    for (const [subject, { keyId, key }] of [...pool.taken]) {
      if (store.isUsed({ subject, keyId })) remember(subject, [key]);
      leave(pool, subject);
    }
  };

  /** A key that was still on its way when its person was erased opens nothing any more. */
  const admit = (subject: string, given: SubjectKey): Keys | ShredReceipt => {
    if ('shredded' in given) return given.shredded;
    const found = known.get(subject);
    return found && isReceipt(found) ? found : (store.receiptOf(subject) ?? bytesOf(given));
  };

  return {
    /** Seals text for a person. @throws PlatformError `conflict`, reason `subject_shredded`. */
    seal: (subject: string, place: string, text: string): string => {
      const found = lookUp(subject);
      if (isReceipt(found))
        throw new PlatformError(
          'conflict',
          'This person was erased; nothing more is kept about them under this id.',
          { reason: 'subject_shredded' },
        );
      return seal(found[0], placeOf(subject, place), text, unit.random(12));
    },
    /** Opens a text of {@link seal}; for an erased person, and a foreign seal, returns what stands for it. */
    open: (subject: string, place: string, sealed: string): { readonly text: string } | Shredded | Sealed => {
      const found = lookUp(subject);
      if (isReceipt(found)) return { $shredded: { at: found.shreddedAt } };
      for (const key of found) {
        const text = open(key, placeOf(subject, place), sealed);
        if (text !== null) return { text };
      }
      if (foreignSeals === 'sealed') return { $sealed: sealed };
      throw new Error('what is sealed for a subject does not open with the key of the subject');
    },
    has: (subject: string): boolean => find(subject) !== undefined,
    /** Whether memory says that a person was erased. */
    isShredded: (subject: string): boolean => {
      const found = known.get(subject);
      return found !== undefined && isReceipt(found);
    },
    /** Returns those of the persons whose keys are not in memory. */
    missing: (subjects: Iterable<string>): HeldKeys[] =>
      [...new Set(subjects)].filter((subject) => !find(subject)).map(heldBy),
    heldBy,

    /** Gives a person of this transaction a key of the pool; false when the pool is empty. */
    takeFor: (subject: string): boolean => {
      const taken = take(pool, subject);
      if (!taken) return false;
      store.use({ subject, keyId: taken.keyId });
      unbound = true;
      unit.afterCommit(settleTaken);
      return true;
    },
    /** Returns the need of a handler that makes so many persons; null when enough keys are here. */
    poolNeed: (persons: number): PoolNeed | null => needFor(pool, persons),
    /** Takes in keys from the host. */
    supply: ({ keys = {}, allotment }: KeySupply): void => {
      for (const [subject, given] of Object.entries(keys)) remember(subject, admit(subject, given));
      if (allotment) accept(pool, allotment);
    },

    /** Returns the background work at the vault: at most `limit` bindings, and the refill of the pool. */
    work: (limit: number): { readonly unbound: Binding[]; readonly pool: PoolNeed | null } => {
      const waiting = hasUnbound() ? store.unbound(limit) : [];
      unbound = waiting.length > 0;
      return { unbound: waiting, pool: refillOf(pool) };
    },
    /** Returns the kind of work that waits at the vault. */
    waits: (): 'fill' | 'bind' | null => {
      if (refillOf(pool)) return 'fill';
      return hasUnbound() ? 'bind' : null;
    },
    /** Marks keys of which the vault was told. Returns whether others wait. */
    bound: (bindings: readonly Binding[]): boolean => {
      store.markBound(bindings);
      unbound = null;
      return hasUnbound();
    },
    hasUnbound,
    freeze: (isFrozen: boolean): void => {
      pool.isFrozen = isFrozen;
    },
    giveUp: (): string[] => giveUp(pool),
  };
}

/** Returns the needs of a call; null when it lacks nothing. */
export function needsFor(
  keys: Pick<SubjectKeys, 'missing' | 'poolNeed'>,
  subjects: Iterable<string>,
  persons: number,
): KeyNeeds | null {
  const missing = keys.missing(subjects);
  const pool = persons === 0 ? null : keys.poolNeed(persons);
  return missing.length === 0 && pool === null ? null : { subjects: missing, pool };
}

/** Returns the place of a sealed value in a vertical's own table; events and answers have other places. */
export function valuePlace(place: string): string {
  return `value/${place}`;
}

/** No segment of a path can be one of these (URL standard, "dot segments"), so that the person could not be erased. */
const UNADDRESSABLE = ['', '.', '..'];

/** Returns the name of a person that data is sealed for. @throws TypeError: a wrong one is a bug of the vertical. */
export function requireSubjectName(where: string, subject: unknown): string {
  if (
    typeof subject === 'string' &&
    !UNADDRESSABLE.includes(subject) &&
    subject.length <= SUBJECT_LENGTH_MAX &&
    subject.isWellFormed()
  )
    return subject;
  throw new TypeError(
    `${where}: a subject is 1 to ${SUBJECT_LENGTH_MAX} characters of text, and neither . nor ..`,
  );
}

function isReceipt(found: Keys | ShredReceipt): found is ShredReceipt {
  return !Array.isArray(found);
}

function bytesOf({ key, more = [] }: { readonly key: string; readonly more?: readonly string[] }): Keys {
  return [Buffer.from(key, 'base64url'), ...more.map((each) => Buffer.from(each, 'base64url'))];
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

/** Adds fresh keys. Keys of another opening are ignored: that opening may have used them. */
export function accept(pool: PoolState, { opening, keys }: Allotment): void {
  if (opening !== pool.opening || pool.isFrozen || keys.length === 0) return;
  const taken = new Set([...pool.taken.values()].map(({ keyId }) => keyId));
  for (const { keyId, key } of keys) {
    // Beyond this opening, the vault's primary key holds invariant 1, and its refusal to bind a key to a second subject.
    if (pool.free.has(keyId) || taken.has(keyId)) throw new Error('a key was allotted twice');
    pool.free.set(keyId, Buffer.from(key, 'base64url'));
  }
  if (pool.isUsed) pool.target = Math.min(ALLOTMENT_MAX, pool.target * 2);
  pool.isUsed = true;
}

/** Returns the keys that a handler needs that makes so many persons; null when enough are here. */
export function needFor(pool: PoolState, persons: number): PoolNeed | null {
  // A host that is asked for no key waits: another state of the scope is about to replace this one.
  if (pool.isFrozen) return { opening: pool.opening, count: 0 };
  if (pool.free.size >= persons) return null;
  return { opening: pool.opening, count: Math.max(persons, pool.target) - pool.free.size };
}

/** Returns the refill of a pool in the background; null before half of it is used. */
export function refillOf(pool: PoolState): PoolNeed | null {
  if (pool.isFrozen || !pool.isUsed || pool.free.size > pool.target / 2) return null;
  return { opening: pool.opening, count: Math.min(ALLOTMENT_MAX, pool.target * 2) - pool.free.size };
}

/** Takes a free key for a subject; null when there is none. The caller writes its row in the same transaction. */
export function take(pool: PoolState, subject: string): TakenKey | null {
  const [first] = pool.isFrozen ? [] : pool.free;
  if (!first) return null;
  const [keyId, key] = first;
  pool.free.delete(keyId);
  pool.taken.set(subject, { keyId, key });
  return { keyId, key };
}

/** Removes a taken key whose transaction ended: with a committed row it is the subject's, without one it is burnt. */
export function leave(pool: PoolState, subject: string): void {
  pool.taken.delete(subject);
}

/**
 * Empties the pool, and returns the keys that no transaction has ever taken. A burnt key is not among them: a commit
 * that failed on a bad disk may come back.
 */
export function giveUp(pool: PoolState): string[] {
  const unused = [...pool.free.keys()];
  pool.free.clear();
  return unused;
}

export const SUBJECT_KEY_SQL = {
  ofSubject: `SELECT key_id AS keyId FROM _spine_unbound_keys WHERE subject = ?1
    UNION ALL SELECT key_id FROM _spine_subject_keys WHERE subject = ?1`,
  isUnbound: 'SELECT 1 FROM _spine_unbound_keys WHERE subject = ? AND key_id = ?',
  isBound: 'SELECT 1 FROM _spine_subject_keys WHERE subject = ? AND key_id = ?',
  unbound: 'SELECT subject, key_id AS keyId FROM _spine_unbound_keys LIMIT ? + 0',
} as const;

function makeSubjectKeyStore(db: SqlDatabase) {
  return {
    idsOf: (subject: string): string[] =>
      db.all<{ keyId: string }>(SUBJECT_KEY_SQL.ofSubject, subject).map(({ keyId }) => keyId),
    /** Writes the use of a key. Called in the operation's own transaction. */
    use: ({ subject, keyId }: Binding): void =>
      db.run('INSERT INTO _spine_unbound_keys (subject, key_id) VALUES (?, ?)', subject, keyId),
    /** Whether the use of a key stands; false once it was rolled back. */
    isUsed: ({ subject, keyId }: Binding): boolean =>
      db.get(SUBJECT_KEY_SQL.isUnbound, subject, keyId) !== undefined ||
      db.get(SUBJECT_KEY_SQL.isBound, subject, keyId) !== undefined,
    unbound: (limit: number): Binding[] => db.all<Binding>(SUBJECT_KEY_SQL.unbound, limit),
    /** Marks the unbound ones among these: another state may have come in that lacks some. */
    markBound: (bindings: readonly Binding[]): void => {
      for (const { subject, keyId } of bindings) {
        if (db.get(SUBJECT_KEY_SQL.isUnbound, subject, keyId) === undefined) continue;
        db.run('DELETE FROM _spine_unbound_keys WHERE subject = ? AND key_id = ?', subject, keyId);
        db.run('INSERT INTO _spine_subject_keys (subject, key_id) VALUES (?, ?)', subject, keyId);
      }
    },
    /** Returns the receipt of a person who was erased in an earlier opening. */
    receiptOf: (subject: string): ShredReceipt | undefined =>
      db.get<ShredReceipt>(
        'SELECT subject, key_digest AS keyDigest, shredded_at AS shreddedAt FROM _spine_shredded WHERE subject = ?',
        subject,
      ),
  };
}
