/**
 * Idempotency keys: the result of a keyed call is stored in the transaction of its effect, and a repeat within 24
 * hours gets that result instead of a second effect (design: kernel, "Idempotency and preconditions").
 */
import { createHash } from 'node:crypto';
import { canonicalJson, type InvokeResult, PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

/** How long a stored result answers repeats: 24 hours. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** How many expired results one call clears away, so that no call pays for a whole day of others. */
const CLEARED_PER_CALL = 20;

/** Visible ASCII, as a header can carry it. */
const KEY = /^[\x21-\x7e]{1,255}$/;

export interface KeyedCall {
  readonly principal: string;
  readonly operation: string;
  readonly key: string;
  readonly input: unknown;
  readonly nowMs: number;
}

export function makeIdempotency(db: SqlDatabase) {
  return {
    /**
     * The stored result of this call, or undefined when it is the first.
     * @throws PlatformError `conflict`, reason `idempotency_key_reused`, when the key came with another input before.
     */
    recall: (call: KeyedCall): InvokeResult | undefined => {
      if (!KEY.test(call.key)) {
        throw new PlatformError(
          'validation_failed',
          'An idempotency key is 1 to 255 visible ASCII characters.',
          {
            reason: 'idempotency_key_malformed',
          },
        );
      }
      const row = db.get<{ fingerprint: string; result: string }>(
        'SELECT fingerprint, result FROM _spine_idempotency WHERE principal = ? AND operation = ? AND key = ? AND at > ?',
        call.principal,
        call.operation,
        call.key,
        call.nowMs - KEPT_MS,
      );
      if (!row) return undefined;
      if (row.fingerprint !== fingerprint(call.input)) {
        throw new PlatformError(
          'conflict',
          'This idempotency key was used before with a different input. Use a fresh key for a new request.',
          {
            reason: 'idempotency_key_reused',
          },
        );
      }
      return { ...(JSON.parse(row.result) as InvokeResult), replayed: true };
    },

    store: (call: KeyedCall, result: InvokeResult): void => {
      db.run(
        `DELETE FROM _spine_idempotency WHERE (principal, operation, key) IN
           (SELECT principal, operation, key FROM _spine_idempotency WHERE at <= ? ORDER BY at LIMIT ${CLEARED_PER_CALL})`,
        call.nowMs - KEPT_MS,
      );
      db.run(
        'INSERT OR REPLACE INTO _spine_idempotency (principal, operation, key, fingerprint, result, at) VALUES (?, ?, ?, ?, ?, ?)',
        call.principal,
        call.operation,
        call.key,
        fingerprint(call.input),
        JSON.stringify(result),
        call.nowMs,
      );
    },
  };
}

function fingerprint(input: unknown): string {
  return createHash('sha256')
    .update(canonicalJson(input ?? null))
    .digest('hex');
}
