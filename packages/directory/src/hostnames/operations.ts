/** Listing, binding, switching and unbinding host names. Verification: `verify.ts`. */
import { PlatformError, pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation, dryRun, planCount } from '../declarations/admin-operation.ts';
import { isReserved, parseHostname, refuseBareSuffix } from '../declarations/host-name.ts';
import { hostnameText, tag, whose } from '../declarations/hostnames.ts';
import { type HostnameRecord, hostnameRecord, hostnameStatus, surface } from '../declarations/records.ts';
import {
  type AuditEntry,
  type ChangeAnswer,
  type ChangeContext,
  change,
  planned,
  read,
} from '../lib/handlers.ts';
import { loadScope, requireScope } from '../scopes/store.ts';
import { requireActiveTenant } from '../tenants/store.ts';
import { mintChallengeToken } from './challenge.ts';
import { areaOf, BUILDER_NAMES_MAX, type GivenName, givenName, mayBind, skeletonOf } from './given-names.ts';
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

const hostnameDeletePlan = z
  .object({
    dryRun: z.literal(true),
    hostname: hostnameRecord,
    serves: z.boolean().describe('Whether requests for it are answered now: these stop'),
    others: planCount.describe('How many other active names lead to the same surface of the scope'),
  })
  .meta({ id: 'HostnameDeletePlan' });

const TRANSITIONS: Readonly<Record<HostnameRecord['status'], readonly HostnameRecord['status'][]>> = {
  pending: ['active'],
  verifying: ['active'],
  failed: ['active'],
  active: ['disabled'],
  disabled: ['active'],
};

export const hostnamesList = adminOperation({
  name: 'hostnames.list',
  summary: 'List the host names',
  tag,
  method: 'GET',
  path: '/hostnames',
  input: {
    query: z.strictObject({
      tenant: tenantId.optional().describe('Only names of this tenant'),
      scope: scopeId.optional().describe('Only names of this scope'),
      status: hostnameStatus.optional().describe('Only names in this state'),
      ...pageQuery,
    }),
  },
  output: pageOf(hostnameRecord),
  builder: 'own-tenant',
});

export const readHostnames = /* @__PURE__ */ read(hostnamesList, ({ db }, { query }) => ({
  value: listHostnames(db, query),
}));

