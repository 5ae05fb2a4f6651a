/**
 * Idempotency keys: the answer of a change is kept in the change's own transaction, so that a caller who did not
 * hear it can ask again (design: control-plane, "Idempotency and concurrency"). Kept for 24 hours.
 *
 * A change with an effect elsewhere holds its key while it runs. The hold is a lease: when the process dies in
 * between, the key comes free again, and every such effect may be repeated (provisioning twice is provisioning once).
 */
import { createHash } from 'node:crypto';
import { canonicalJson, PlatformError } from '@freehold/contracts';
import type { Migration, UnitContext } from '@freehold/store';
import type { AdminCall } from '../actors.ts';

/** How long an answer is kept: 24 hours. */
export const KEPT_MS = 24 * 60 * 60 * 1000;
/** How long running work holds its key: longer than any vertical may take to answer. */
export const LEASE_MS = 2 * 60 * 1000;
/** How many expired keys one change clears away, so that the table stays small and no change pays for many. */
const CLEARED_PER_CHANGE = 16;

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

/** An answer as it is kept: whole, or only the sentence that explains why it cannot be given twice. */
export type KeptAnswer =
  | { readonly status: 200 | 201 | 204; readonly value: unknown; readonly etag?: string }
  | { readonly shownOnce: string };

interface KeyRow {
  readonly fingerprint: string;
  readonly answer: string | null;
  readonly expiresAtMs: number;
}

/**
 * The answer that an earlier call with this key got, or null when there was none.
 * @throws PlatformError `conflict`, reason `idempotency_key_reused` (the same key, another input),
 * `idempotency_in_progress` or `secret_shown_once`.
 */
export function recallAnswer(
  context: UnitContext,
  call: AdminCall,
): Exclude<KeptAnswer, { shownOnce: string }> | null {
  if (call.idempotencyKey === undefined) return null;
  clearExpired(context);
  const row = context.db.get<KeyRow>(
    `SELECT fingerprint, answer, expires_at AS expiresAtMs FROM idempotency_keys
     WHERE actor = ? AND operation = ? AND key = ?`,
    ...keyOf(call),
  );
  if (!row || row.expiresAtMs <= context.now()) return null;
  if (row.fingerprint !== fingerprintOf(call))
    throw new PlatformError('conflict', 'This idempotency key was used before, with another input.', {
      reason: 'idempotency_key_reused',
    });
  if (row.answer === null)
    throw new PlatformError('conflict', 'A call with this idempotency key is still running.', {
      reason: 'idempotency_in_progress',
    });
  const kept = JSON.parse(row.answer) as KeptAnswer;
  if ('shownOnce' in kept)
    throw new PlatformError('conflict', kept.shownOnce, { reason: 'secret_shown_once' });
  return kept;
}

/** Keeps an answer under the call's key, if it has one. */
export function keepAnswer(context: UnitContext, call: AdminCall, answer: KeptAnswer): void {
  put(context, call, { intent: null, answer: JSON.stringify(answer), lifeMs: KEPT_MS });
}

/** Marks the call's key as taken by work that is running under this intent. */
export function holdKey(context: UnitContext, call: AdminCall, intent: number): void {
  put(context, call, { intent, answer: null, lifeMs: LEASE_MS });
}

/** Ends the hold of an intent: with the answer to keep, or with nothing, so that the caller may try again. */
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
  row: { readonly intent: number | null; readonly answer: string | null; readonly lifeMs: number },
): void {
  if (call.idempotencyKey === undefined) return;
  context.db.run(
    `INSERT INTO idempotency_keys (actor, operation, key, fingerprint, intent, answer, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (actor, operation, key) DO UPDATE SET
       fingerprint = excluded.fingerprint, intent = excluded.intent, answer = excluded.answer, expires_at = excluded.expires_at`,
    ...keyOf(call),
    fingerprintOf(call),
    row.intent,
    row.answer,
    context.now() + row.lifeMs,
  );
}

function keyOf(call: AdminCall): [string, string, string] {
  return [`${call.actor.kind}:${call.actor.id}`, call.operation, call.idempotencyKey ?? ''];
}

/** SHA-256 over everything that the caller decided. */
function fingerprintOf({ params, query, body, ifMatch }: AdminCall): string {
  return createHash('sha256').update(canonicalJson({ params, query, body, ifMatch })).digest('hex');
}

function clearExpired(context: UnitContext): void {
  context.db.run(
    `DELETE FROM idempotency_keys WHERE rowid IN
       (SELECT rowid FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    context.now(),
    CLEARED_PER_CHANGE,
  );
}
