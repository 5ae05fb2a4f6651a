/** The operations of tenants. */
import {
  ID_PREFIXES,
  lineOfText,
  PlatformError,
  pageOf,
  pageQuery,
  slug,
  type TenantId,
  tenantId,
} from '@freehold/contracts';
import type { SqlValue, UnitContext } from '@freehold/store';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import {
  adminOperation,
  planCount as count,
  dryRunQuery,
  servingEffect,
} from '../declarations/admin-operation.ts';
import type { TenantRecord } from '../declarations/records.ts';
import { tenantRecord, tenantStatus } from '../declarations/records.ts';
import { params, tag } from '../declarations/tenants.ts';
import { defineFeature } from '../lib/feature.ts';
import { type AuditEntry, type CallOf, type Change, change, planned, read } from '../lib/handlers.ts';
import { loadUnfinished } from '../long-work/store.ts';
import {
  insertTenant,
  listTenants,
  loadTenantBySlug,
  reapSubject,
  renameTenant,
  requireTenant,
  type TenantRow,
  tenantOfRow,
  updateTenantStatus,
} from './store.ts';

export const tenantStatusPlan = z
  .object({
    dryRun: z.literal(true),
    tenant: tenantId,
    slug,
    from: tenantStatus,
    to: tenantStatus,
    effect: servingEffect.describe(
      'The effect on the counted things. none where they work neither now nor afterwards',
    ),
    counts: z.object({
      scopes: count.describe('Active ones, with their requests, timers, deliveries and sessions'),
      hostnames: count.describe('Active names of these'),
      pushTokens: count.describe('Those that are neither revoked nor expired'),
      builders: count.describe('People on the roster who are its builders'),
    }),
  })
  .meta({ id: 'TenantStatusPlan' });

/** The states that may follow each state. Only a reap leads to `reaped`, which is final. */
const TRANSITIONS: Readonly<Record<TenantRecord['status'], readonly TenantRecord['status'][]>> = {
  active: ['suspended', 'deleting'],
  suspended: ['active', 'deleting'],
  deleting: ['active'],
  reaped: [],
};

export const tenantsList = adminOperation({
  name: 'tenants.list',
  summary: 'List the tenants',
  description: 'Oldest first. A builder sees its own tenant only.',
  tag,
  method: 'GET',
  path: '/tenants',
  input: {
    query: z.strictObject({
      status: tenantStatus.optional().describe('Only tenants in this state'),
      q: z.string().min(1).max(100).optional().describe('How the slug or the name begins'),
      ...pageQuery,
    }),
  },
  output: pageOf(tenantRecord),
  success: 200,
  builder: 'own-tenant',
  pushToken: 'deploy',
  audit: 'none',
});

const readTenants = /* @__PURE__ */ read(tenantsList, ({ db }, { query, actor }) => ({
  value: listTenants(db, { ...query, only: actor.kind === 'builder' ? actor.tenant : undefined }),
}));

export const tenantsGet = adminOperation({
  name: 'tenants.get',
  summary: 'Get one tenant',
  tag,
  method: 'GET',
  path: '/tenants/:tenant',
  input: { params },
  output: tenantRecord,
  success: 200,
  builder: 'own-tenant',
  pushToken: 'deploy',
  audit: 'none',
  etag: true,
  problems: ['not_found'],
});

const readTenant = /* @__PURE__ */ read(tenantsGet, ({ db }, { params }) => {
  const tenant = tenantOfRow(requireTenant(db, params.tenant));
  return { value: tenant, etag: tenant.etag };
});

export const tenantsCreate = adminOperation({
  name: 'tenants.create',
  summary: 'Create a tenant',
  description:
    'Idempotent by slug: the same name answers the tenant that is there (200), another name is a conflict. A slug is never used twice.',
  tag,
  method: 'POST',
  path: '/tenants',
  input: { body: z.strictObject({ slug, name: lineOfText(200) }) },
  output: tenantRecord,
  success: 201,
  builder: 'none',
  vertical: 'tenant-provisioner',
  audit: 'audit',
  etag: true,
  problems: ['conflict', 'precondition_failed'],
});