export const hostnamesBind = adminOperation({
  name: 'hostnames.bind',
  summary: 'Bind a host name to a scope',
  description:
    'A name under localhost or under a base domain of this platform is active at once, every other one is pending until it is verified: verification.challenge says which record proves it. The same binding again answers the one that is there (200); a name that another tenant has proven, or that the platform uses or reserves, is a conflict. Below a base domain a builder binds names at and below the label of its tenant: its slug, or one that staff bound for it; every other name is the same conflict, whether or not it is bound. There no two tenants have names at and below one label, and no label directly below the domain is a reserved word or the slug of another tenant, looks like either, or is not ASCII; staff may bind a reserved or look-alike label for the tenant whose slug it is, or that held it before. The builders of a tenant bind at most 100 names (reason too_many_hostnames). A claim without a proof keeps no other tenant out. A bare public suffix (co.uk, github.io) is not valid.',
  tag,
  method: 'POST',
  path: '/hostnames',
  input: {
    body: z.strictObject({
      hostname: hostnameText,
      tenant: tenantId.optional().describe('Whose scope; a builder may leave it out'),
      scope: scopeId,
      surface: surface.default('app'),
    }),
  },
  output: hostnameRecord,
  success: 201,
  builder: 'own-tenant',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const bindHostname = /* @__PURE__ */ change(hostnamesBind, (context, { body, actor, ifMatch }) => {
  const { db, facts } = context;
  const hostname = parseHostname(body.hostname);
  refuseBareSuffix(hostname);
  const { tenant } = body;
  if (tenant === undefined)
    throw new PlatformError('validation_failed', 'The body is not valid. tenant: must be named', {
      errors: [{ path: 'tenant', message: 'must be named' }],
    });
  const scope = requireScope(db, { tenant, scope: body.scope });
  // The answer does not tell whose the name is: a builder must not learn who the other customers are.
  const ours = loadClaim(db, hostname, tenant);
  requireMatch(ifMatch, ours ? String(ours.revision) : null);
  if (ours && ours.scope === scope.id && ours.surface === body.surface)
    return { ...answer(ours, null), status: 200 };
  const isBuilder = actor.kind === 'builder';
  if (isBuilder) requireFewNames(db, tenant);
  const given = givenName(hostname, facts.baseDomains);
  if (ours || !isFree(context, { hostname, given, tenant, isBuilder })) throw hostnameTaken();
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
  const isGiven = given !== null || hostname === 'localhost';
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
    area: areaOf(hostname),
    revision: context.revision,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  saveHostname(db, row);
  return answer(row, { target: targetOf(row, scope.vertical), before: null, after: auditFields(row) });
});

/** Asks everything before it answers, so that a refusal takes the same time for every reason. */
function isFree(
  { db, facts }: Pick<ChangeContext, 'db' | 'facts'>,
  {
    hostname,
    given,
    tenant,
    isBuilder,
  }: {
    readonly hostname: string;
    readonly given: GivenName | null;
    readonly tenant: string;
    readonly isBuilder: boolean;
  },
): boolean {
  const holder = loadHostname(db, hostname);
  const isTaken = holder !== undefined && !isContestable(holder);
  const looksReserved = isReserved(skeletonOf(hostname), {
    reservedHostnames: facts.reservedHostnames.map(skeletonOf),
    baseDomains: facts.baseDomains.map(skeletonOf),
  });
  const isOfOthers = given !== null && !mayBind(db, given, { tenant, isBuilder });
  const isBare = isBuilder && hostname === 'localhost';
  return !(isTaken || isOfOthers || isBare || (given === null ? isReserved(hostname, facts) : looksReserved));
}

/** @throws PlatformError `conflict`, reason `too_many_hostnames`. */
function requireFewNames(db: SqlDatabase, tenant: string): void {
  const bound = db.get<{ n: number }>('SELECT count(*) AS n FROM hostnames WHERE tenant = ?', tenant)?.n ?? 0;
  if (bound < BUILDER_NAMES_MAX) return;
  throw new PlatformError(
    'conflict',
    `Your tenant has ${bound} host names, and its builders bind at most ${BUILDER_NAMES_MAX}. Unbind one, or ask the staff of this platform.`,
    { reason: 'too_many_hostnames' },
  );
}

export const hostnamesSetStatus = adminOperation({
  name: 'hostnames.set-status',
  summary: 'Switch a host name on or off',
  description:
    'pending, verifying or failed → active (staff vouch for the name), active ⇄ disabled. Every other step is an invalid_transition.',
  tag,
  method: 'PUT',
  path: '/hostnames/status',
  input: {
    body: z.strictObject({
      hostname: hostnameText,
      tenant: whose,
      status: z.enum(['active', 'disabled']),
    }),
  },
  output: hostnameRecord,
  builder: 'own-tenant',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const setHostnameStatus = /* @__PURE__ */ change(
  hostnamesSetStatus,
  (context, { body, actor, ifMatch }) => {
    const { db } = context;
    const before = requireClaim(db, { hostname: parseHostname(body.hostname), tenant: body.tenant });
    requireMatch(ifMatch, String(before.revision));
    if (!TRANSITIONS[before.status].includes(body.status))
      throw new PlatformError(
        'invalid_transition',
        `A host name that is ${before.status} cannot become ${body.status}.`,
      );
    const isVouched = before.status !== 'active' && before.status !== 'disabled';
    // Activating a pending name vouches for it. A builder who could do that could serve under any company's name.
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
    return answer(after, {
      target: targetOf(after, verticalOf(db, after)),
      before: auditFields(before),
      after: auditFields(after),
    });
  },
);

export const hostnamesDelete = adminOperation({
  name: 'hostnames.delete',
  summary: 'Unbind a host name',
  description:
    'It stops being served at once. Bound again, it has to be proven again, with another record. With dryRun, answers whether it is served and which other names stay.',
  tag,
  method: 'DELETE',
  path: '/hostnames/:hostname',
  input: {
    params: z.strictObject({ hostname: hostnameText }),
    query: z.strictObject({ tenant: whose, dryRun }),
  },
  output: z.null(),
  plan: hostnameDeletePlan,
  success: 204,
  builder: 'own-tenant',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const unbindHostname = /* @__PURE__ */ change(
  hostnamesDelete,
  (context, { params, query, ifMatch }) => {
    const { db } = context;
    const before = requireClaim(db, { hostname: parseHostname(params.hostname), tenant: query.tenant });
    requireMatch(ifMatch, String(before.revision));
    deleteHostname(db, before.claim);
    const audit = {
      target: targetOf(before, verticalOf(db, before)),
      before: auditFields(before),
      after: null,
    };
    return { audit, rerouted: before.status === 'active' };
  },
);

export const planUnbind = /* @__PURE__ */ planned<typeof hostnamesDelete>(
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

/** The one refusal of a name, word for word, whatever the reason: it tells nothing about other tenants. */
export function hostnameTaken(): PlatformError {
  return new PlatformError(
    'conflict',
    'This host name is taken or reserved. Below a domain of the platform a tenant has the names at and below its own label.',
    { reason: 'hostname_taken' },
  );
}

function answer(row: HostnameRow, audit: AuditEntry | null): ChangeAnswer<HostnameRecord> {
  return { value: hostnameOfRow(row), audit, rerouted: audit !== null };
}

export function targetOf(row: HostnameRow, vertical: string | null): AuditEntry['target'] {
  return { tenant: row.tenant, scope: row.scope, vertical, other: row.hostname };
}

export function verticalOf(db: Parameters<typeof loadScope>[0], row: HostnameRow): string | null {
  return loadScope(db, row)?.vertical ?? null;
}

export function auditFields(row: HostnameRow): NonNullable<AuditEntry['after']> {
  const { hostname, surface, status, method } = row;
  return { hostname, surface, status, method };
}
