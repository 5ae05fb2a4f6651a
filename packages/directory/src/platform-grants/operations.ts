/** The platform's grants to verticals: sending mail through the platform, and creating tenants. */
import { noteText, slug } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { type PlatformGrant, platformGrantRecord } from '../declarations/platform-grants.ts';
import { defineFeature } from '../lib/feature.ts';
import { type ChangeHandler, change, type ReadHandler, read } from '../lib/handlers.ts';
import { targetOf } from '../vertical-registry/operations.ts';
import { requireVertical } from '../vertical-registry/verticals-store.ts';
import {
  deleteGrant,
  type GrantRow,
  grantRecord,
  loadGrant,
  platformGrantMigrations,
  saveGrant,
} from './store.ts';

const params = z.strictObject({ slug });

const common = { tag: 'Platform grants', etag: true } as const;

const get = { ...common, method: 'GET', input: { params }, output: platformGrantRecord } as const;

const put = {
  ...common,
  method: 'PUT',
  input: { params, body: z.strictObject({ note: noteText(500).optional() }) },
  output: platformGrantRecord,
} as const;

const remove = {
  ...common,
  method: 'DELETE',
  input: { params },
  output: z.null(),
  success: 204,
  destructive: true,
} as const;

export const emailSenderGet = adminOperation({
  ...get,
  name: 'email-sender.get',
  summary: 'Get whether a vertical may send mail through the platform',
  path: '/verticals/:slug/email-sender',
});

export const emailSenderPut = adminOperation({
  ...put,
  name: 'email-sender.put',
  summary: 'Let a vertical send mail through the platform',
  path: '/verticals/:slug/email-sender',
});

export const emailSenderDelete = adminOperation({
  ...remove,
  name: 'email-sender.delete',
  summary: 'Let a vertical send no mail through the platform any more',
  path: '/verticals/:slug/email-sender',
});

export const tenantProvisionerGet = adminOperation({
  ...get,
  name: 'tenant-provisioner.get',
  summary: 'Get whether a vertical may create tenants',
  path: '/verticals/:slug/tenant-provisioner',
});

export const tenantProvisionerPut = adminOperation({
  ...put,
  name: 'tenant-provisioner.put',
  summary: 'Let a vertical create tenants',
  path: '/verticals/:slug/tenant-provisioner',
});

export const tenantProvisionerDelete = adminOperation({
  ...remove,
  name: 'tenant-provisioner.delete',
  summary: 'Let a vertical create no tenants any more',
  path: '/verticals/:slug/tenant-provisioner',
});

function readGrant(
  name: PlatformGrant,
  operation: typeof emailSenderGet | typeof tenantProvisionerGet,
): ReadHandler {
  return read(operation, ({ db }, { params, actor }) => {
    const key = { vertical: requireVertical(db, actor, params.slug).slug, name };
    return { value: grantRecord(key, loadGrant(db, key)) };
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
    if (before && before.note === note) return { value: grantRecord(key, before), audit: null };
    const after: GrantRow = { ...key, note, revision, sinceMs: before?.sinceMs ?? context.now() };
    saveGrant(db, after);
    const audit = {
      target: targetOf(vertical, name),
      before: before ? { note: before.note } : null,
      after: { note },
    };
    return { value: grantRecord(key, after), audit };
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
    if (!before) return { audit: null };
    deleteGrant(db, key);
    return { audit: { target: targetOf(vertical, name), before: { note: before.note }, after: null } };
  });
}

type GrantKeyOf = { readonly vertical: string; readonly grant: PlatformGrant };

export const platformGrantsFeature = /* @__PURE__ */ defineFeature({
  operations: [
    /* @__PURE__ */ readGrant('email-sender', emailSenderGet),
    /* @__PURE__ */ readGrant('tenant-provisioner', tenantProvisionerGet),
    /* @__PURE__ */ putGrant('email-sender', emailSenderPut),
    /* @__PURE__ */ putGrant('tenant-provisioner', tenantProvisionerPut),
    /* @__PURE__ */ removeGrant('email-sender', emailSenderDelete),
    /* @__PURE__ */ removeGrant('tenant-provisioner', tenantProvisionerDelete),
  ],
  migrations: [platformGrantMigrations],
  methods: ({ db }) => ({
    platformGrant: ({ vertical, grant }: GrantKeyOf): boolean =>
      loadGrant(db, { vertical, name: grant }) !== undefined,
  }),
  queries: ['platformGrant'],
});

/** For the wiring: the platform's mail asks before it sends. */
export interface PlatformGrants {
  /** Whether a vertical has a grant now. Ask each time: a grant can be taken away at any moment. */
  hasPlatformGrant(vertical: string, grant: PlatformGrant): Promise<boolean>;
}

export function makePlatformGrants(
  directory: UnitStub<{ platformGrant(key: GrantKeyOf): boolean }>,
): PlatformGrants {
  return { hasPlatformGrant: (vertical, grant) => directory.platformGrant({ vertical, grant }) };
}
