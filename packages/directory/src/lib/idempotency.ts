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
import type { Migration, UnitContext } from '@freehold/store';
import type { AdminCall } from '../actors.ts';
import { isRunning } from '../audit/open-intents.ts';

/** How long an answer is kept: 24 hours. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** How many expired keys one change clears away, so that the table stays small and no change pays for many. */
const CLEARED_PER_CHANGE = 16;
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

interface Kept {
  readonly status: 200 | 201 | 202 | 204;
  readonly value: unknown;
  readonly etag?: string;
}

/** An answer as it is kept: whole, or only the sentence that explains why it cannot be given twice. */
type KeptAnswer = Kept | { readonly shownOnce: string };

interface KeyRow {
  readonly fingerprint: string;
  readonly intent: number | null;
  readonly answer: string | null;
  readonly expiresAtMs: number;
}

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
  const unknown = { kept: null, resumes: null };
  if (call.idempotencyKey === undefined) return unknown;
  clearExpired(context);
  const row = context.db.get<KeyRow>(
    `SELECT fingerprint, intent, answer, expires_at AS expiresAtMs FROM idempotency_keys
     WHERE actor = ? AND operation = ? AND key = ?`,
    ...keyOf(call),
  );
  if (!row || row.expiresAtMs <= context.now()) return unknown;
  if (row.fingerprint !== fingerprintOf(context, call))
    throw new PlatformError('conflict', 'This idempotency key was used before, with another input.', {
      reason: 'idempotency_key_reused',
    });
  if (row.answer === null) {
    if (row.intent !== null && isRunning(context.db, row.intent, context.now()))
      throw new PlatformError('conflict', 'A call with this idempotency key is still running.', {
        reason: 'idempotency_in_progress',
      });
    return { kept: null, resumes: row.intent };
  }
  const kept = JSON.parse(row.answer) as KeptAnswer;
  if ('shownOnce' in kept)
    throw new PlatformError('conflict', kept.shownOnce, { reason: 'secret_shown_once' });
  return { kept };
}

/** Keeps an answer under the call's key, if it has one. */
export function keepAnswer(context: UnitContext, call: AdminCall, answer: KeptAnswer): void {
  put(context, call, { intent: null, answer: JSON.stringify(answer) });
}

/** Marks the call's key as taken for as long as this intent is running. */
export function holdKey(context: UnitContext, call: AdminCall, intent: number): void {
  put(context, call, { intent, answer: null });
}

/** Ends the hold of an intent: with the answer to keep, or with nothing, so that the key is as if never used. */
export function releaseKey(
  context: UnitContext,
  call: AdminCall,
  hold: { readonly intent: number; readonly answer: KeptAnswer | null },
): void {
  if (call.idempotencyKey === undefined) return;
  const held = context.db.get(
    'SELECT 1 FROM idempotency_keys WHERE actor = ? AND operation = ? AND key = ? AND intent = ?',
    ...keyOf(call),
    hold.intent,
  );
  // A later call took the key over after the lease ran out: the answer is that call's to keep.
  if (!held) return;
  if (hold.answer) keepAnswer(context, call, hold.answer);
  else
    context.db.run(
      'DELETE FROM idempotency_keys WHERE actor = ? AND operation = ? AND key = ?',
      ...keyOf(call),
    );
}

function put(
  context: UnitContext,
  call: AdminCall,
  row: { readonly intent: number | null; readonly answer: string | null },
): void {
  if (call.idempotencyKey === undefined) return;
  context.db.run(
    `INSERT INTO idempotency_keys (actor, operation, key, fingerprint, intent, answer, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (actor, operation, key) DO UPDATE SET
       fingerprint = excluded.fingerprint, intent = excluded.intent, answer = excluded.answer, expires_at = excluded.expires_at`,
    ...keyOf(call),
    fingerprintOf(context, call),
    row.intent,
    row.answer,
    context.now() + KEPT_MS,
  );
}

function keyOf(call: AdminCall): [string, string, string] {
  return [`${call.actor.kind}:${call.actor.id}`, call.operation, call.idempotencyKey ?? ''];
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

function clearExpired(context: UnitContext): void {
  context.db.run(
    `DELETE FROM idempotency_keys WHERE rowid IN
       (SELECT rowid FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    context.now(),
    CLEARED_PER_CHANGE,
  );
}
