/** The failures of the platform's own work in SQL. */
import type { ScopeId, TenantId } from '@freehold/contracts';
import {
  computed,
  defineTable,
  integer,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { OpsFailureRecord } from '../declarations/operations-log.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import { OPS_FAILURES, trim } from './retention.ts';

const failures = defineTable('ops_failures', ['sequence'], {
  sequence: computed('sequence', integer()),
  /** The work: `sweep.connection`. */
  operation: text(),
  tenant: nullable(text<TenantId>()),
  scope: nullable(text<ScopeId>()),
  vertical: nullable(text()),
  /** The id of its subject. */
  subject: nullable(text()),
  /** A stable word. */
  reason: text(),
  /** For people, without payloads and secrets. */
  detail: text(),
  atMs: time(),
});
export type OpsFailure = Omit<RowOf<typeof failures>, 'sequence' | 'atMs'>;

export function appendOpsFailures(db: SqlDatabase, added: readonly OpsFailure[], nowMs: number): void {
  if (added.length === 0) return;
  for (const failure of added) failures.insert(db, { ...failure, atMs: nowMs });
  trim(db, OPS_FAILURES, { shelves: added.map(({ tenant }) => ({ tenant })), nowMs });
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

export const { statement: opsFailuresPage, list: listOpsFailures } = definePages({
  from: failures,
  where: ({ tenant, scope, operation }: OpsFailureFilter) => ({ tenant, scope, operation }),
  key: 'sequence',
  numeric: true,
  order: 'DESC',
  item: failures.recording<OpsFailureRecord>(),
});
