/** Host names and where they lead (spec 4.3; design: control-plane-routes, "Hostnames"). */
import { pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { dryRun, planCount } from './dry-run.ts';
import { hostnameChecks, hostnameReason } from './hostname-records.ts';
import { hostnameRecord, hostnameStatus, surface } from './records.ts';

const tag = 'Hostnames';
const hostnameText = z
  .string()
  .min(1)
  .max(253)
  .describe('A full host name without a port; an international one is stored in its ASCII form');
const whose = tenantId
  .optional()
  .describe('Whose claim, where several tenants claim the name; a builder may leave it out');

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
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const hostnamesBind = adminOperation({
  name: 'hostnames.bind',
  summary: 'Bind a host name to a scope',
  description:
    'A name under localhost or under a base domain of this platform is active at once, every other one is pending until it is verified: verification.challenge says which record proves it. The same binding again answers the one that is there (200); a name that somebody else has proven, or that the platform uses itself, is a conflict. A claim that nobody has proven keeps nobody else out. A bare public suffix (co.uk, github.io) is not valid.',
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
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

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
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const hostnamesVerify = adminOperation({
  name: 'hostnames.verify',
  summary: 'Look for the record that proves a host name',
  description:
    'Looks for the TXT record, and for the document at the name; either proves it. What was looked up, expected and observed is in the answer, also when nothing is proven: then the name is failed, and can be verified again. A name that is active stays so and is looked at again. A DNS record takes the name over from a tenant that proved it by the document only, or whose own record is gone. The document proves a name that no other tenant claims or ever held; every other one takes a DNS record (dns_required). At most 10 times in 10 minutes for one name, and 60 times for all names of a tenant.',
  tag,
  method: 'POST',
  path: '/hostnames/verify',
  input: {
    body: z.strictObject({
      hostname: hostnameText,
      tenant: whose,
      method: z.enum(['dns', 'http']).optional().describe('Default: both'),
    }),
  },
  output: z
    .object({
      hostname: hostnameRecord,
      verified: z.boolean().describe('Whether this look proved the name'),
      reason: hostnameReason.nullable(),
      advice: z.string().nullable().describe('Why DNS is required and which record to set; null otherwise'),
      ...hostnameChecks.shape,
    })
    .meta({ id: 'HostnameVerified' }),
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed', 'rate_limited', 'unsupported', 'runtime_fault'],
});

export const hostnameDeletePlan = z
  .object({
    dryRun: z.literal(true),
    hostname: hostnameRecord,
    serves: z.boolean().describe('Whether requests for it are answered now: these stop'),
    others: planCount.describe('How many other active names lead to the same surface of the scope'),
  })
  .meta({ id: 'HostnameDeletePlan' });

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
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});
