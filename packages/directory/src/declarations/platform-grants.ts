/** The grants of the platform to verticals beyond their own scopes (spec 4.3: email-sender, tenant-provisioner). */
import { slug, timestamp } from '@freehold/contracts';
import { z } from 'zod';

/** Every grant, with the act that it permits. */
export const PLATFORM_GRANTS = {
  'email-sender': 'send mail through the platform',
  'tenant-provisioner': 'create tenants',
} as const;

export const platformGrantName = z.enum(Object.keys(PLATFORM_GRANTS) as [PlatformGrant, ...PlatformGrant[]]);

export type PlatformGrant = keyof typeof PLATFORM_GRANTS;

export const platformGrantRecord = z
  .object({
    vertical: slug,
    grant: platformGrantName,
    granted: z.boolean(),
    note: z.string().nullable().describe('Why it was granted'),
    since: timestamp.nullable(),
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'PlatformGrant' });

export type PlatformGrantRecord = z.infer<typeof platformGrantRecord>;
