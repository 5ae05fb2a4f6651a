/**
 * The keys of persons inside a scope: in memory only, handed in from the vault when they are needed. A handler is
 * synchronous and the vault may be far away, so that a missing key ends the call, is fetched, and the call is made
 * again; nobody but `scope-host` ever sees that happen.
 */
import { PlatformError, type ShredReceipt } from '@freehold/contracts';
import { open, seal, type UnitContext } from '@freehold/store';
import type { SubjectKey } from './vault.ts';

/** How many keys a scope holds in memory. */
const KEYS_MAX = 10_000;
const SUBJECT_LENGTH_MAX = 128;
/** What a call is told that lacks keys; the subjects are its `errors`. */
export const KEYS_NEEDED = 'subject_keys_needed';

/** Instead of what was erased. */
export interface Shredded {
  readonly $shredded: { readonly at: string };
}
/** Instead of what is sealed and not opened. */
export interface Sealed {
  readonly $sealed: string;
}

export type SubjectKeys = ReturnType<typeof makeSubjectKeys>;

export function makeSubjectKeys(unit: Pick<UnitContext, 'key' | 'random' | 'db'>) {
  const known = new Map<string, Uint8Array | ShredReceipt>();

  const placeOf = (subject: string, place: string): string => `${unit.key}/${subject}/${place}`;

  /** @throws PlatformError `unavailable`, reason `subject_keys_needed`. */
  const lookUp = (subject: string): Uint8Array | ShredReceipt => {
    const found = known.get(subject);
    if (found === undefined) throw keysNeeded([subject]);
    return found;
  };

  /** What is known of somebody who was erased: here, or by whoever had this scope open before. */
  const receiptOf = (subject: string): ShredReceipt | undefined => {
    const found = known.get(subject);
    if (found !== undefined && !(found instanceof Uint8Array)) return found;
    return unit.db.get<ShredReceipt>(
      'SELECT subject, key_digest AS keyDigest, shredded_at AS shreddedAt FROM _spine_shredded WHERE subject = ?',
      subject,
    );
  };

  return {
    /** Seals text for a person. @throws PlatformError `conflict`, reason `subject_shredded`; and as {@link lookUp}. */
    seal: (subject: string, place: string, text: string): string => {
      const key = lookUp(subject);
      if (!(key instanceof Uint8Array))
        throw new PlatformError(
          'conflict',
          'This person was erased; nothing more is kept about them under this id.',
          {
            reason: 'subject_shredded',
          },
        );
      return seal(key, placeOf(subject, place), text, unit.random(12));
    },
    /** What {@link seal} made, or what is said instead of it. @throws as {@link lookUp}. */
    open: (subject: string, place: string, sealed: string): { readonly text: string } | Shredded => {
      const key = lookUp(subject);
      if (!(key instanceof Uint8Array)) return { $shredded: { at: key.shreddedAt } };
      const text = open(key, placeOf(subject, place), sealed);
      if (text === null)
        throw new Error('what is sealed for a subject does not open with the key of the subject');
      return { text };
    },
    has: (subject: string): boolean => known.has(subject),
    /** Whether a person is known to have been erased. */
    isShredded: (subject: string): boolean => {
      const found = known.get(subject);
      return found !== undefined && !(found instanceof Uint8Array);
    },
    provide: (keys: Readonly<Record<string, SubjectKey>>): null => {
      for (const [subject, found] of Object.entries(keys)) {
        // A key that was still on its way when its person was erased opens nothing any more.
        const value =
          'key' in found ? (receiptOf(subject) ?? Buffer.from(found.key, 'base64url')) : found.shredded;
        if (known.size >= KEYS_MAX) known.delete(known.keys().next().value as string);
        known.set(subject, value);
      }
      return null;
    },
  };
}

export function keysNeeded(subjects: readonly string[]): PlatformError {
  return new PlatformError(
    'unavailable',
    'The keys of persons are needed for this, and no vault is connected.',
    {
      reason: KEYS_NEEDED,
      errors: subjects.map((subject) => ({ path: subject, message: 'has a key in the vault' })),
    },
  );
}

export function isKeysNeeded(error: unknown): error is PlatformError {
  return error instanceof PlatformError && error.reason === KEYS_NEEDED;
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
