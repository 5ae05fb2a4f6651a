/** What can be done with host names, but for their verification. */
import { PlatformError } from '@freehold/contracts';
import {
  hostnamesBind,
  hostnamesDelete,
  hostnamesList,
  hostnamesSetStatus,
} from '../declarations/hostnames.ts';
import type { HostnameRecord } from '../declarations/records.ts';
import { type AuditEntry, type Change, change, planned, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { loadScope, requireScope } from '../scopes/store.ts';
import { requireActiveTenant } from '../tenants/store.ts';
import { mintChallengeToken } from './challenge.ts';
import { isPlatformGiven, isReserved, parseHostname, refuseBareSuffix } from './host-name.ts';
import {
  deleteHostname,
  type HostnameRow,
  hostnameOfRow,
  listHostnames,
  loadClaim,
  loadHostname,
  loadRoute,
  requireClaim,
  saveHostname,
} from './store.ts';
import { isContestable } from './verdict.ts';

const TRANSITIONS: Readonly<Record<HostnameRecord['status'], readonly HostnameRecord['status'][]>> = {
  pending: ['active'],
  verifying: ['active'],
  failed: ['active'],
  active: ['disabled'],
  disabled: ['active'],
};

export const readHostnames = read(hostnamesList, ({ db }, { query }) => ({
  value: listHostnames(db, query),
}));

export const bindHostname = change(hostnamesBind, (context, { body, ifMatch }) => {
  const { db, facts } = context;
  const hostname = parseHostname(body.hostname);
  refuseBareSuffix(hostname);
  const { tenant } = body;
  if (tenant === undefined)
    throw new PlatformError('validation_failed', 'The body is not valid. tenant: must be named', {
      errors: [{ path: 'tenant', message: 'must be named' }],
    });
  const scope = requireScope(db, { tenant, scope: body.scope });
  // Whose it is stays untold: a name must not become a way to ask who else is a customer here.
  const ours = loadClaim(db, hostname, tenant);
  requireMatch(ifMatch, ours ? String(ours.revision) : null);
  if (ours && ours.scope === scope.id && ours.surface === body.surface) return answer(200, ours, null);
  const holder = loadHostname(db, hostname);
  if (ours || (holder && !isContestable(holder)) || isReserved(hostname, facts)) throw hostnameTaken();
  requireActiveTenant(db, tenant);
  if (scope.status === 'reaped')
    throw new PlatformError(
      'invalid_transition',
      'This scope was reaped, and no name leads to it any more.',
      {
        reason: 'scope_reaped',
      },
    );
  const nowMs = context.now();
  const isGiven = isPlatformGiven(hostname, facts.baseDomains);
  const row: HostnameRow = {
    claim: `${hostname} ${scope.tenant}`,
    hostname,
    tenant: scope.tenant,
    scope: scope.id,
    surface: body.surface,
    status: isGiven ? 'active' : 'pending',
    method: isGiven ? 'platform' : null,
    token: mintChallengeToken((bytes) => context.random(bytes)),
    verifiedAtMs: isGiven ? nowMs : null,
    checkedAtMs: null,
    reason: null,
    missingSinceMs: null,
    revision: context.revision,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  saveHostname(db, row);
  return answer(201, row, { target: targetOf(row, scope.vertical), before: null, after: auditFields(row) });
});

export const setHostnameStatus = change(hostnamesSetStatus, (context, { body, actor, ifMatch }) => {
  const { db } = context;
  const before = requireClaim(db, { hostname: parseHostname(body.hostname), tenant: body.tenant });
  requireMatch(ifMatch, String(before.revision));
  if (!TRANSITIONS[before.status].includes(body.status))
    throw new PlatformError(
      'invalid_transition',
      `A host name that is ${before.status} cannot become ${body.status}.`,
    );
  const isVouched = before.status !== 'active' && before.status !== 'disabled';
  // Activating a pending name is vouching for it. A builder who could do that could serve under anybody's name.
  if (isVouched && actor.kind === 'builder')
    throw new PlatformError('forbidden', 'This host name has to be verified before it can be active.', {
      reason: 'verification_required',
    });
  if (isVouched && loadHostname(db, before.hostname)) throw hostnameTaken();
  const nowMs = context.now();
  const after: HostnameRow = {
    ...before,
    status: body.status,
    ...(isVouched ? { method: 'staff', verifiedAtMs: nowMs, reason: null } : {}),
    revision: context.revision,
    updatedAtMs: nowMs,
  };
  saveHostname(db, after);
  return answer(200, after, {
    target: targetOf(after, verticalOf(db, after)),
    before: auditFields(before),
    after: auditFields(after),
  });
});

export const unbindHostname = change(hostnamesDelete, (context, { params, query, ifMatch }) => {
  const { db } = context;
  const before = requireClaim(db, { hostname: parseHostname(params.hostname), tenant: query.tenant });
  requireMatch(ifMatch, String(before.revision));
  deleteHostname(db, before.claim);
  return {
    status: 204,
    value: null,
    audit: {
      target: targetOf(before, verticalOf(db, before)),
      before: auditFields(before),
      after: null,
    },
    rerouted: before.status === 'active',
  };
});

export const planUnbind = planned<typeof hostnamesDelete>(
  hostnamesDelete,
  ({ db }, { params, query, ifMatch }) => {
    const row = requireClaim(db, { hostname: parseHostname(params.hostname), tenant: query.tenant });
    requireMatch(ifMatch, String(row.revision));
    return {
      dryRun: true,
      hostname: hostnameOfRow(row),
      serves: row.status === 'active' && loadRoute(db, row.hostname)?.serving === true,
      others: db.get<{ n: number }>(OTHER_NAMES, row.scope, row.surface, row.claim)?.n ?? 0,
    };
  },
);

export const OTHER_NAMES = `SELECT count(*) AS n FROM hostnames
   WHERE scope = ? AND surface = ? AND claim <> ? AND status = 'active'`;

export function hostnameTaken(): PlatformError {
  return new PlatformError('conflict', 'This host name is bound already.', { reason: 'hostname_taken' });
}

function answer(status: 200 | 201, row: HostnameRow, audit: AuditEntry | null): Change<HostnameRecord> {
  const value = hostnameOfRow(row);
  return { status, value, etag: value.etag, audit, rerouted: audit !== null };
}

/** What a log row about a claim is about. */
export function targetOf(row: HostnameRow, vertical: string | null): AuditEntry['target'] {
  return { tenant: row.tenant, scope: row.scope, vertical, other: row.hostname };
}

export function verticalOf(db: Parameters<typeof loadScope>[0], row: HostnameRow): string | null {
  return loadScope(db, row)?.vertical ?? null;
}

export function auditFields({
  hostname,
  surface,
  status,
  method,
}: HostnameRow): NonNullable<AuditEntry['after']> {
  return { hostname, surface, status, method };
}
