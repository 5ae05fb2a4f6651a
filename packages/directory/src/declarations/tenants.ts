/** The tenants' operations (spec 4.3; design: control-plane-routes, "Tenants"). */
import { pageOf, pageQuery, slug, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';
import { tenantRecord, tenantStatus } from './records.ts';

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

export const tenantsSetStatus = adminOperation({
  name: 'tenants.set-status',
  summary: 'Suspend, resume or begin to delete a tenant',
  description:
    'active ⇄ suspended; active or suspended → deleting → active. Every other step is an invalid_transition. A tenant that is not active serves nobody, and its push tokens stop working at once.',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/status',
  input: {
    params,
    body: z.strictObject({ status: z.enum(['active', 'suspended', 'deleting']) }),
  },
  output: tenantRecord,
  success: 200,
  builder: 'none',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});
