/** Which identity pools and organizations belong to a tenant (requirement C-03; design: control-plane-routes, "Tenants"). */
import { idSchema, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';

export const identityId = idSchema('tid');

/** `issuer`: all who sign in there. `pool` and `organization`: those of one pool or organization that the issuer names. */
export const identityKind = z.enum(['issuer', 'pool', 'organization']);

/** Whether it is a good issuer is judged in the directory, which says what is wrong with it. */
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
  .describe('What the issuer calls the pool or organization');

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
