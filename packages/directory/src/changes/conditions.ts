/**
 * The two conditions that a caller puts on a change, checked in the transaction that makes it: If-Match (RFC 9110, section
 * 13.1.1) and the idempotency key (design: control-plane, "Idempotency and concurrency").
 *
 * The answer of a change is kept under its key for 24 hours. An effect outside the directory holds the key while its intent
 * runs. When no process waits for it any more, the key comes free, and the same call resumes the work: every such effect may
 * be repeated.
 */
import { createHmac } from 'node:crypto';
import { canonicalJson, PlatformError } from '@freehold/contracts';
import { defineAnswerTable, type KeyedCall, makeAnswerStore } from '@freehold/operations/idempotency';
import type { Migration, UnitContext } from '@freehold/store';
import type { AdminCall } from '../access/actors.ts';
import { isRunning } from '../audit/open-intents.ts';

/**
 * Refuses a change whose caller has seen another version.
 * @param ifMatch the header's value: `*`, one tag or several, with or without quotes. Undefined asks for nothing.
 * @param current the present version, or null when there is none.
 * @param resumes the version that an earlier attempt of this call made when it began: an effect makes its new version then,
 * so that a second call with the same tag is refused while the first is running. While `current` is still that version, no
 * other call has changed anything.
 * @throws PlatformError `precondition_failed`; the present version is in its `ETag` header.
 */
export function requireMatch(
  ifMatch: string | undefined,
  current: string | null,
  resumes: number | null = null,
): void {
  if (ifMatch === undefined) return;
  if (resumes !== null && current === String(resumes)) return;
  if (current !== null && (ifMatch.trim() === '*' || strongTags(ifMatch).includes(current))) return;
  throw new PlatformError(
    'precondition_failed',
    current === null
      ? 'There is nothing here yet that could match.'
      : `This was changed since you read it: it is at version ${current} now. Read it again, then decide.`,
    current === null ? {} : { headers: { etag: `"${current}"` } },
  );
}

/** The tags of a header that compare strongly; a weak one never matches (RFC 9110, section 8.8.3.2). */
function strongTags(header: string): string[] {
  if (!header.includes('"')) return [header.trim()];
  return [...header.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag]) =>
    weak === undefined && tag !== undefined ? [tag] : [],
  );
}

/** 256 bits: the strength of the HMAC that it keys. */
const FINGERPRINT_KEY_BYTES = 32;
const FINGERPRINT_KEY = 'idempotency fingerprint key';

export const idempotencyMigration: Migration = {
  version: 7,
  name: 'idempotency keys',
  sql: `
    CREATE TABLE idempotency_keys (
      actor TEXT NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      intent INTEGER,
      answer TEXT,
      expires_at INTEGER NOT NULL,
      UNIQUE (actor, operation, key)
    ) STRICT;
    CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
  `,
};

/** Removes the rows with unkeyed fingerprints, which no new fingerprint could equal. */
export const keyedFingerprintsMigration: Migration = {
  version: 9,
  name: 'keyed fingerprints',
  sql: `
    CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
    DELETE FROM idempotency_keys;
  `,
};

const ANSWERS = defineAnswerTable({
  table: 'idempotency_keys',
  caller: 'actor',
  answer: 'answer',
  extra: 'intent',
  time: { column: 'expires_at', is: 'end' },
  clearedPerCall: 16,
});

interface Stored {
  readonly status: 200 | 201 | 202 | 204;
  readonly value: unknown;
  readonly etag?: string;
}

/** A stored answer: the whole, or for a secret the sentence that refuses to repeat it. */
type StoredAnswer = Stored | { readonly shownOnce: string };

/** The answer to repeat, or the intent of an earlier attempt of this call that has no outcome; null for a first attempt. */
export type Recalled =
  | { readonly stored: Stored }
  | { readonly stored: null; readonly resumes: number | null };

/**
 * Looks up the call's key.
 * @throws PlatformError `conflict`, reason `idempotency_key_reused` (the same key, another input),
 * `idempotency_in_progress` or `secret_shown_once`.
 */
export function recallAnswer(context: UnitContext, call: AdminCall): Recalled {
  const keyed = keyedCall(context, call);
  const row = keyed && answersOf(context).recall(keyed);
  if (!row) return { stored: null, resumes: null };
  if (row.answer === null) {
    const intent = row.extra as number | null;
    if (intent !== null && isRunning(context.db, intent, context.now()))
      throw new PlatformError('conflict', 'A call with this idempotency key is still running.', {
        reason: 'idempotency_in_progress',
      });
    return { stored: null, resumes: intent };
  }
  const stored = JSON.parse(row.answer) as StoredAnswer;
  if ('shownOnce' in stored)
    throw new PlatformError('conflict', stored.shownOnce, { reason: 'secret_shown_once' });
  return { stored };
}

/** Keeps an answer under the call's key, if it has one. */
export function keepAnswer(context: UnitContext, call: AdminCall, answer: StoredAnswer): void {
  const keyed = keyedCall(context, call);
  if (keyed) answersOf(context).keep(keyed, { answer: JSON.stringify(answer), extra: null });
}

/** Marks the call's key as taken for as long as this intent is running. */
export function holdKey(context: UnitContext, call: AdminCall, intent: number): void {
  const keyed = keyedCall(context, call);
  if (keyed) answersOf(context).keep(keyed, { answer: null, extra: intent });
}

/** Ends the hold of an intent. Keeps the answer; without one the key is as if never used. */
export function releaseKey(
  context: UnitContext,
  call: AdminCall,
  hold: { readonly intent: number; readonly answer: StoredAnswer | null },
): void {
  const keyed = keyedCall(context, call);
  if (!keyed) return;
  const held = context.db.get(
    'SELECT 1 FROM idempotency_keys WHERE actor = ? AND operation = ? AND key = ? AND intent = ?',
    ...[keyed.caller, keyed.operation, keyed.key, hold.intent],
  );
  // A later call took the key over after the lease ran out: the answer is that call's to keep.
  if (!held) return;
  if (hold.answer) keepAnswer(context, call, hold.answer);
  else answersOf(context).forget(keyed);
}

function answersOf({ db }: UnitContext) {
  return makeAnswerStore(db, ANSWERS);
}

function keyedCall(context: UnitContext, call: AdminCall): KeyedCall | undefined {
  const { actor, operation, idempotencyKey } = call;
  if (idempotencyKey === undefined) return undefined;
  return {
    caller: `${actor.kind}:${actor.id}`,
    operation,
    key: idempotencyKey,
    fingerprint: fingerprintOf(context, call),
    nowMs: context.now(),
  };
}

/**
 * Tells whether two calls have the same input. The input may hold secrets, such as settings: an HMAC under a random key of
 * this directory can neither be looked up in a prepared table nor compared with another directory's. A reader of the whole
 * file has the key too and can still test a guess.
 */
function fingerprintOf(context: UnitContext, { params, query, body, ifMatch }: AdminCall): string {
  return createHmac('sha256', fingerprintKey(context))
    .update(canonicalJson({ params, query, body, ifMatch }))
    .digest('hex');
}

/** The directory's own key, made at its first use. */
function fingerprintKey(context: UnitContext): Uint8Array {
  const { db } = context;
  const found = db.get<{ value: Uint8Array }>('SELECT value FROM meta WHERE name = ?', FINGERPRINT_KEY);
  if (found) return found.value;
  const value = context.random(FINGERPRINT_KEY_BYTES);
  db.run('INSERT INTO meta (name, value) VALUES (?, ?)', FINGERPRINT_KEY, value);
  return value;
}
