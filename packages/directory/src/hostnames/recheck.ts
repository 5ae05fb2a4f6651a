/**
 * Looks again, from time to time, whether the records of names in use are still there. A name whose record is gone goes
 * on being served: people tidy up their zones, and an application that went dark for that would be worse. It is
 * reported, and from then on somebody else who proves the name by DNS can have it.
 */
import type { UnitContext, UnitStub } from '@freehold/store';
import { appendAdminLog, logHead } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import { appendOpsFailures } from '../operations-log/failures-store.ts';
import type { SweepUnit } from '../operations-log/recorder.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { Deadline } from '../verticals/client.ts';
import { type LookedUp, lookUp } from './look-up.ts';
import { auditFields, targetOf, verticalOf } from './operations.ts';
import type { HostnameProbes } from './probes.ts';
import { type HostnameRow, loadClaim, loadForRecheck, saveHostname } from './store.ts';
import { judgeHolder } from './verdict.ts';
import { missing } from './verify.ts';

const PAGE = 50;
/** The unit of a sweep run is no longer than this; the target of the row names the scope. */
const UNIT_CHARS_MAX = 128;
const PLATFORM = { kind: 'system', id: 'hostnames', name: "The platform's own look at host names" } as const;

export interface RecheckDeps {
  readonly directory: Pick<UnitStub<DirectoryMethods>, 'hostnamesForRecheck' | 'recordRecheck'>;
  /** Undefined: nothing is looked up. */
  readonly probes: HostnameProbes | undefined;
  readonly deadline: Deadline;
  readonly newRequestId: () => string;
  readonly publish: (head: LogHead) => Promise<void>;
}

/** Builds the sweep: one line for each name that was proven by a record, for `recordSweep`. */
export function makeHostnameRecheck({
  directory,
  probes,
  deadline,
  newRequestId,
  publish,
}: RecheckDeps): () => AsyncGenerator<SweepUnit, void, undefined> {
  const recheck = async (probe: HostnameProbes, row: HostnameRow): Promise<SweepUnit> => {
    const { hostname, token, method } = row;
    const methods = [method === 'http' ? 'http' : 'dns'] as const;
    const found = await lookUp(probe, { hostname, token, methods, holderToken: null }, deadline);
    const { record, head } = await directory.recordRecheck({ row, found, requestId: newRequestId() });
    if (head) await publish(head);
    const outcome = record === 'present' ? 'fresh' : record === 'gone' ? 'stale' : 'failed';
    return {
      kind: 'freshness',
      unit: hostname.slice(0, UNIT_CHARS_MAX),
      tenant: row.tenant,
      scope: row.scope,
      outcome,
      reason: record === 'present' ? null : record === 'gone' ? 'record_missing' : 'lookup_failed',
    };
  };

  return async function* sweep() {
    if (!probes) return;
    let after = '';
    for (;;) {
      const rows = await directory.hostnamesForRecheck({ after, limit: PAGE });
      for (const row of rows)
        if (row.method === 'dns' || row.method === 'http') yield await recheck(probes, row);
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = last.claim;
    }
  };
}

/** The unit's methods beside the operations. */
export const hostnameMethods = (context: UnitContext) => ({
  hostnamesForRecheck: (page: { readonly after: string; readonly limit: number }) =>
    loadForRecheck(context.db, page),

  /** Writes down what a look at a name in use found. Only that its record went, or came back, is a change. */
  recordRecheck: ({
    row: { hostname, tenant, token },
    found,
    requestId,
  }: {
    readonly row: HostnameRow;
    readonly found: LookedUp;
    readonly requestId: string;
  }): { readonly record: 'present' | 'gone' | 'unknown'; readonly head: LogHead | null } => {
    const { db } = context;
    const row = loadClaim(db, hostname, tenant);
    const { record, reason } = judgeHolder(row?.method ?? null, found);
    if (row?.status !== 'active' || row.token !== token) return { record, head: null };
    const nowMs = context.now();
    const checked: HostnameRow = { ...row, ...missing(row, record, nowMs), reason, checkedAtMs: nowMs };
    const isChanged = (checked.missingSinceMs === null) !== (row.missingSinceMs === null);
    if (!isChanged) {
      saveHostname(db, checked);
      return { record, head: null };
    }
    saveHostname(db, { ...checked, revision: (logHead(db)?.sequence ?? 0) + 1, updatedAtMs: nowMs });
    const vertical = verticalOf(db, row);
    if (record === 'gone')
      appendOpsFailures(
        db,
        [
          {
            operation: 'hostnames.recheck',
            tenant: row.tenant,
            scope: row.scope,
            vertical,
            subject: hostname.slice(0, UNIT_CHARS_MAX),
            reason: 'record_missing',
            detail: 'The record that proved this host name is gone. The name is served all the same.',
          },
        ],
        nowMs,
      );
    const head = appendAdminLog(
      context,
      { actor: PLATFORM, token: null, requestId, action: 'hostnames.recheck' },
      {
        target: targetOf(row, vertical),
        before: { ...auditFields(row), recordMissing: row.missingSinceMs !== null },
        after: { ...auditFields(checked), recordMissing: checked.missingSinceMs !== null },
        outcome: 'done',
      },
    );
    return { record, head };
  },
});
