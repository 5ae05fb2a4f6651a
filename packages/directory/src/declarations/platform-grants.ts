/** What the platform lets a vertical do beyond its own scopes (spec 4.3: email-sender, tenant-provisioner). */
import { slug, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

const tag = 'Platform grants';
const params = z.strictObject({ slug });

/** Every grant there is, with what it lets a vertical do. */
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

const body = z.strictObject({ note: z.string().min(1).max(500).optional() });
const common = { tag, builder: 'none', etag: true } as const;
const put = { ...common, method: 'PUT', input: { params, body }, output: platformGrantRecord } as const;
const remove = { ...common, method: 'DELETE', input: { params }, output: z.null() } as const;
const get = { ...common, method: 'GET', input: { params }, output: platformGrantRecord } as const;

export const emailSenderGet = adminOperation({
  ...get,
  name: 'email-sender.get',
  summary: 'Get whether a vertical may send mail through the platform',
  path: '/verticals/:slug/email-sender',
  success: 200,
  audit: 'none',
});

export const emailSenderPut = adminOperation({
  ...put,
  name: 'email-sender.put',
  summary: 'Let a vertical send mail through the platform',
  path: '/verticals/:slug/email-sender',
  success: 200,
  audit: 'audit',
});

export const emailSenderDelete = adminOperation({
  ...remove,
  name: 'email-sender.delete',
  summary: 'Let a vertical send no mail through the platform any more',
  path: '/verticals/:slug/email-sender',
  success: 204,
  audit: 'audit',
  destructive: true,
});

export const tenantProvisionerGet = adminOperation({
  ...get,
  name: 'tenant-provisioner.get',
  summary: 'Get whether a vertical may create tenants',
  path: '/verticals/:slug/tenant-provisioner',
  success: 200,
  audit: 'none',
});

export const tenantProvisionerPut = adminOperation({
  ...put,
  name: 'tenant-provisioner.put',
  summary: 'Let a vertical create tenants',
  path: '/verticals/:slug/tenant-provisioner',
  success: 200,
  audit: 'audit',
});

export const tenantProvisionerDelete = adminOperation({
  ...remove,
  name: 'tenant-provisioner.delete',
  summary: 'Let a vertical create no tenants any more',
  path: '/verticals/:slug/tenant-provisioner',
  success: 204,
  audit: 'audit',
  destructive: true,
});
