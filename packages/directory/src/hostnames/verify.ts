/**
 * Verifying a host name, as far as the directory is concerned: the claim is `verifying` while its challenge is looked
 * for, and active or failed afterwards. The look-ups: `host-admin-verify.ts`.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import type { HostnameReason } from '../declarations/hostname-records.ts';
import { hostnamesVerify } from '../declarations/hostnames.ts';
import { type AuditEntry, type Change, delegated, type EndContext } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { parseHostname } from './host-name.ts';
import type { LookedUp, LookUpRequest } from './look-up.ts';
import { auditFields, hostnameTaken, targetOf, verticalOf } from './operations.ts';
import {
  countAttempts,
  type HostnameRow,
  hostnameOfRow,
  loadClaim,
  loadClaims,
  loadHostname,
  requireClaim,
  saveHostname,
} from './store.ts';
import { judgeClaim, judgeHolder } from './verdict.ts';

/** Every verification asks somebody else's servers, so that they are counted. */
const ATTEMPTS_WINDOW_MS = 10 * 60_000;
const ATTEMPTS_OF_NAME_MAX = 10;
const ATTEMPTS_OF_TENANT_MAX = 60;

/** What the look-ups need, and the claim as it was. */
export interface VerifyPrepared {
  readonly request: LookUpRequest;
  readonly before: HostnameRow;
}

/** What the look-ups found, with the claim as it was when they began. */
export interface VerifyFacts {
  readonly found: LookedUp;
  readonly before: HostnameRow;
}

export const verifyHostname = delegated<typeof hostnamesVerify, VerifyPrepared, VerifyFacts>(
  hostnamesVerify,
  {
    begin: (context, { body, ifMatch }) => {
      const { db } = context;
      const hostname = parseHostname(body.hostname);
      const before = requireClaim(db, { hostname, tenant: body.tenant });
      requireMatch(ifMatch, String(before.revision), context.resumes);
      const holder = loadHostname(db, hostname);
      const isHolder = holder?.claim === before.claim;
      // What the platform gives out has no record that could be looked for.
      if (before.method === 'platform') {
        const value = {
          hostname: hostnameOfRow(before),
          verified: true,
          reason: null,
          checks: [],
          address: null,
        };
        return { change: { status: 200, value, etag: value.hostname.etag, audit: null } };
      }
      if (holder && !isHolder && holder.method !== 'dns' && holder.method !== 'http') throw hostnameTaken();
      const counted = countAttempt(context, before);
      // A name that is served goes on being served while it is looked at again.
      const row: HostnameRow = {
        ...counted,
        status: isHolder ? before.status : 'verifying',
        revision: context.revision,
        updatedAtMs: context.now(),
      };
      saveHostname(db, row);
      return {
        intent: {
          target: targetOf(row, verticalOf(db, row)),
          before: auditFields(before),
          after: { ...auditFields(row), methods: methodsOf(body.method) },
        },
        prepared: {
          before: row,
          request: {
            hostname,
            token: row.token,
            methods: methodsOf(body.method),
            holderToken: holder && !isHolder ? holder.token : null,
          },
        },
      };
    },

    settle: (context, _call, { found, before }) => {
      const { db } = context;
      const row = loadClaim(db, before.hostname, before.tenant);
      // Unbound while it was looked at: there is nothing left that could be proven.
      if (!row || row.token !== before.token) return concluded(context, before, found, { reason: 'unbound' });
      const holder = loadHostname(db, row.hostname);
      if (holder?.claim === row.claim) return settleHolder(context, row, found);
      return settleClaim(context, row, { holder: holder ?? null, found });
    },

    undo: (context, _call, { before }) => {
      const row = loadClaim(context.db, before.hostname, before.tenant);
      if (row?.revision === context.intent && row.status === 'verifying')
        saveHostname(context.db, { ...row, status: 'failed', reason: 'lookup_failed' });
    },

    supersedes: ({ body }, earlier) => earlier?.hostname === parseHostname(body.hostname),
  },
);

function settleHolder(context: EndContext, row: HostnameRow, found: LookedUp) {
  const { record, reason } = judgeHolder(row.method, found);
  const nowMs = context.now();
  const proven = found.checks.find(({ ok }) => ok)?.method;
  const after: HostnameRow = {
    ...row,
    // What staff vouched for is proven from now on; a proof is never exchanged for a weaker one.
    ...(proven && !(row.method === 'dns' && proven === 'http') ? { method: proven } : {}),
    ...(record === 'present' ? { verifiedAtMs: nowMs } : {}),
    ...missing(row, record, nowMs),
    reason,
    checkedAtMs: nowMs,
    revision: context.revision,
    updatedAtMs: nowMs,
  };
  saveHostname(context.db, after);
  return concluded(context, after, found, { reason, verified: record === 'present', before: row });
}

