/** Service tokens: software of the platform's operator, which may do what its owner may (design: control-plane, "Actors"). */
import { timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { staffRole } from './staff.ts';

export const serviceTokenRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    prefix: z.string().describe('How the secret begins'),
    last4: z.string().describe('How the secret ends'),
    createdAt: timestamp,
    createdBy: z.string(),
    owner: z
      .string()
      .nullable()
      .describe(
        "The member of the staff whose rights it has; null for the platform operator's own, which may do everything",
      ),
    role: staffRole
      .nullable()
      .describe('The role that its owner has at this moment; null without an owner, and when the owner left'),
    status: z
      .enum(['active', 'suspended', 'expired', 'revoked'])
      .describe('Only an active one works. suspended: its owner is not on the roster any more'),
    expiresAt: timestamp,
    lastUsedAt: timestamp.nullable().describe('Accurate to a minute'),
    revokedAt: timestamp.nullable(),
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'ServiceToken' });

export type ServiceTokenRecord = z.infer<typeof serviceTokenRecord>;
