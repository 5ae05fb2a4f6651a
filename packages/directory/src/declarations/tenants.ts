/** The tenants' operations (spec 4.3; design: control-plane-routes, "Tenants"). */
import { scopeId, slug, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { planCount as count } from './dry-run.ts';
import { scopeStatus } from './records.ts';

export const tag = 'Tenants';

export const params = z.strictObject({ tenant: tenantId });

/** How much of what belongs to a tenant. */
export const tenantErasure = z.object({
  scopes: count,
  snapshots: count,
  hostnames: count,
  connections: count,
  connectionGrants: count,
  pushTokens: count.describe('Those that still work'),
  builders: count.describe('People on the roster who are its builders'),
  identities: count,
  entitlements: count,
  backups: count.describe('Copies that were kept before. They stay when backup is asked for'),
});

export type TenantErasure = z.infer<typeof tenantErasure>;

/** How many of each a plan names; the rest is counted. */
export const REAP_PLAN_NAMES_MAX = 200;

export const tenantReapPlan = z
  .object({
    dryRun: z.literal(true),
    tenant: tenantId,
    slug,
    counts: tenantErasure,
    scopes: z.array(z.object({ id: scopeId, slug, vertical: slug, status: scopeStatus })),
    hostnames: z.array(z.string()),
    connections: z.array(z.object({ id: z.string(), provider: z.string(), state: z.string() })),
    pushTokens: z.array(z.object({ id: z.string(), name: z.string() })),
    truncated: z.boolean().describe(`True when there are more than ${REAP_PLAN_NAMES_MAX} of something`),
  })
  .meta({ id: 'TenantReapPlan' });

export type TenantReapPlan = z.infer<typeof tenantReapPlan>;

/** What is left to be shown of a tenant that was erased: the `result` of the operation. */
export const tenantReaped = z.object({
  tenant: tenantId,
  erased: tenantErasure,
  backups: z.array(z.object({ scope: scopeId, address: z.string(), bytes: count })),
});

export type TenantReaped = z.infer<typeof tenantReaped>;