function settleClaim(
  context: EndContext,
  row: HostnameRow,
  { holder, found }: { readonly holder: HostnameRow | null; readonly found: LookedUp },
) {
  const { db } = context;
  const isContested = loadClaims(db, row.hostname).some(({ claim }) => claim !== row.claim);
  const verdict = judgeClaim({ holder, isContested }, found);
  const nowMs = context.now();
  const revised = { checkedAtMs: nowMs, revision: context.revision, updatedAtMs: nowMs };
  if (verdict.proven === null) {
    const after: HostnameRow = { ...row, ...revised, status: 'failed', reason: verdict.reason };
    saveHostname(db, after);
    return concluded(context, after, found, { reason: verdict.reason, before: row });
  }
  // The one who loses comes first: at no moment do two hold a name.
  if (verdict.takesOver && holder)
    saveHostname(db, {
      ...holder,
      ...revised,
      status: 'failed',
      method: null,
      verifiedAtMs: null,
      missingSinceMs: null,
      reason: 'taken_over',
    });
  const after: HostnameRow = {
    ...row,
    ...revised,
    status: 'active',
    method: verdict.proven,
    verifiedAtMs: nowMs,
    missingSinceMs: null,
    reason: null,
  };
  saveHostname(db, after);
  const takenFrom = verdict.takesOver && holder ? { takenFrom: holder.tenant } : {};
  return concluded(context, after, found, {
    reason: null,
    verified: true,
    before: row,
    more: takenFrom,
    rerouted: true,
  });
}

function concluded(
  { db }: EndContext,
  row: HostnameRow,
  { checks, address }: LookedUp,
  {
    reason,
    verified = false,
    before = null,
    more = {},
    rerouted = false,
  }: {
    readonly reason: HostnameReason | null;
    readonly verified?: boolean;
    readonly before?: HostnameRow | null;
    readonly more?: Readonly<Record<string, unknown>>;
    readonly rerouted?: boolean;
  },
): Change {
  const hostname = hostnameOfRow(row);
  const audit: AuditEntry = {
    target: targetOf(row, verticalOf(db, row)),
    before: before && auditFields(before),
    after: { ...auditFields(row), verified, reason, ...more },
  };
  const value = { hostname, verified, reason, checks, address };
  return { status: 200, value, etag: hostname.etag, audit, rerouted };
}

/** When the record of a holder went, for as long as it is known to be gone. */
export function missing(
  { missingSinceMs }: HostnameRow,
  record: 'present' | 'gone' | 'unknown',
  nowMs: number,
): Pick<HostnameRow, 'missingSinceMs'> {
  if (record === 'present') return { missingSinceMs: null };
  return { missingSinceMs: record === 'gone' ? (missingSinceMs ?? nowMs) : missingSinceMs };
}

/** @throws PlatformError `rate_limited`, with `Retry-After` in seconds. */
function countAttempt({ db, now }: UnitContext, row: HostnameRow): HostnameRow {
  const nowMs = now();
  const isFresh = nowMs - row.attemptsSinceMs < ATTEMPTS_WINDOW_MS;
  const counted = isFresh
    ? { attempts: row.attempts + 1, attemptsSinceMs: row.attemptsSinceMs }
    : { attempts: 1, attemptsSinceMs: nowMs };
  if (counted.attempts > ATTEMPTS_OF_NAME_MAX || isTenantBusy(db, row.tenant, nowMs)) {
    const waitMs = isFresh ? row.attemptsSinceMs + ATTEMPTS_WINDOW_MS - nowMs : ATTEMPTS_WINDOW_MS;
    throw new PlatformError(
      'rate_limited',
      'This was verified very often in the last minutes. Wait until the record has had time to be seen.',
      {
        reason: 'verified_too_often',
        headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
      },
    );
  }
  return { ...row, ...counted };
}

function isTenantBusy(db: SqlDatabase, tenant: string, nowMs: number): boolean {
  return countAttempts(db, tenant, nowMs - ATTEMPTS_WINDOW_MS) >= ATTEMPTS_OF_TENANT_MAX;
}

function methodsOf(method: 'dns' | 'http' | undefined): LookUpRequest['methods'] {
  return method === undefined ? ['dns', 'http'] : [method];
}
