/**
 * Verifying a host name: the claim is `verifying` while its challenge is looked for, and active or failed afterwards. The
 * look-ups happen between the transaction that begins and the one that writes down what they prove.
 */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { parseHostname } from '../declarations/host-name.ts';
import {
  type HostnameReason,
  hostnameChecks,
  hostnameReason,
  hostnameText,
  tag,
  whose,
} from '../declarations/hostnames.ts';
import { hostnameRecord } from '../declarations/records.ts';
import type { Effect } from '../lib/effects.ts';
import { type ChangeAnswer, delegated, type EndContext } from '../lib/handlers.ts';
import { challengeOf } from './challenge.ts';
import { wasHeldByOther } from './hostname-history.ts';
import { type HostnameProbes, type LookedUp, type LookUpRequest, lookUp } from './look-up.ts';
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

interface VerifyPrepared {
  readonly request: LookUpRequest;
  /** The claim when the look-ups began. */
  readonly before: HostnameRow;
}

interface VerifyFacts {
  readonly found: LookedUp;
  readonly before: HostnameRow;
  /** The token of the holder at that time, whose record was looked for too; null without a holder. */
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
  builder: 'own-tenant',
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
      // A name that the platform gives out has no record to look for.
      if (before.method === 'platform') {
        const shown = hostnameOfRow(before);
        const value = {
          hostname: shown,
          verified: true,
          reason: null,
          advice: null,
          checks: [],
          address: null,
        };
        return { change: { value, etag: shown.etag, audit: null } };
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
      const methods = body.method === undefined ? (['dns', 'http'] as const) : [body.method];
      const holderToken = holder && !isHolder ? holder.token : null;
      return {
        intent: {
          target: targetOf(row, verticalOf(db, row)),
          before: auditFields(before),
          after: { ...auditFields(row), methods },
        },
        prepared: { before: row, request: { hostname, token: row.token, methods, holderToken } },
      };
    },

