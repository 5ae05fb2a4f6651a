/** Tenants, their identities and their entitlements (spec 4.3, requirement C-03; design: control-plane-routes, "Tenants"). */
import {
  entitlementKey,
  idSchema,
  projectedEntitlement,
  scopeId,
  slug,
  tenantId,
  timestamp,
} from '@freehold/contracts';
import { z } from 'zod';
import { planCount as count } from './admin-operation.ts';
import { scopeStatus } from './records.ts';

export const tag = 'Tenants';

export const params = z.strictObject({ tenant: tenantId });

/** The number of things of each kind that belong to a tenant. */
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
  secrets: count.describe('Of the applications that it owns'),
  previews: count,
  backups: count.describe('Older backups. They stay when backup is asked for'),
});

export type TenantErasure = z.infer<typeof tenantErasure>;

/** The most things of each kind that a plan names; the others are counted. */
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

/** The `result` of the operation that erased a tenant. */
export const tenantReaped = z.object({
  tenant: tenantId,
  erased: tenantErasure,
  backups: z.array(z.object({ scope: scopeId, address: z.string(), bytes: count })),
});

export type TenantReaped = z.infer<typeof tenantReaped>;

export const identityId = idSchema('tid');

/** `issuer`: all who sign in there. `pool` and `organization`: those of one pool or organization that the issuer names. */
export const identityKind = z.enum(['issuer', 'pool', 'organization']);

/** The directory judges the issuer and explains a refusal. */
export const issuer = z
  .string()
  .min(1)
  .max(512)
  .describe('As the issuer spells it in its tokens: https://login.example.com');

export const value = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[!-~](?:[ -~]*[!-~])?$/, 'must be visible characters')
  .describe('The issuer’s name of the pool or organization');

export const label = z.string().min(1).max(200).describe('For people');

export const identityRecord = z
  .object({
    id: identityId,
    tenant: tenantId,
    kind: identityKind,
    issuer: z.string(),
    value: z.string().nullable().describe('Null for a whole issuer'),
    label: label.nullable(),
    createdAt: timestamp,
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'TenantIdentity' });

export type IdentityRecord = z.infer<typeof identityRecord>;

const { plan, quota } = projectedEntitlement.shape;

export const entitlementRecord = z
  .object({
    tenant: tenantId,
    key: entitlementKey,
    plan: plan.describe('A word that the application knows: `pro`'),
    quota: quota.describe('How much of it'),
    expiresAt: timestamp.nullable().describe('Its end. Null: it does not expire.'),
    state: z.enum(['active', 'lapsed']).describe('A lapsed one counts for nothing, and stays listed'),
    createdAt: timestamp,
    updatedAt: timestamp,
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'Entitlement' });

export type EntitlementRecord = z.infer<typeof entitlementRecord>;
