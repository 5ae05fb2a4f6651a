/** What can be done with the entitlements of a tenant, as far as the directory is concerned. How scopes hear of it: `projection.ts`. */
import { PlatformError } from '@freehold/contracts';
import { entitlementsDelete, entitlementsList, entitlementsPut } from '../declarations/entitlements.ts';
import { type AuditEntry, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { countPending, enqueueChange } from '../projector/outbox.ts';
import { requireOpenTenant, requireTenant } from '../tenants/store.ts';
import { entitlementProjection } from './projection.ts';
import {
  deleteEntitlement,
  type EntitlementRow,
  entitlementOfRow,
  listEntitlements,
  loadEntitlement,
  requireRoom,
  saveEntitlement,
} from './store.ts';

export const readEntitlements = /* @__PURE__ */ read(entitlementsList, ({ db, now }, { params, query }) => {
  const { id: tenant } = requireTenant(db, params.tenant);
  const page = listEntitlements(db, { ...query, tenant }, now());
  return { value: { ...page, delivery: { pendingScopes: countPending(db, entitlementProjection, tenant) } } };
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
