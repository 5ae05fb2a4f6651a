/**
 * Verifying a host name, as far as the directory is concerned: the claim is `verifying` while its challenge is looked
 * for, and active or failed afterwards. The look-ups: `host-admin-verify.ts`.
 */

import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { HostnameReason } from '../declarations/hostname-records.ts';
import { hostnameChecks, hostnameReason } from '../declarations/hostname-records.ts';
import { hostnameText, tag, whose } from '../declarations/hostnames.ts';
import { hostnameRecord } from '../declarations/records.ts';
import { type AuditEntry, type Change, delegated, type EndContext } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { countAttempt } from './attempts.ts';
import { challengeOf } from './challenge.ts';
import { parseHostname } from './host-name.ts';
import { wasHeldByOther } from './hostname-history.ts';
import type { LookedUp, LookUpRequest } from './look-up.ts';
import { auditFields, hostnameTaken, targetOf, verticalOf } from './operations.ts';
import {
  type HostnameRow,
  hostnameOfRow,
  loadClaim,
  loadClaims,
  loadHostname,
  requireClaim,
  saveHostname,
} from './store.ts';
import { judgeClaim, judgeHolder } from './verdict.ts';

/** What the look-ups need, and the claim as it was. */
export interface VerifyPrepared {
  readonly request: LookUpRequest;
  readonly before: HostnameRow;
}

/** What the look-ups found, with the claim as it was when they began. */
export interface VerifyFacts {
  readonly found: LookedUp;
  readonly before: HostnameRow;
  /** Of whoever held the name then, and whose record was looked for too; null for nobody. */
  readonly holderToken: string | null;
}

export const hostnamesVerify = adminOperation({
  name: 'hostnames.verify',
  summary: 'Look for the record that proves a host name',
  description:
    'Looks for the TXT record, and for the document at the name; either proves it. What was looked up, expected and observed is in the answer, also when nothing is proven: then the name is failed, and can be verified again. A name that is active stays so and is looked at again. A DNS record takes the name over from a tenant that proved it by the document only, or whose own record is gone. The document proves a name that no other tenant claims or ever held; every other one takes a DNS record (dns_required). At most 10 times in 10 minutes for one name, and 60 times for all names of a tenant.',
  tag,
  method: 'POST',
  path: '/hostnames/verify',
  input: {
    body: z.strictObject({
      hostname: hostnameText,
      tenant: whose,
      method: z.enum(['dns', 'http']).optional().describe('Default: both'),
    }),
  },
  output: z
    .object({
      hostname: hostnameRecord,
      verified: z.boolean().describe('Whether this look proved the name'),
      reason: hostnameReason.nullable(),
      advice: z.string().nullable().describe('Why DNS is required and which record to set; null otherwise'),
      ...hostnameChecks.shape,
    })
    .meta({ id: 'HostnameVerified' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed', 'rate_limited', 'unsupported', 'runtime_fault'],
});

export const verifyHostname = /* @__PURE__ */ delegated<typeof hostnamesVerify, VerifyPrepared, VerifyFacts>(
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
          advice: null,
          checks: [],
          address: null,
        };
        return { change: { status: 200, value, etag: value.hostname.etag, audit: null } };
      }
      if (holder && !isHolder && holder.method !== 'dns' && holder.method !== 'http') throw hostnameTaken();
      countAttempt(context, before);
      // A name that is served goes on being served while it is looked at again.
      const row: HostnameRow = {
        ...before,
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

    settle: (context, _call, { found, before, holderToken }) => {
      const { db } = context;
      const row = loadClaim(db, before.hostname, before.tenant);
      // Unbound while it was looked at: there is nothing left that could be proven.
      if (!row || row.token !== before.token) return concluded(context, before, found, { reason: 'unbound' });
      const holder = loadHostname(db, row.hostname);
      if (holder?.claim === row.claim) return settleHolder(context, row, found);
      return settleClaim(context, row, { holder: holder ?? null, found, holderToken });
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
  { holder, found, holderToken }: { readonly holder: HostnameRow | null } & Omit<VerifyFacts, 'before'>,
) {
  const { db } = context;
  const isContested = loadClaims(db, row.hostname).some(({ claim }) => claim !== row.claim);
  // The name may have come to somebody else while it was looked at: nobody knows whether their record is there.
  const holderPresent = holder?.token === holderToken ? found.holderPresent : null;
  const verdict = judgeClaim(
    { holder, isContested, wasHeldByOther: wasHeldByOther(db, row) },
    { checks: found.checks, holderPresent },
  );
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
  const advice = reason === 'dns_required' ? adviceOn(row) : null;
  const value = { hostname, verified, reason, advice, checks, address };
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

/** Who the other tenant is, and whether it is still one, stays untold. */
function adviceOn({ hostname, token }: HostnameRow): string {
  const { name, value } = challengeOf(hostname, token).dns;
  return `Another tenant claims this name or held it before, and where it leads does not tell whose it is now. Set a TXT record at ${name} with the value ${value}, and verify it again.`;
}

function methodsOf(method: 'dns' | 'http' | undefined): LookUpRequest['methods'] {
  return method === undefined ? ['dns', 'http'] : [method];
}
