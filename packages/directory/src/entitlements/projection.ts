/**
 * The projection of a tenant's entitlements. A scope ends an expired entitlement by itself: a delivery is needed for a new
 * one, and for one that ends early.
 */
import {
  type EntitlementProjection,
  PlatformError,
  reconcileResponse,
  type ScopeEntitlements,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { Projection } from '../projector/projection.ts';
import { loadItems } from './store.ts';

export const entitlementProjection: Projection<EntitlementProjection> = {
  name: 'entitlements',
  changedBy: ['entitlements.put', 'entitlements.delete'],
  outbox: 'entitlement_outbox',
  byTenant: true,
  concerns: 'EXISTS (SELECT 1 FROM entitlement_sets e WHERE e.tenant = s.tenant)',
  saveRevision: (db, { tenant, revision }) =>
    db.run(
      `INSERT INTO entitlement_sets (tenant, revision)
       SELECT id, ? FROM tenants WHERE status <> 'reaped' ${tenant === null ? '' : 'AND id = ?'}
       ON CONFLICT (tenant) DO UPDATE SET revision = excluded.revision`,
      ...[revision, ...(tenant === null ? [] : [tenant])],
    ),
  revision: (db, tenant) =>
    db.get<{ revision: number }>('SELECT revision FROM entitlement_sets WHERE tenant = ?', tenant)
      ?.revision ?? 0,
  load: (db, { tenant }, revision) => ({ revision, items: loadItems(db, tenant) }),
  question: (projection, { id, vertical }) => ({
    body: { entitlements: projection },
    answer: reconcileResponse.required({ entitlements: true }).refine(({ scopeId }) => scopeId === id),
    local: async (host, ref) => {
      await requireEntitlements(host, vertical).projectEntitlementsLocal(ref, projection);
      return { ...ref, entitlements: Object.keys(projection.items) };
    },
  }),
  report: {
    operation: 'entitlements.deliver',
    detail: 'This scope could not be told what its tenant is entitled to. It is tried again.',
  },
};

function requireEntitlements(
  host: VerticalScopeHost & Partial<ScopeEntitlements>,
  vertical: string,
): ScopeEntitlements {
  if (host.projectEntitlementsLocal) return host as VerticalScopeHost & ScopeEntitlements;
  throw new PlatformError('unsupported', `The scopes of the vertical ${vertical} take no entitlements.`, {
    reason: 'no_entitlements',
  });
}