const createTenant = /* @__PURE__ */ change(tenantsCreate, (context, { body, ifMatch }) => {
  const { db } = context;
  const found = loadTenantBySlug(db, body.slug);
  requireMatch(ifMatch, found ? String(found.revision) : null);
  if (found) {
    // A reaped tenant keeps its slug as a tombstone, so that an old address never leads to another tenant.
    if (found.status === 'reaped')
      throw new PlatformError('conflict', 'This slug was used before and is never used again.', {
        reason: 'slug_retired',
      });
    if (found.name !== body.name)
      throw new PlatformError('conflict', 'There is a tenant with this slug and another name.', {
        reason: 'slug_taken',
      });
    return answer(200, found, null);
  }
  const nowMs = context.now();
  const row: TenantRow = {
    id: context.newId(ID_PREFIXES.tenant) as TenantId,
    slug: body.slug,
    name: body.name,
    status: 'active',
    revision: context.revision,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  insertTenant(db, row);
  return answer(201, row, { target: targetOf(row), before: null, after: auditFields(row) });
});

export const tenantsUpdate = adminOperation({
  name: 'tenants.update',
  summary: 'Rename a tenant',
  description: 'A slug stays what it is: addresses are made of it.',
  tag,
  method: 'PATCH',
  path: '/tenants/:tenant',
  input: { params, body: z.strictObject({ name: lineOfText(200) }) },
  output: tenantRecord,
  success: 200,
  builder: 'none',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

const updateTenant = /* @__PURE__ */ change(tenantsUpdate, (context, { params, body, ifMatch }) => {
  const before = requireTenant(context.db, params.tenant);
  requireMatch(ifMatch, String(before.revision));
  if (before.status === 'reaped')
    throw new PlatformError(
      'invalid_transition',
      'A tenant that is reaped is a tombstone and stays as it is.',
    );
  if (before.name === body.name) return answer(200, before, null);
  const after: TenantRow = {
    ...before,
    name: body.name,
    revision: context.revision,
    updatedAtMs: context.now(),
  };
  renameTenant(context.db, after);
  const audit = { target: targetOf(after), before: auditFields(before), after: auditFields(after) };
  return answer(200, after, audit);
});

export const tenantsSetStatus = adminOperation({
  name: 'tenants.set-status',
  summary: 'Suspend, resume or begin to delete a tenant',
  description:
    'active ⇄ suspended; active or suspended → deleting → active. Every other step is an invalid_transition. A tenant that is not active serves no requests, and its push tokens stop working at once. With dryRun, answers how much would stop or go on.',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/status',
  input: {
    params,
    query: dryRunQuery,
    body: z.strictObject({ status: z.enum(['active', 'suspended', 'deleting']) }),
  },
  output: tenantRecord,
  plan: tenantStatusPlan,
  success: 200,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

const setTenantStatus = /* @__PURE__ */ change(tenantsSetStatus, (context, call) => {
  const { body } = call;
  const before = requireStep(context, call);
  const after: TenantRow = {
    ...before,
    status: body.status,
    revision: context.revision,
    updatedAtMs: context.now(),
  };
  updateTenantStatus(context.db, after);
  const audit = { target: targetOf(after), before: auditFields(before), after: auditFields(after) };
  return { ...answer(200, after, audit), rerouted: true };
});

/** Counts the things that work while their tenant is active. The first `?` is the tenant. */
export const SERVED = {
  scopes: "SELECT count(*) AS n FROM scopes WHERE tenant = ? AND status = 'active'",
  hostnames: `SELECT count(*) AS n FROM hostnames h JOIN scopes s ON s.id = h.scope
    WHERE h.tenant = ? AND h.status = 'active' AND s.status = 'active'`,
  pushTokens: `SELECT count(*) AS n FROM tokens
    WHERE tenant = ? AND kind = 'push' AND revoked_at IS NULL AND expires_at > ?`,
  builders: 'SELECT count(*) AS n FROM staff WHERE tenant = ?',
} as const;

const planTenantStatus = /* @__PURE__ */ planned<typeof tenantsSetStatus>(
  tenantsSetStatus,
  (context, call) => {
    const { db, now } = context;
    const { id, slug, status } = requireStep(context, call);
    const to = call.body.status;
    const count = (sql: string, ...params: SqlValue[]) => db.get<{ n: number }>(sql, id, ...params)?.n ?? 0;
    return {
      dryRun: true,
      tenant: id,
      slug,
      from: status,
      to,
      effect: status === 'active' ? 'stops' : to === 'active' ? 'resumes' : 'none',
      counts: {
        scopes: count(SERVED.scopes),
        hostnames: count(SERVED.hostnames),
        pushTokens: count(SERVED.pushTokens, now()),
        builders: count(SERVED.builders),
      },
    };
  },
);

export const tenantsFeature = /* @__PURE__ */ defineFeature({
  operations: [readTenants, readTenant, createTenant, updateTenant, setTenantStatus, planTenantStatus],
});

/** The tenant, where the call may change its status. @throws PlatformError as declared. */
function requireStep(
  { db }: Pick<UnitContext, 'db'>,
  { params, body, ifMatch }: Pick<CallOf<typeof tenantsSetStatus>, 'params' | 'body' | 'ifMatch'>,
): TenantRow {
  const before = requireTenant(db, params.tenant);
  requireMatch(ifMatch, String(before.revision));
  if (!TRANSITIONS[before.status].includes(body.status))
    throw new PlatformError(
      'invalid_transition',
      `A tenant that is ${before.status} cannot become ${body.status}.`,
    );
  // Erased data cannot come back, so that a tenant cannot return while it is being erased.
  if (loadUnfinished(db, reapSubject(before.id)))
    throw new PlatformError('invalid_transition', 'This tenant is being erased.', { reason: 'being_reaped' });
  return before;
}

function answer(status: 200 | 201, row: TenantRow, audit: AuditEntry | null): Change<TenantRecord> {
  const value = tenantOfRow(row);
  return { status, value, etag: value.etag, audit };
}

function targetOf(row: TenantRow): AuditEntry['target'] {
  return { tenant: row.id, scope: null, vertical: null, other: null };
}

function auditFields({ slug, name, status }: TenantRow): AuditEntry['after'] {
  return { slug, name, status };
}
