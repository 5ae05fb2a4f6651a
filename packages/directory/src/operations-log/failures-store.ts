/** The failures of the platform's own work in SQL. */
import { cutPage, type Page, type ScopeId, type TenantId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { OpsFailureRecord } from '../declarations/operations-log.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import { OPS_FAILURES, trim } from './retention.ts';

export interface OpsFailure {
  /** The work: `sweep.connection`. */
  readonly operation: string;
  readonly tenant: TenantId | null;
  readonly scope: ScopeId | null;
  readonly vertical: string | null;
  /** The id of its subject. */
  readonly subject: string | null;
  /** A stable word. */
  readonly reason: string;
  /** For people, without payloads and secrets. */
  readonly detail: string;
}

type OpsFailureRow = OpsFailure & { readonly sequence: number; readonly at: number };

export function appendOpsFailures(db: SqlDatabase, failures: readonly OpsFailure[], nowMs: number): void {
  if (failures.length === 0) return;
  for (const failure of failures) {
    db.run(
      `INSERT INTO ops_failures (at, operation, tenant, scope, vertical, subject, reason, detail)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[nowMs, failure.operation, failure.tenant, failure.scope, failure.vertical, failure.subject],
      ...[failure.reason, failure.detail],
    );
  }
  trim(db, OPS_FAILURES, { shelves: failures.map(({ tenant }) => ({ tenant })), nowMs });
}

/** For so long the same failure of the same subject is not logged again: minutely retries would hide all others. */
const AGAIN_MS = 60 * 60 * 1000;

export const TOLD_ALREADY = `SELECT 1 FROM ops_failures
   WHERE subject = ? AND operation = ? AND at > ? AND at <= ? AND reason = ? LIMIT 1`;

/** Whether this failure was logged within the last hour. */
export function isLogged(
  db: SqlDatabase,
  { subject, operation, reason }: OpsFailure,
  nowMs: number,
): boolean {
  return db.get(TOLD_ALREADY, subject, operation, nowMs - AGAIN_MS, nowMs, reason) !== undefined;
}

export interface OpsFailureFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly scope?: string | undefined;
  readonly operation?: string | undefined;
}

export function opsFailuresPage(filter: OpsFailureFilter): Statement {
  const { tenant, scope, operation } = filter;
  return pageStatement(
    {
      select:
        'SELECT sequence, at, operation, tenant, scope, vertical, subject, reason, detail FROM ops_failures',
      where: { tenant, scope, operation },
      key: 'sequence',
      numeric: true,
      order: 'DESC',
    },
    filter,
  );
}

export function listOpsFailures(db: SqlDatabase, filter: OpsFailureFilter): Page<OpsFailureRecord> {
  const { sql, params } = opsFailuresPage(filter);
  return cutPage(
    db.all<OpsFailureRow>(sql, ...params),
    filter.limit,
    (row) => String(row.sequence),
    ({ at, ...row }) => ({ ...row, at: toTimestamp(at) }),
  );
}
