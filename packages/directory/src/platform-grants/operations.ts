/** Giving verticals grants of the platform's, and taking them away. */
import {
  emailSenderDelete,
  emailSenderGet,
  emailSenderPut,
  type PlatformGrant,
  tenantProvisionerDelete,
  tenantProvisionerGet,
  tenantProvisionerPut,
} from '../declarations/platform-grants.ts';
import { type ChangeHandler, change, type ReadHandler, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { targetOf } from '../vertical-registry/operations.ts';
import { requireVertical } from '../vertical-registry/verticals-store.ts';
import { deleteGrant, type GrantRow, grantRecord, loadGrant, saveGrant } from './store.ts';

export const readEmailSender = readGrant('email-sender', emailSenderGet);
export const putEmailSender = putGrant('email-sender', emailSenderPut);
export const deleteEmailSender = removeGrant('email-sender', emailSenderDelete);
export const readTenantProvisioner = readGrant('tenant-provisioner', tenantProvisionerGet);
export const putTenantProvisioner = putGrant('tenant-provisioner', tenantProvisionerPut);
export const deleteTenantProvisioner = removeGrant('tenant-provisioner', tenantProvisionerDelete);

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
