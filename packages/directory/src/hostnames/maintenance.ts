/**
 * The platform's own work on host names: it answers their challenges, and checks the records of names in use from time to
 * time. A name whose record is gone stays served, because owners tidy up their zones and an outage would be worse. It is
 * reported, and from then on another tenant can take it over with a DNS record of its own.
 */
import type { UnitContext, UnitStub } from '@freehold/store';
import { appendAdminLog, logHead } from '../audit/admin-log.ts';
import type { LogHead } from '../declarations/records.ts';
import { appendOpsFailures } from '../operations-log/failures-store.ts';
import type { SweepUnit } from '../operations-log/recorder.ts';
import type { Deadline } from '../verticals/client.ts';
import { answerChallenge } from './challenge.ts';
import { type HostnameProbes, type LookedUp, lookUp } from './look-up.ts';
import { auditFields, targetOf, verticalOf } from './operations.ts';
import { type HostnameRow, loadChallengeBody, loadClaim, loadForRecheck, saveHostname } from './store.ts';
import { judgeHolder } from './verdict.ts';
import { missing } from './verify.ts';

export interface HostnameMaintenance {
  /** Answers a request for the document that proves a claimed name; null for every other request. */
  answerChallenge(request: Request): Promise<Response | null>;
  /** Checks every name in use that a record proved; one line each, for `recordSweep`. Once a day is enough. */
  recheck(): AsyncGenerator<SweepUnit, void, undefined>;
}

const PAGE = 50;
/** The most characters of a sweep run's unit. */
const UNIT_CHARS_MAX = 128;
const PLATFORM = { kind: 'system', id: 'hostnames', name: "The platform's own look at host names" } as const;

interface MaintenanceDeps {
  readonly directory: UnitStub<ReturnType<typeof hostnameMethods>>;
  /** Undefined: nothing is looked up. */
  readonly probes: HostnameProbes | undefined;
  readonly deadline: Deadline;
  readonly newRequestId: () => string;
  readonly publish: (head: LogHead) => Promise<void>;
}

export function makeHostnameMaintenance(deps: MaintenanceDeps): HostnameMaintenance {
  const { directory, probes } = deps;
  return {
    answerChallenge: (request) => answerChallenge(request, (claim) => directory.hostnameChallenge(claim)),

    async *recheck() {
      if (!probes) return;
      let after = '';
      for (;;) {
        const rows = await directory.hostnamesForRecheck({ after, limit: PAGE });
        for (const row of rows)
          if (row.method === 'dns' || row.method === 'http') yield await recheckOne(deps, probes, row);
        const last = rows.at(-1);
        if (!last || rows.length < PAGE) return;
        after = last.claim;
      }
    },
  };
}

async function recheckOne(
  { directory, deadline, newRequestId, publish }: MaintenanceDeps,
  probes: HostnameProbes,
  row: HostnameRow,
): Promise<SweepUnit> {
  const { hostname, token, method } = row;
  const methods = [method === 'http' ? 'http' : 'dns'] as const;
  const found = await lookUp(probes, { hostname, token, methods, holderToken: null }, deadline);
  const { record, head } = await directory.recordRecheck({ row, found, requestId: newRequestId() });
  if (head) await publish(head);
  return {
    kind: 'freshness',
    unit: hostname.slice(0, UNIT_CHARS_MAX),
    tenant: row.tenant,
    scope: row.scope,
    ...OUTCOMES[record],
  };
}

const OUTCOMES = {
  present: { outcome: 'fresh', reason: null },
  gone: { outcome: 'stale', reason: 'record_missing' },
  unknown: { outcome: 'failed', reason: 'lookup_failed' },
} as const;

export const hostnameMethods = (context: UnitContext) => ({
  hostnameChallenge: (claim: { readonly hostname: string; readonly token: string }) =>
    loadChallengeBody(context.db, claim),

  hostnamesForRecheck: (page: { readonly after: string; readonly limit: number }) =>
    loadForRecheck(context.db, page),

  /** Writes down the result for one name. Only a record that went missing, or is back, is a change. */
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
    if (record === 'gone') {
      const failure = {
        operation: 'hostnames.recheck',
        ...{ tenant: row.tenant, scope: row.scope, vertical, subject: hostname.slice(0, UNIT_CHARS_MAX) },
        reason: 'record_missing',
        detail: 'The record that proved this host name is gone. The name is served all the same.',
      };
      appendOpsFailures(db, [failure], nowMs);
    }
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
