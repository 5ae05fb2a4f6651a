/** The operations of the entitlements of a tenant. Their delivery to scopes: `projection.ts`. */

import {
  entitlementKey,
  PlatformError,
  pageOf,
  pageQuery,
  projectedEntitlement,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { entitlementRecord } from '../declarations/tenants.ts';
import { defineFeature } from '../lib/feature.ts';
import { type AuditEntry, change, read } from '../lib/handlers.ts';
import { countPending, enqueueChange } from '../projector/outbox.ts';
import { requireOpenTenant, requireTenant } from '../tenants/store.ts';
import { entitlementProjection } from './projection.ts';
import { entitlementMigrations } from './schema.ts';
import {
  deleteEntitlement,
  type EntitlementRow,
  entitlementOfRow,
  listEntitlements,
  loadEntitlement,
  requireRoom,
  saveEntitlement,
} from './store.ts';

const tag = 'Tenants';
const { plan, quota } = projectedEntitlement.shape;

const params = z.strictObject({ tenant: tenantId });

const oneParams = z.strictObject({ tenant: tenantId, key: entitlementKey });

export const entitlementsList = adminOperation({
  name: 'entitlements.list',
  summary: 'List the entitlements of a tenant',
  description:
    'By key. A change reaches the scopes at once; `delivery` counts those that have not confirmed it.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/entitlements',
  input: { params, query: z.strictObject(pageQuery) },
  output: pageOf(entitlementRecord).extend({
    delivery: z.object({
      pendingScopes: z.int().describe('Scopes that have not confirmed the newest change'),
    }),
  }),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found'],
});

export const readEntitlements = /* @__PURE__ */ read(entitlementsList, ({ db, now }, { params, query }) => {
  const { id: tenant } = requireTenant(db, params.tenant);
  const page = listEntitlements(db, { ...query, tenant }, now());
  return { value: { ...page, delivery: { pendingScopes: countPending(db, entitlementProjection, tenant) } } };
});

export const entitlementsPut = adminOperation({
  name: 'entitlements.put',
  summary: 'Give a tenant an entitlement, or replace one',
  description:
    'An omitted field is null. The change is sent to the scopes of the tenant at once, and again later to those that cannot be reached. Each scope ends an expired entitlement by itself.',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/entitlements/:key',
  input: {
    params: oneParams,
    body: z.strictObject({
      plan: plan.default(null),
      quota: quota.default(null),
      expiresAt: timestamp.nullable().default(null),
    }),
  },
  output: entitlementRecord,
  success: 200,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const putEntitlement = /* @__PURE__ */ change(
  entitlementsPut,
  (context, { params, body, ifMatch }) => {
    const { db } = context;
    const { id: tenant } = requireOpenTenant(db, params.tenant);
    const before = loadEntitlement(db, params);
    requireMatch(ifMatch, before ? String(before.revision) : null);
    const nowMs = context.now();
    const { plan, quota } = body;
    const expiresAtMs = body.expiresAt === null ? null : Date.parse(body.expiresAt);
    if (before && before.plan === plan && before.quota === quota && before.expiresAtMs === expiresAtMs) {
      const value = entitlementOfRow(before, nowMs);
      return { status: 200, value, etag: value.etag, audit: null };
    }
    if (!before) requireRoom(db, tenant);
    const after: EntitlementRow = {
      tenant,
      key: params.key,
      plan,
      quota,
      expiresAtMs,
      revision: context.revision,
      createdAtMs: before?.createdAtMs ?? nowMs,
      updatedAtMs: nowMs,
    };
    saveEntitlement(db, after);
    enqueueChange(context, entitlementProjection, after);
    const value = entitlementOfRow(after, nowMs);
    const audit = {
      target: targetOf(after),
      before: before ? auditFields(before) : null,
      after: auditFields(after),
    };
    return { status: 200, value, etag: value.etag, audit };
  },
);

export const entitlementsDelete = adminOperation({
  name: 'entitlements.delete',
  summary: 'Take an entitlement away',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/entitlements/:key',
  input: { params: oneParams },
  output: z.null(),
  success: 204,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const removeEntitlement = /* @__PURE__ */ change(
  entitlementsDelete,
  (context, { params, ifMatch }) => {
    const { db, revision } = context;
    const { id: tenant } = requireTenant(db, params.tenant);
    const before = loadEntitlement(db, params);
    if (!before)
      throw new PlatformError('not_found', 'This tenant has no such entitlement.', {
        reason: 'unknown_entitlement',
      });
    requireMatch(ifMatch, String(before.revision));
    deleteEntitlement(db, before);
    enqueueChange(context, entitlementProjection, { tenant, revision });
    const audit = { target: targetOf(before), before: auditFields(before), after: null };
    return { status: 204, value: null, audit };
  },
);

function targetOf(row: EntitlementRow): AuditEntry['target'] {
  return { tenant: row.tenant, scope: null, vertical: null, other: row.key };
}

function auditFields(row: EntitlementRow): NonNullable<AuditEntry['after']> {
  const { plan, quota, expiresAt } = entitlementOfRow(row, 0);
  return { plan, quota, expiresAt };
}

export const entitlementsFeature = /* @__PURE__ */ defineFeature({
  operations: [readEntitlements, putEntitlement, removeEntitlement],
  migrations: [entitlementMigrations],
});
