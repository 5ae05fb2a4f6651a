/**
 * Idempotency keys: the result of a keyed call is stored in the transaction of its effect, and a repeat within 24
 * hours gets that result instead of a second effect (design: kernel, "Idempotency and preconditions").
 */
import { createHash } from 'node:crypto';
import { canonicalJson, type InvokeResult, PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { SubjectKeys } from '../sealing/subject-keys.ts';

/** How long a stored result answers repeats: 24 hours. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** How many expired results one call clears away, so that no call pays for a whole day of others. */
const CLEARED_PER_CALL = 20;

/**
 * How long a stored answer may be, in characters of JSON. A Durable Object's row holds 2 MB; the limit is the same
 * on every engine, so that an operation does not work on one of them only.
 */
const RESULT_LENGTH_MAX = 500_000;

/** Visible ASCII, as a header can carry it. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** A key that a caller sent, and what it stands for. */
export interface KeyedCall {
  readonly principal: string;
  readonly operation: string;
  readonly key: string;
  /** SHA-256 of the input as it was sent, in hexadecimal. */
  readonly fingerprint: string;
  readonly nowMs: number;
}

export const IDEMPOTENCY_SQL = {
  recall:
    'SELECT fingerprint, result, subjects FROM _spine_idempotency WHERE principal = ? AND operation = ? AND key = ? AND at > ?',
  expired: `SELECT principal, operation, key FROM _spine_idempotency WHERE at <= ? ORDER BY at LIMIT ? + 0`,
} as const;

/**
 * Checks a key and joins it with what it stands for. The input is taken as it was sent, before its schema made
 * dates, defaults or anything else of it, and before `run` could change it.
 * @throws PlatformError `validation_failed`, reason `idempotency_key_malformed`.
 */
export function keyedCall(call: {
  readonly principal: string;
  readonly operation: string;
  readonly key: unknown;
  readonly input: unknown;
  readonly nowMs: number;
}): KeyedCall {
  const { principal, operation, key, input, nowMs } = call;
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw new PlatformError('validation_failed', 'An idempotency key is 1 to 255 visible ASCII characters.', {
      reason: 'idempotency_key_malformed',
    });
  }
  const fingerprint = createHash('sha256')
    .update(canonicalJson(input ?? null))
    .digest('hex');
  return { principal, operation, key, fingerprint, nowMs };
}

export function makeIdempotency(db: SqlDatabase, subjectKeys: SubjectKeys) {
  const placeOf = ({ principal, operation, key }: KeyedCall): string =>
    `answer/${principal}/${operation}/${key}`;

  /** An answer may repeat what is sealed: it is sealed for each of the persons, and gone with the first of them. */
  const sealed = (call: KeyedCall, text: string, subjects: readonly string[]): string =>
    subjects.reduce((inner, subject) => subjectKeys.seal(subject, placeOf(call), inner), text);

  const opened = (call: KeyedCall, text: string, subjects: readonly string[]): string =>
    subjects.reduceRight((outer, subject) => {
      const found = subjectKeys.open(subject, placeOf(call), outer);
      if ('text' in found) return found.text;
      throw new PlatformError(
        'conflict',
        'This was done, and its answer was erased with a person it was about.',
        {
          reason: 'idempotency_answer_erased',
        },
      );
    }, text);

  /** Removes what answers nothing any more; answers how many there were. */
  const clear = (nowMs: number, limit: number): number => {
    const expired = db.all<{ principal: string; operation: string; key: string }>(
      IDEMPOTENCY_SQL.expired,
      nowMs - KEPT_MS,
      limit,
    );
    for (const { principal, operation, key } of expired)
      db.run(
        'DELETE FROM _spine_idempotency WHERE principal = ? AND operation = ? AND key = ?',
        principal,
        operation,
        key,
      );
    return expired.length;
  };

  return {
    clear,

    /**
     * The stored result of this call, or undefined when it is the first.
     * @throws PlatformError `conflict`, reason `idempotency_key_reused`, when the key came with another input before;
     * reason `idempotency_answer_erased`, when somebody whom the answer is about was erased since.
     */
    recall: (call: KeyedCall): InvokeResult | undefined => {
      const row = db.get<{ fingerprint: string; result: string; subjects: string | null }>(
        IDEMPOTENCY_SQL.recall,
        call.principal,
        call.operation,
        call.key,
        call.nowMs - KEPT_MS,
      );
      if (!row) return undefined;
      if (row.fingerprint !== call.fingerprint) {
        throw new PlatformError(
          'conflict',
          'This idempotency key was used before with a different input. Use a fresh key for a new request.',
          {
            reason: 'idempotency_key_reused',
          },
        );
      }
      const subjects = row.subjects === null ? [] : (JSON.parse(row.subjects) as string[]);
      return { ...(JSON.parse(opened(call, row.result, subjects)) as InvokeResult), replayed: true };
    },

    /** Keeps the result. @throws TypeError when it is too long to be kept: without it, a repeat would act twice. */
    store: (call: KeyedCall, result: InvokeResult, about: readonly string[]): void => {
      // Nothing of somebody who was erased can be in the answer: it was not there to be read.
      const subjects = about.filter((subject) => !subjectKeys.isShredded(subject));
      const text = JSON.stringify(result);
      if (text.length > RESULT_LENGTH_MAX)
        throw new TypeError(
          `operation ${call.operation}: its answer has ${text.length} characters and cannot be kept for a repeat; at most ${RESULT_LENGTH_MAX} can`,
        );
      clear(call.nowMs, CLEARED_PER_CALL);
      db.run(
        'INSERT OR REPLACE INTO _spine_idempotency (principal, operation, key, fingerprint, result, at, subjects) VALUES (?, ?, ?, ?, ?, ?, ?)',
        call.principal,
        call.operation,
        call.key,
        call.fingerprint,
        sealed(call, text, subjects),
        call.nowMs,
        subjects.length === 0 ? null : JSON.stringify(subjects),
      );
    },
  };
}
