/**
 * Idempotency keys: the result of a keyed call is stored in the transaction of its effect, and a repeat within 24
 * hours gets that result instead of a second effect (design: kernel, "Idempotency and preconditions").
 */
import { createHash } from 'node:crypto';
import { canonicalJson, type InvokeResult, PlatformError } from '@freehold/contracts';
import { defineAnswerTable, makeAnswerStore } from '@freehold/operations/idempotency';
import type { SqlDatabase } from '@freehold/store';
import { keysNeeded } from '../sealing/key-needs.ts';
import type { SubjectKeys } from '../sealing/subject-keys.ts';

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

const ANSWERS = defineAnswerTable({
  table: '_spine_idempotency',
  caller: 'principal',
  answer: 'result',
  extra: 'subjects',
  time: { column: 'at', is: 'written' },
  clearedPerCall: 20,
});

const { recall, expired } = ANSWERS.sql;
/** What is searched for, for the test of the query plans. */
export const IDEMPOTENCY_SQL = { recall, expired } as const;

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

/** Where a stored answer is sealed to. */
export function answerPlace({
  principal,
  operation,
  key,
}: Pick<KeyedCall, 'principal' | 'operation' | 'key'>): string {
  return `answer/${principal}/${operation}/${key}`;
}

export function makeIdempotency(db: SqlDatabase, subjectKeys: SubjectKeys) {
  /** An answer may repeat what is sealed: it is sealed for each of the persons, and gone with the first of them. */
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
    /** Removes what answers nothing any more; answers how many there were. */
    clear: (nowMs: number, limit: number): number => answers.clear(nowMs, limit),

    /**
     * The stored result of this call, or undefined when it is the first.
     * @throws PlatformError `conflict`, reason `idempotency_key_reused`, when the key came with another input before;
     * reason `idempotency_answer_erased`, when somebody whom the answer is about was erased since.
     */
    recall: (call: KeyedCall): InvokeResult | undefined => {
      const row = answers.recall(addressed(call));
      if (!row || row.answer === null) return undefined;
      const subjects = row.extra === null ? [] : (JSON.parse(String(row.extra)) as string[]);
      // The persons of a stored answer are known by it: no declaration has to name them.
      const missing = subjectKeys.missing(subjects);
      if (missing.length > 0) throw keysNeeded({ subjects: missing, pool: null });
      return { ...(JSON.parse(opened(call, row.answer, subjects)) as InvokeResult), replayed: true };
    },

    /** Keeps the result. @throws TypeError when it is too long to be kept: without it, a repeat would act twice. */
    store: (call: KeyedCall, result: InvokeResult, about: readonly string[]): void => {
      // Nothing of a person who was erased can be in the answer: it was not there to be read.
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
