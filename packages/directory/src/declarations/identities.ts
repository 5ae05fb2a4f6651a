/** Which identity pools and organizations belong to a tenant (requirement C-03; design: control-plane-routes, "Tenants"). */
import { idSchema, pageOf, pageQuery, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

const tag = 'Tenants';
const params = z.strictObject({ tenant: tenantId });

export const identityId = idSchema('tid');

/** `issuer`: all who sign in there. `pool` and `organization`: those of one pool or organization that the issuer names. */
export const identityKind = z.enum(['issuer', 'pool', 'organization']);

/** Whether it is a good issuer is judged in the directory, which says what is wrong with it. */
const issuer = z
  .string()
  .min(1)
  .max(512)
  .describe('As the issuer spells it in its tokens: https://login.example.com');
const value = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[!-~](?:[ -~]*[!-~])?$/, 'must be visible characters')
  .describe('What the issuer calls the pool or organization');
const label = z.string().min(1).max(200).describe('For people');

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

export const identitiesList = adminOperation({
  name: 'identities.list',
  summary: 'List the identity pools and organizations of a tenant',
  description: 'Oldest first.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/identities',
  input: { params, query: z.strictObject(pageQuery) },
  output: pageOf(identityRecord),
  success: 200,
  builder: 'none',
  audit: 'none',
  problems: ['not_found'],
});

export const identitiesAdd = adminOperation({
  name: 'identities.add',
  summary: 'Say that an issuer, a pool or an organization belongs to a tenant',
  description:
    'Each belongs to one tenant of the platform at a time; a whole issuer leaves nothing of it to another. Idempotent: the same one with the same label answers the record that is there (200).',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/identities',
  input: {
    params,
    body: z.strictObject({
      kind: identityKind,
      issuer,
      value: value.optional(),
      label: label.optional(),
    }),
  },
  output: identityRecord,
  success: 201,
  builder: 'none',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'precondition_failed'],
});

export const identitiesRemove = adminOperation({
  name: 'identities.remove',
  summary: 'Say that it no longer belongs to the tenant',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/identities/:identity',
  input: { params: z.strictObject({ tenant: tenantId, identity: identityId }) },
  output: z.null(),
  success: 204,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});
