/**
 * The keys of persons inside a scope, in memory only. A known person's key is handed in by the host before a handler
 * runs; a person whom the operation makes takes a key from the pool, in the operation's own transaction.
 */
import { PlatformError, type ShredReceipt } from '@freehold/contracts';
import { open, seal, type UnitContext } from '@freehold/store';
import { type KeyNeeds, type KeySupply, keysNeeded, type PoolNeed } from './key-needs.ts';
import { accept, emptyPool, giveUp, leave, needFor, refillOf, take } from './key-pool.ts';
import { makeSubjectKeyStore } from './subject-key-store.ts';
import type { Binding, HeldKeys, SubjectKey } from './vault.ts';

/** How many persons' keys a scope holds in memory. */
const KEYS_MAX = 10_000;
const SUBJECT_LENGTH_MAX = 128;
const OPENING_BYTES = 12;

/** Instead of what was erased. */
export interface Shredded {
  readonly $shredded: { readonly at: string };
}
/** Instead of what is sealed and not opened. */
export interface Sealed {
  readonly $sealed: string;
}

/** A person's keys: the first seals, all open. */
type Keys = readonly [Uint8Array, ...Uint8Array[]];

export type SubjectKeys = ReturnType<typeof makeSubjectKeys>;

export function makeSubjectKeys(
  unit: Pick<UnitContext, 'key' | 'random' | 'db' | 'afterCommit' | 'onRollback'>,
) {
  const store = makeSubjectKeyStore(unit.db);
  const pool = emptyPool(Buffer.from(unit.random(OPENING_BYTES)).toString('base64url'));
  const known = new Map<string, Keys | ShredReceipt>();
  /** Whether rows wait for the vault to be told of them; null: after a roll-back it must be looked up. */
  let unbound: boolean | null = null;
  const hasUnbound = (): boolean => {
    unbound ??= store.unbound(1).length > 0;
    return unbound;
  };
  unit.onRollback(() => {
    unbound = null;
  });

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

  const lookUp = (subject: string): Keys | ShredReceipt => {
    const found = find(subject);
    if (!found) throw keysNeeded({ subjects: [heldBy(subject)], pool: null });
    return found;
  };

  const heldBy = (subject: string): HeldKeys => ({ subject, keyIds: store.idsOf(subject) });

  /** After a commit each taken key is its subject's, or burnt. */
  const settleTaken = (): void => {
    for (const [subject, { keyId, key }] of [...pool.taken]) {
      if (store.isUsed({ subject, keyId })) remember(subject, [key]);
      leave(pool, subject);
    }
  };

  /** What is known of a person who was erased: in memory, or by what this scope was told in an earlier opening. */
  const receiptOf = (subject: string): ShredReceipt | undefined => {
    const found = known.get(subject);
    if (found && isReceipt(found)) return found;
    return unit.db.get<ShredReceipt>(
      'SELECT subject, key_digest AS keyDigest, shredded_at AS shreddedAt FROM _spine_shredded WHERE subject = ?',
      subject,
    );
  };

  const provide = (keys: Readonly<Record<string, SubjectKey>>): void => {
    for (const [subject, found] of Object.entries(keys)) {
      if ('shredded' in found) remember(subject, found.shredded);
      // A key that was still on its way when its person was erased opens nothing any more.
      else remember(subject, receiptOf(subject) ?? bytesOf(found));
    }
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
    /** What {@link seal} made, or what stands for it. */
    open: (subject: string, place: string, sealed: string): { readonly text: string } | Shredded => {
      const found = lookUp(subject);
      if (isReceipt(found)) return { $shredded: { at: found.shreddedAt } };
      for (const key of found) {
        const text = open(key, placeOf(subject, place), sealed);
        if (text !== null) return { text };
      }
      throw new Error('what is sealed for a subject does not open with the key of the subject');
    },
    has: (subject: string): boolean => find(subject) !== undefined,
    /** Whether a person is known to have been erased. */
    isShredded: (subject: string): boolean => {
      const found = known.get(subject);
      return found !== undefined && isReceipt(found);
    },
    /** The persons among these whose keys are not here. */
    missing: (subjects: Iterable<string>): HeldKeys[] =>
      [...new Set(subjects)].filter((subject) => !find(subject)).map(heldBy),

    /** Gives a person of this transaction a key of the pool. False: the pool is empty. */
    takeFor: (subject: string): boolean => {
      const taken = take(pool, subject);
      if (!taken) return false;
      store.use({ subject, keyId: taken.keyId });
      unbound = true;
      unit.afterCommit(settleTaken);
      return true;
    },
    /** What must come before a handler may run that makes so many persons. */
    poolNeed: (persons: number): PoolNeed | null => needFor(pool, persons),
    /** Takes in what a host brings. */
    supply: ({ keys, allotment }: KeySupply): void => {
      if (keys) provide(keys);
      if (allotment) accept(pool, allotment);
    },
    /** What is to be done at the vault, when there is time. */
    work: (limit: number): { readonly unbound: Binding[]; readonly pool: PoolNeed | null } => {
      const waiting = hasUnbound() ? store.unbound(limit) : [];
      unbound = waiting.length > 0;
      return { unbound: waiting, pool: refillOf(pool) };
    },
    /** What waits to be done at the vault. */
    waits: (): 'fill' | 'bind' | null => {
      if (refillOf(pool)) return 'fill';
      return hasUnbound() ? 'bind' : null;
    },
    /** The vault was told of these. Answers whether others wait. */
    bound: (bindings: readonly Binding[]): boolean => {
      store.markBound(bindings);
      unbound = null;
      return hasUnbound();
    },
    hasUnbound,
    heldBy,
    freeze: (isFrozen: boolean): void => {
      pool.isFrozen = isFrozen;
    },
    giveUp: (): string[] => giveUp(pool),
  };
}

/** The needs of a call, or null. */
export function needsFor(
  keys: Pick<SubjectKeys, 'missing' | 'poolNeed'>,
  subjects: Iterable<string>,
  persons: number,
): KeyNeeds | null {
  const missing = keys.missing(subjects);
  const pool = persons === 0 ? null : keys.poolNeed(persons);
  return missing.length === 0 && pool === null ? null : { subjects: missing, pool };
}

/** Where a sealed value of a vertical's own table is kept: another space than that of events and answers. */
export function valuePlace(place: string): string {
  return `value/${place}`;
}

/** The name of a person that data is sealed for. @throws TypeError, as a bug of the vertical. */
export function requireSubjectName(where: string, subject: unknown): string {
  if (
    typeof subject === 'string' &&
    subject !== '' &&
    subject.length <= SUBJECT_LENGTH_MAX &&
    subject.isWellFormed()
  )
    return subject;
  throw new TypeError(`${where}: a subject is 1 to ${SUBJECT_LENGTH_MAX} characters of text`);
}

function isReceipt(found: Keys | ShredReceipt): found is ShredReceipt {
  return !Array.isArray(found);
}

function bytesOf({ key, more = [] }: { readonly key: string; readonly more?: readonly string[] }): Keys {
  return [Buffer.from(key, 'base64url'), ...more.map((each) => Buffer.from(each, 'base64url'))];
}
