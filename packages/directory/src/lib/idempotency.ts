/**
 * Idempotency keys: the answer of a change is kept in the change's own transaction, so that a caller who did not
 * hear it can ask again (design: control-plane, "Idempotency and concurrency"). Kept for 24 hours.
 *
 * A change with an effect elsewhere holds its key while its intent is running. When nobody waits for it any more
 * (the process died, or the answer proved nothing) the key comes free, and the same call takes the work up again:
 * every such effect may be repeated (provisioning twice is provisioning once).
 *
 * Whether two calls are the same is told by a fingerprint of their input, and that input may hold secrets: settings,
 * for instance. It is an HMAC under a random key of this directory's own, so that it means nothing outside this
 * database: it cannot be looked up in a table made beforehand or compared with another directory's. Who holds the
 * whole file holds the key too and can still test a guess; values that cannot be guessed stay safe from that as well.
 */
import { createHmac } from 'node:crypto';
import { canonicalJson, PlatformError } from '@freehold/contracts';
import { defineAnswerTable, type KeyedCall, makeAnswerStore } from '@freehold/operations/idempotency';
import type { Migration, UnitContext } from '@freehold/store';
import type { AdminCall } from '../actors.ts';
import { isRunning } from '../audit/open-intents.ts';

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

/** The fingerprints of before were hashes without a key: they are removed, and nothing could be compared with them. */
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

interface Kept {
  readonly status: 200 | 201 | 202 | 204;
  readonly value: unknown;
  readonly etag?: string;
}

/** An answer as it is kept: whole, or only the sentence that explains why it cannot be given twice. */
type KeptAnswer = Kept | { readonly shownOnce: string };

/** What is known about a call's key: the answer to give again, or which work it takes up. */
export type Recalled =
  | { readonly kept: Kept }
  /** The intent of this very call that was left without an outcome. Null: the call is the first of its kind. */
  | { readonly kept: null; readonly resumes: number | null };

/**
 * Looks a call's key up.
 * @throws PlatformError `conflict`, reason `idempotency_key_reused` (the same key, another input),
 * `idempotency_in_progress` or `secret_shown_once`.
 */
export function recallAnswer(context: UnitContext, call: AdminCall): Recalled {
  const keyed = keyedCall(context, call);
  const row = keyed && answersOf(context).recall(keyed);
  if (!row) return { kept: null, resumes: null };
  if (row.answer === null) {
    const intent = row.extra as number | null;
    if (intent !== null && isRunning(context.db, intent, context.now()))
      throw new PlatformError('conflict', 'A call with this idempotency key is still running.', {
        reason: 'idempotency_in_progress',
      });
    return { kept: null, resumes: intent };
  }
  const kept = JSON.parse(row.answer) as KeptAnswer;
  if ('shownOnce' in kept)
    throw new PlatformError('conflict', kept.shownOnce, { reason: 'secret_shown_once' });
  return { kept };
}

/** Keeps an answer under the call's key, if it has one. */
export function keepAnswer(context: UnitContext, call: AdminCall, answer: KeptAnswer): void {
  const keyed = keyedCall(context, call);
  if (keyed) answersOf(context).keep(keyed, { answer: JSON.stringify(answer), extra: null });
}

/** Marks the call's key as taken for as long as this intent is running. */
export function holdKey(context: UnitContext, call: AdminCall, intent: number): void {
  const keyed = keyedCall(context, call);
  if (keyed) answersOf(context).keep(keyed, { answer: null, extra: intent });
}

/** Ends the hold of an intent: with the answer to keep, or with nothing, so that the key is as if never used. */
export function releaseKey(
  context: UnitContext,
  call: AdminCall,
  hold: { readonly intent: number; readonly answer: KeptAnswer | null },
): void {
  const keyed = keyedCall(context, call);
  if (!keyed) return;
  const held = context.db.get(
    'SELECT 1 FROM idempotency_keys WHERE actor = ? AND operation = ? AND key = ? AND intent = ?',
    keyed.caller,
    keyed.operation,
    keyed.key,
    hold.intent,
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

/** HMAC-SHA256 over everything that the caller decided. */
function fingerprintOf(context: UnitContext, { params, query, body, ifMatch }: AdminCall): string {
  return createHmac('sha256', fingerprintKey(context))
    .update(canonicalJson({ params, query, body, ifMatch }))
    .digest('hex');
}

/** The directory's own key, made when it is first needed. */
function fingerprintKey(context: UnitContext): Uint8Array {
  const { db } = context;
  const found = db.get<{ value: Uint8Array }>('SELECT value FROM meta WHERE name = ?', FINGERPRINT_KEY);
  if (found) return found.value;
  const value = context.random(FINGERPRINT_KEY_BYTES);
  db.run('INSERT INTO meta (name, value) VALUES (?, ?)', FINGERPRINT_KEY, value);
  return value;
}
