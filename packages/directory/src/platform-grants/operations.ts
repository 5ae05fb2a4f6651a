/** Giving verticals grants of the platform's, and taking them away. */

import { slug } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { type PlatformGrant, platformGrantRecord } from '../declarations/platform-grants.ts';
import { type ChangeHandler, change, type ReadHandler, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { targetOf } from '../vertical-registry/operations.ts';
import { requireVertical } from '../vertical-registry/verticals-store.ts';
import { deleteGrant, type GrantRow, grantRecord, loadGrant, saveGrant } from './store.ts';

const tag = 'Platform grants';

const params = z.strictObject({ slug });

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

export const readEmailSender = /* @__PURE__ */ readGrant('email-sender', emailSenderGet);
export const putEmailSender = /* @__PURE__ */ putGrant('email-sender', emailSenderPut);
export const deleteEmailSender = /* @__PURE__ */ removeGrant('email-sender', emailSenderDelete);
export const readTenantProvisioner = /* @__PURE__ */ readGrant('tenant-provisioner', tenantProvisionerGet);
export const putTenantProvisioner = /* @__PURE__ */ putGrant('tenant-provisioner', tenantProvisionerPut);
export const deleteTenantProvisioner = /* @__PURE__ */ removeGrant(
  'tenant-provisioner',
  tenantProvisionerDelete,
);

function readGrant(
  name: PlatformGrant,
  operation: typeof emailSenderGet | typeof tenantProvisionerGet,
): ReadHandler {
  return read(operation, ({ db }, { params, actor }) => {
    const key = { vertical: requireVertical(db, actor, params.slug).slug, name };
    const value = grantRecord(key, loadGrant(db, key));
    return { value, etag: value.etag };
  });
}

function putGrant(
  name: PlatformGrant,
  operation: typeof emailSenderPut | typeof tenantProvisionerPut,
): ChangeHandler {
  return change(operation, (context, { params, body, actor, ifMatch }) => {
    const { db, revision } = context;
    const vertical = requireVertical(db, actor, params.slug);
    const key = { vertical: vertical.slug, name };
    const before = loadGrant(db, key);
    requireMatch(ifMatch, grantRecord(key, before).etag);
    const note = body.note ?? null;
    if (before && before.note === note) {
      const value = grantRecord(key, before);
      return { status: 200, value, etag: value.etag, audit: null };
    }
    const after: GrantRow = { ...key, note, revision, sinceMs: before?.sinceMs ?? context.now() };
    saveGrant(db, after);
    const value = grantRecord(key, after);
    const audit = {
      target: targetOf(vertical, name),
      before: before ? { note: before.note } : null,
      after: { note },
    };
    return { status: 200, value, etag: value.etag, audit };
  });
}

function removeGrant(
  name: PlatformGrant,
  operation: typeof emailSenderDelete | typeof tenantProvisionerDelete,
): ChangeHandler {
  return change(operation, ({ db }, { params, actor, ifMatch }) => {
    const vertical = requireVertical(db, actor, params.slug);
    const key = { vertical: vertical.slug, name };
    const before = loadGrant(db, key);
    requireMatch(ifMatch, grantRecord(key, before).etag);
    if (!before) return { status: 204, value: null, audit: null };
    deleteGrant(db, key);
    const audit = { target: targetOf(vertical, name), before: { note: before.note }, after: null };
    return { status: 204, value: null, audit };
  });
}
