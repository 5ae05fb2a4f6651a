/**
 * Idempotency keys: the answer of a call is kept in the transaction of its effect, so that a caller who did not hear it
 * can ask again, and a repeat acts once. The table, what else its rows hold and how an answer is written are a policy.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';

/** An answer is stored for 24 hours. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** A call with its key, and what the key stands for. */
export interface KeyedCall {
  readonly caller: string;
  readonly operation: string;
  readonly key: string;
  /** A hash of everything that the caller decided. */
  readonly fingerprint: string;
  readonly nowMs: number;
}

/** Where answers are kept. Names of tables and columns stay as they are: databases that exist have them. */
export interface AnswerTable {
  readonly table: string;
  readonly caller: string;
  readonly answer: string;
  /** One more column of the user's own. */
  readonly extra: string;
  /** When a row was written, or when it ends. */
  readonly time: { readonly column: string; readonly is: 'written' | 'end' };
  /** The number of expired rows that one call clears away, so that no call pays for a whole day of others. */
  readonly clearedPerCall: number;
}

export interface KeptAnswer {
  /** Null while the call is still being carried out elsewhere. */
  readonly answer: string | null;
  readonly extra: SqlValue;
}

export interface AnswerStore {
  /**
   * The answer stored for this call, or undefined when it is the first of its key.
   * @throws PlatformError `conflict`, reason `idempotency_key_reused`, when the key came with another input before.
   */
  recall(call: KeyedCall): KeptAnswer | undefined;
  /** Keeps an answer under the call's key, in place of what was there. */
  keep(call: KeyedCall, answer: KeptAnswer): void;
  /** Makes the key as if it was never used. */
  forget(call: KeyedCall): void;
  /** Clears expired rows away, the oldest first; answers how many there were. */
  clear(nowMs: number, limit?: number): number;
}

/** A table with its statements: texts that are the same at every call, so that an engine prepares each of them once. */
export type DefinedAnswerTable = AnswerTable & { readonly sql: ReturnType<typeof statementsOf> };

export function defineAnswerTable(policy: AnswerTable): DefinedAnswerTable {
  return { ...policy, sql: statementsOf(policy) };
}

function statementsOf({ table, caller, answer, extra, time }: AnswerTable) {
  const key = `${caller} = ? AND operation = ? AND key = ?`;
  return {
    recall: `SELECT fingerprint, ${answer} AS answer, ${extra} AS extra FROM ${table} WHERE ${key} AND ${time.column} > ?`,
    keep: `INSERT OR REPLACE INTO ${table} (${caller}, operation, key, fingerprint, ${answer}, ${extra}, ${time.column})
      VALUES (?, ?, ?, ?, ?, ?, ?)`,
    forget: `DELETE FROM ${table} WHERE ${key}`,
    expired: `SELECT ${caller} AS caller, operation, key FROM ${table} WHERE ${time.column} <= ? ORDER BY ${time.column} LIMIT ? + 0`,
  };
}

export function makeAnswerStore(db: SqlDatabase, policy: DefinedAnswerTable): AnswerStore {
  const { sql } = policy;
  /** The time that a row is written with, and the one up to which rows have expired. */
  const written = (nowMs: number): number => (policy.time.is === 'end' ? nowMs + KEPT_MS : nowMs);
  const expired = (nowMs: number): number => (policy.time.is === 'end' ? nowMs : nowMs - KEPT_MS);
  const keyOf = ({ caller, operation, key }: Pick<KeyedCall, 'caller' | 'operation' | 'key'>) =>
    [caller, operation, key] as const;

  const clear: AnswerStore['clear'] = (nowMs, limit = policy.clearedPerCall) => {
    const rows = db.all<Pick<KeyedCall, 'caller' | 'operation' | 'key'>>(sql.expired, expired(nowMs), limit);
    for (const row of rows) db.run(sql.forget, ...keyOf(row));
    return rows.length;
  };

  return {
    clear,
    recall: (call) => {
      const row = db.get<KeptAnswer & { readonly fingerprint: string }>(
        sql.recall,
        ...keyOf(call),
        expired(call.nowMs),
      );
      if (!row) return undefined;
      if (row.fingerprint !== call.fingerprint)
        throw new PlatformError(
          'conflict',
          'This idempotency key was used before with a different input. Use a fresh key for a new request.',
          { reason: 'idempotency_key_reused' },
        );
      return { answer: row.answer, extra: row.extra };
    },
    keep: (call, { answer, extra }) => {
      clear(call.nowMs);
      db.run(sql.keep, ...keyOf(call), call.fingerprint, answer, extra, written(call.nowMs));
    },
    forget: (call) => void db.run(sql.forget, ...keyOf(call)),
  };
}