    settle: (context, _call, { found, before, holderToken }) => {
      const { db } = context;
      const row = loadClaim(db, before.hostname, before.tenant);
      // The name was unbound during the look-ups: no claim is left to prove.
      if (!row || row.token !== before.token) return answer(context, before, found, { reason: 'unbound' });
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

/** @param probes undefined: nothing is looked up here, and verifying is `unsupported` (501), reason `no_resolver`. */
export function makeVerifyEffect(probes: HostnameProbes | undefined): Effect<VerifyPrepared> {
  const requireProbes = (): HostnameProbes => {
    if (probes) return probes;
    throw new PlatformError(
      'unsupported',
      'This platform looks up no host names; its staff vouch for them.',
      {
        reason: 'no_resolver',
      },
    );
  };
  return {
    check: async () => void requireProbes(),
    run: async ({ deadline }, _call, { request, before }) => {
      const found = await lookUp(requireProbes(), request, deadline);
      return { facts: { found, before, holderToken: request.holderToken } satisfies VerifyFacts };
    },
  };
}

function settleHolder(context: EndContext, row: HostnameRow, found: LookedUp) {
  const { record, reason } = judgeHolder(row.method, found);
  const nowMs = context.now();
  const proven = found.checks.find(({ ok }) => ok)?.method;
  const after: HostnameRow = {
    ...row,
    // A name that staff vouched for is proven from now on; a proof is never replaced by a weaker one.
    ...(proven && !(row.method === 'dns' && proven === 'http') ? { method: proven } : {}),
    ...(record === 'present' ? { verifiedAtMs: nowMs } : {}),
    ...missing(row, record, nowMs),
    reason,
    checkedAtMs: nowMs,
    revision: context.revision,
    updatedAtMs: nowMs,
  };
  saveHostname(context.db, after);
  return answer(context, after, found, { reason, verified: record === 'present', before: row });
}

function settleClaim(
  context: EndContext,
  row: HostnameRow,
  { holder, found, holderToken }: { readonly holder: HostnameRow | null } & Omit<VerifyFacts, 'before'>,
) {
  const { db } = context;
  const isContested = loadClaims(db, row.hostname).some(({ claim }) => claim !== row.claim);
  // The holder may have changed during the look-ups: whether the record of a new holder is there is not known.
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
    return answer(context, after, found, { reason: verdict.reason, before: row });
  }
  // The loser is saved first: at no moment do two tenants hold a name.
  if (verdict.takesOver && holder)
    saveHostname(db, {
      ...holder,
      ...revised,
      ...{ status: 'failed', method: null, verifiedAtMs: null, missingSinceMs: null, reason: 'taken_over' },
    });
  const after: HostnameRow = {
    ...row,
    ...revised,
    ...{ status: 'active', method: verdict.proven, verifiedAtMs: nowMs, missingSinceMs: null, reason: null },
  };
  saveHostname(db, after);
  const more = verdict.takesOver && holder ? { takenFrom: holder.tenant } : {};
  return answer(context, after, found, { reason: null, verified: true, before: row, more, rerouted: true });
}

function answer(
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
): ChangeAnswer {
  const hostname = hostnameOfRow(row);
  const audit = {
    target: targetOf(row, verticalOf(db, row)),
    before: before && auditFields(before),
    after: { ...auditFields(row), verified, reason, ...more },
  };
  const advice = reason === 'dns_required' ? adviceOn(row) : null;
  const value = { hostname, verified, reason, advice, checks, address };
  return { value, etag: hostname.etag, audit, rerouted };
}

/** Since when the record of a holder is missing: null once it is there, unchanged where the look-up did not tell. */
export function missing(
  { missingSinceMs }: HostnameRow,
  record: 'present' | 'gone' | 'unknown',
  nowMs: number,
): Pick<HostnameRow, 'missingSinceMs'> {
  if (record === 'present') return { missingSinceMs: null };
  return { missingSinceMs: record === 'gone' ? (missingSinceMs ?? nowMs) : missingSinceMs };
}

/** Does not tell which other tenant it is, nor whether that tenant still exists. */
function adviceOn({ hostname, token }: HostnameRow): string {
  const { name, value } = challengeOf(hostname, token).dns;
  return `Another tenant claims this name or held it before, and where it leads does not tell whose it is now. Set a TXT record at ${name} with the value ${value}, and verify it again.`;
}

const WINDOW_MS = 10 * 60_000;
const OF_NAME_MAX = 10;
const OF_TENANT_MAX = 60;

interface AttemptsRow {
  readonly attempts: number;
  /** When the first of them was. */
  readonly sinceMs: number;
}

export const ATTEMPTS_OF_TENANT =
  'SELECT sum(attempts) AS attempts, min(since) AS sinceMs FROM hostname_attempts WHERE tenant = ?';

/**
 * Counts one more verification, because each asks the name servers of others. Counted by tenant and name, not by claim: a
 * name that is unbound and bound again is the same name to those servers.
 * @throws PlatformError `rate_limited`, reason `verified_too_often`, with `Retry-After` in seconds.
 */
function countAttempt(
  { db, now }: UnitContext,
  { tenant, hostname }: { readonly tenant: string; readonly hostname: string },
): void {
  const nowMs = now();
  db.run('DELETE FROM hostname_attempts WHERE since <= ?', nowMs - WINDOW_MS);
  // Attempts dated into the future by a wrong clock would lock the tenant out until time catches up.
  db.run('DELETE FROM hostname_attempts WHERE since > ?', nowMs + WINDOW_MS);
  const ofName = db.get<AttemptsRow>(
    'SELECT attempts, since AS sinceMs FROM hostname_attempts WHERE tenant = ? AND hostname = ?',
    tenant,
    hostname,
  );
  if (ofName && ofName.attempts >= OF_NAME_MAX) throw tooOften(ofName.sinceMs, nowMs);
  const ofTenant = db.get<{ attempts: number | null; sinceMs: number | null }>(ATTEMPTS_OF_TENANT, tenant);
  if ((ofTenant?.attempts ?? 0) >= OF_TENANT_MAX) throw tooOften(ofTenant?.sinceMs ?? 0, nowMs);
  db.run(
    `INSERT INTO hostname_attempts (tenant, hostname, attempts, since) VALUES (?, ?, 1, ?)
     ON CONFLICT (tenant, hostname) DO UPDATE SET attempts = attempts + 1`,
    ...[tenant, hostname, nowMs],
  );
}

function tooOften(sinceMs: number, nowMs: number): PlatformError {
  const waitMs = sinceMs + WINDOW_MS - nowMs;
  return new PlatformError(
    'rate_limited',
    'This was verified very often in the last minutes. Wait until the record has had time to be seen.',
    {
      reason: 'verified_too_often',
      headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
    },
  );
}
