/**
 * Idempotency keys: the result of a keyed call is stored in the transaction of its effect, and a repeat within 24 hours
 * gets that result instead of a second effect (design: kernel, "Idempotency and preconditions").
 */
import { createHash } from 'node:crypto';
import { canonicalJson, type InvokeResult, PlatformError } from '@freehold/contracts';
import { defineAnswerTable, makeAnswerStore } from '@freehold/operations/idempotency';
import type { SqlDatabase } from '@freehold/store';
import { keysNeeded } from '../keys/key-needs.ts';
import type { SubjectKeys } from '../keys/subject-keys.ts';

/**
 * The greatest length of a stored answer, in characters of JSON. A Durable Object's row holds 2 MB; the limit is the
 * same on every engine, so that an operation works on all or none.
 */
const RESULT_LENGTH_MAX = 500_000;

/** Visible ASCII, for a header. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** A key that a caller sent, and the call that it names. */
export interface KeyedCall {
  readonly principal: string;
  readonly operation: string;
  readonly key: string;
  /** SHA-256 of the input as it was sent, in hexadecimal. */
  readonly fingerprint: string;
  readonly nowMs: number;
}

const ANSWERS = defineAnswerTable({
  table: '_spine_idempotency',
  caller: 'principal',
  answer: 'result',
  extra: 'subjects',
  time: { column: 'at', is: 'written' },
  clearedPerCall: 20,
});

const { recall, expired } = ANSWERS.sql;
/** The searches, for the test of the query plans. */
export const IDEMPOTENCY_SQL = { recall, expired } as const;

/**
 * Checks a key, and returns it with its call. The input is the sent one, before its schema converted it and before `run`
 * could change it.
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

/** Returns the place that a stored answer is sealed to. */
export function answerPlace({
  principal,
  operation,
  key,
}: Pick<KeyedCall, 'principal' | 'operation' | 'key'>): string {
  return `answer/${principal}/${operation}/${key}`;
}

export function makeIdempotency(db: SqlDatabase, subjectKeys: SubjectKeys) {
  /** An answer may repeat sealed data: it is sealed for each of its persons, and lost with the first who is erased. */
  const sealed = (call: KeyedCall, text: string, subjects: readonly string[]): string =>
    subjects.reduce((inner, subject) => subjectKeys.seal(subject, answerPlace(call), inner), text);

  const opened = (call: KeyedCall, text: string, subjects: readonly string[]): string =>
    subjects.reduceRight((outer, subject) => {
      const found = subjectKeys.open(subject, answerPlace(call), outer);
      if ('text' in found) return found.text;
      throw new PlatformError(
        'conflict',
        'This was done, and its answer was erased with a person it was about.',
        {
          reason: 'idempotency_answer_erased',
        },
      );
    }, text);

  const answers = makeAnswerStore(db, ANSWERS);
  const addressed = ({ principal, ...call }: KeyedCall) => ({ ...call, caller: principal });

  return {
    /** Removes expired answers; returns their number. */
    clear: (nowMs: number, limit: number): number => answers.clear(nowMs, limit),

    /**
     * Returns the stored result of this call; undefined for the first call.
     * @throws PlatformError `conflict`, reason `idempotency_key_reused`, when the key came with another input before;
     * reason `idempotency_answer_erased`, when a person of the answer was erased since.
     */
    recall: (call: KeyedCall): InvokeResult | undefined => {
      const row = answers.recall(addressed(call));
      if (!row || row.answer === null) return undefined;
      const subjects = row.extra === null ? [] : (JSON.parse(String(row.extra)) as string[]);
      // A stored answer names its persons: no declaration has to.
      const missing = subjectKeys.missing(subjects);
      if (missing.length > 0) throw keysNeeded({ subjects: missing, pool: null });
      return { ...(JSON.parse(opened(call, row.answer, subjects)) as InvokeResult), replayed: true };
    },

    /** Stores the result. @throws TypeError when it is too long: without it, a repeat would act twice. */
    store: (call: KeyedCall, result: InvokeResult, about: readonly string[]): void => {
      // The answer holds no data of erased persons: none was left to read.
      const subjects = about.filter((subject) => !subjectKeys.isShredded(subject));
      const text = JSON.stringify(result);
      if (text.length > RESULT_LENGTH_MAX)
        throw new TypeError(
          `operation ${call.operation}: its answer has ${text.length} characters and cannot be kept for a repeat; at most ${RESULT_LENGTH_MAX} can`,
        );
      answers.keep(addressed(call), {
        answer: sealed(call, text, subjects),
        extra: subjects.length === 0 ? null : JSON.stringify(subjects),
      });
    },
  };
}
