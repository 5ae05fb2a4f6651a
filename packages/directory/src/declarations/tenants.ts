/** The tenants' operations (spec 4.3; design: control-plane-routes, "Tenants"). */
import { pageOf, pageQuery, scopeId, slug, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { planCount as count, dryRunQuery, servingEffect } from './dry-run.ts';
import { operationRecord } from './long-work.ts';
import { scopeStatus, tenantRecord, tenantStatus } from './records.ts';

const tag = 'Tenants';
const params = z.strictObject({ tenant: tenantId });

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
  audit: 'none',
});

export const tenantsCreate = adminOperation({
  name: 'tenants.create',
  summary: 'Create a tenant',
  description:
    'Idempotent by slug: the same name answers the tenant that is there (200), another name is a conflict. A slug is never used twice.',
  tag,
  method: 'POST',
  path: '/tenants',
  input: { body: z.strictObject({ slug, name: z.string().min(1).max(200) }) },
  output: tenantRecord,
  success: 201,
  builder: 'none',
  vertical: 'tenant-provisioner',
  audit: 'audit',
  etag: true,
  problems: ['conflict', 'precondition_failed'],
});

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
  audit: 'none',
  etag: true,
  problems: ['not_found'],
});

export const tenantsUpdate = adminOperation({
  name: 'tenants.update',
  summary: 'Rename a tenant',
  description: 'A slug stays what it is: addresses are made of it.',
  tag,
  method: 'PATCH',
  path: '/tenants/:tenant',
  input: { params, body: z.strictObject({ name: z.string().min(1).max(200) }) },
  output: tenantRecord,
  success: 200,
  builder: 'none',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const tenantStatusPlan = z
  .object({
    dryRun: z.literal(true),
    tenant: tenantId,
    slug,
    from: tenantStatus,
    to: tenantStatus,
    effect: servingEffect.describe(
      'What happens to what is counted. none where it does not work now and would not afterwards',
    ),
    counts: z.object({
      scopes: count.describe('Active ones, with their requests, timers, deliveries and sessions'),
      hostnames: count.describe('Active names of these'),
      pushTokens: count.describe('Those that are neither revoked nor expired'),
      builders: count.describe('People on the roster who are its builders'),
    }),
  })
  .meta({ id: 'TenantStatusPlan' });

export const tenantsSetStatus = adminOperation({
  name: 'tenants.set-status',
  summary: 'Suspend, resume or begin to delete a tenant',
  description:
    'active ⇄ suspended; active or suspended → deleting → active. Every other step is an invalid_transition. A tenant that is not active serves nobody, and its push tokens stop working at once. With dryRun, answers how much would stop or go on.',
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

export const tenantsReap = adminOperation({
  name: 'tenants.reap',
  summary: 'Erase a tenant that is being deleted, for good',
  description:
    'Only from deleting. Every scope is erased in its application, host names come free, connections are revoked at their providers and removed with their credentials, push tokens, identities and entitlements end, and the keys of its persons are destroyed. A tombstone stays, so that its slug is never used again, and so do the logs. Backups of its scopes are deleted too; with backup they stay, every scope is copied once more, and nothing is erased unless all of them were. Work that failed on the way is taken up by calling this again.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/reap',
  input: {
    params,
    query: z.strictObject({
      dryRun: z.boolean().default(false).describe('Answers what would be erased, and erases nothing'),
    }),
    body: z.strictObject({
      backup: z.boolean().default(false).describe('Whether a copy is kept. An erasure leaves none behind.'),
    }),
  },
  output: operationRecord,
  success: 202,
  plan: tenantReapPlan,
  builder: 'none',
  staff: 'administer',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: [
    'not_found',
    'conflict',
    'invalid_transition',
    'precondition_failed',
    'unsupported',
    'runtime_fault',
    'unavailable',
  ],
});
