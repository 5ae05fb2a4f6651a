/** Usage lines in SQL: each is stored once, and folded into its day in the same transaction. */
import type { ModelUsage, ScopeId, TenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { addToMeters, dayOf } from './fold-store.ts';
import { picodollarsOf, splitOf } from './money.ts';

/** Where lines come from, by the directory's own record and not by the line. */
interface UsageOrigin {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly vertical: string;
  readonly version: string;
  readonly billable: boolean;
}

export interface UsageEntry {
  /** The platform request that carried it. */
  readonly request: string;
  readonly atMs: number;
  readonly line: ModelUsage;
}

/** Lines are stored for inspection for this long; the folded days stay. */
const LINES_KEPT_MS = 90 * 24 * 60 * 60 * 1000;
const TRIMMED_MAX = 500;

export const LINE_TAKEN = 'SELECT 1 AS taken FROM model_usage_lines WHERE scope = ? AND request = ?';

/** Stores a line, unless it was stored before. @returns whether it was new. */
export function takeLine(db: SqlDatabase, origin: UsageOrigin, { request, atMs, line }: UsageEntry): boolean {
  const { tenant, scope, vertical, version, billable } = origin;
  if (db.get(LINE_TAKEN, scope, request)) return false;
  db.run(
    `INSERT INTO model_usage_lines (scope, request, tenant, vertical, version, operation, at, line, settled)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`,
    ...[scope, request, tenant, vertical, version, line.attribution.operation, atMs, JSON.stringify(line)],
  );
  const day = dayOf(atMs);
  addToDay(db, { ...origin, day }, line);
  if (billable)
    addToMeters(db, { tenant, day }, [
      ['model.calls', 1],
      ['model.input-tokens', line.inputTokens],
      ['model.output-tokens', line.outputTokens],
    ]);
  return true;
}

function addToDay(db: SqlDatabase, key: UsageOrigin & { readonly day: string }, line: ModelUsage): void {
  const list = splitOf(line.listUsd === null ? 0n : picodollarsOf(line.listUsd));
  db.run(
    `INSERT INTO model_usage_days (tenant, model, day, vertical, version, billable, reported, priced, calls,
       input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
       list_micro_usd, list_pico_usd)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET calls = calls + 1,
       input_tokens = input_tokens + excluded.input_tokens,
       cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
       cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
       output_tokens = output_tokens + excluded.output_tokens,
       reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
       list_micro_usd = list_micro_usd + excluded.list_micro_usd,
       list_pico_usd = list_pico_usd + excluded.list_pico_usd`,
    ...[key.tenant, line.spec, key.day, key.vertical, key.version, key.billable ? 1 : 0],
    ...[line.reported ? 1 : 0, line.listUsd === null ? 0 : 1, line.inputTokens, line.cachedInputTokens],
    ...[line.cacheWriteTokens, line.outputTokens, line.reasoningTokens, list.micro, list.pico],
  );
}

/** The scope was told and shows these requests no more, so that their lines may be deleted when they are old. */
export function markSettled(db: SqlDatabase, scope: string, requests: readonly string[]): void {
  for (const request of requests)
    db.run('UPDATE model_usage_lines SET settled = 1 WHERE scope = ? AND request = ?', scope, request);
}

export const AGED_LINES = `DELETE FROM model_usage_lines WHERE (scope, request) IN
  (SELECT scope, request FROM model_usage_lines WHERE settled = 1 AND at < ? ORDER BY at LIMIT ${TRIMMED_MAX})`;

/** Deletes old lines. A line that its scope could still show stays: it would be counted twice. */
export function trimLines(db: SqlDatabase, nowMs: number): void {
  db.run(AGED_LINES, nowMs - LINES_KEPT_MS);
}
