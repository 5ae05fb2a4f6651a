/** What a tenant has bought or been given (requirement C-03; design: control-plane-routes, "Tenants"). */
import {
  entitlementKey,
  pageOf,
  pageQuery,
  projectedEntitlement,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

const tag = 'Tenants';
const params = z.strictObject({ tenant: tenantId });
const oneParams = z.strictObject({ tenant: tenantId, key: entitlementKey });
const { plan, quota } = projectedEntitlement.shape;

export const entitlementRecord = z
  .object({
    tenant: tenantId,
    key: entitlementKey,
    plan: plan.describe('A word that the application knows: `pro`'),
    quota: quota.describe('How much of it'),
    expiresAt: timestamp.nullable().describe('When it is over. Null: it does not expire.'),
    state: z.enum(['active', 'lapsed']).describe('A lapsed one counts for nothing, and stays listed'),
    createdAt: timestamp,
    updatedAt: timestamp,
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'Entitlement' });
export type EntitlementRecord = z.infer<typeof entitlementRecord>;

export const entitlementsList = adminOperation({
  name: 'entitlements.list',
  summary: 'List what a tenant is entitled to',
  description:
    'By key. What was changed reaches the scopes at once; `delivery` says how many of them could not be told yet.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/entitlements',
  input: { params, query: z.strictObject(pageQuery) },
  output: pageOf(entitlementRecord).extend({
    delivery: z.object({
      pendingScopes: z.int().describe('Scopes that have not heard of the newest change'),
    }),
  }),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  problems: ['not_found'],
});

export const entitlementsPut = adminOperation({
  name: 'entitlements.put',
  summary: 'Give a tenant an entitlement, or replace one',
  description:
    'What is left out is null. The scopes of the tenant are told at once; one that cannot be reached is told later. Each of them ends an entitlement by itself when it expires.',
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
