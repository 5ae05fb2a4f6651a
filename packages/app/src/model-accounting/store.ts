/** The SQL of model usage: a sum for each month, and the calls in progress. */
import type { SqlDatabase } from '@freehold/store';

/** The tables of model usage: an application that asks models puts this text into one of its migrations. */
export const MODEL_TABLES = `
CREATE TABLE model_months (
  month TEXT PRIMARY KEY,
  tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE model_calls (
  id TEXT PRIMARY KEY,
  month TEXT NOT NULL,
  reserved INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

export interface OpenCall {
  readonly month: string;
  /** In tokens. */
  readonly reserved: number;
}

/** The tokens of a month's calls; a call in progress counts with its maximum. */
export function tokensOf(sql: SqlDatabase, month: string): number {
  return sql.get<{ tokens: number }>('SELECT tokens FROM model_months WHERE month = ?', month)?.tokens ?? 0;
}

export function addTokens(sql: SqlDatabase, month: string, tokens: number): void {
  sql.run(
    'INSERT INTO model_months (month, tokens) VALUES (?, ?) ON CONFLICT (month) DO UPDATE SET tokens = tokens + excluded.tokens',
    month,
    tokens,
  );
}

export function insertCall(sql: SqlDatabase, id: string, { month, reserved }: OpenCall, nowMs: number): void {
  sql.run(
    'INSERT INTO model_calls (id, month, reserved, at) VALUES (?, ?, ?, ?)',
    id,
    month,
    reserved,
    nowMs,
  );
}

/** Removes a call in progress; undefined when it is over already. */
export function takeCall(sql: SqlDatabase, id: string): OpenCall | undefined {
  const call = sql.get<OpenCall>('SELECT month, reserved FROM model_calls WHERE id = ?', id);
  if (call) sql.run('DELETE FROM model_calls WHERE id = ?', id);
  return call;
}

/** The number of requests that wait for the platform, up to a limit. Read from the spine, which is open to read. */
export function countWaiting(sql: SqlDatabase, limit: number): number {
  const row = sql.get<{ count: number }>(
    `SELECT count(*) AS count FROM (SELECT 1 FROM _spine_platform_requests WHERE status = 'pending' LIMIT ?)`,
    limit,
  );
  return row?.count ?? 0;
}
