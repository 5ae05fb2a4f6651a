/** What a tenant has bought or been given (requirement C-03; design: control-plane-routes, "Tenants"). */
import { entitlementKey, projectedEntitlement, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';

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
