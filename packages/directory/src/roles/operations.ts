/** The operations of the platform's roles. */

import { lineOfText, PlatformError, pageOf, pageQuery, permissionKey, roleKey } from '@freehold/contracts';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { roleRecord } from '../declarations/records.ts';
import { defineFeature } from '../lib/feature.ts';
import { type AuditEntry, change, read } from '../lib/handlers.ts';
import { countPending, enqueueChange } from '../projector/outbox.ts';
import { roleProjection } from './projection.ts';
import { roleMigrations } from './schema.ts';
import {
  countRoles,
  deleteRole,
  listRoles,
  loadRole,
  ROLES_MAX,
  type RoleRow,
  roleOfRow,
  saveRole,
} from './store.ts';

const tag = 'Roles';

const params = z.strictObject({ key: roleKey });

export const rolesList = adminOperation({
  name: 'roles.list',
  summary: "List the platform's roles",
  description:
    'By key. A change reaches the scopes at once; `delivery` counts those that have not confirmed it. A scope gets the permissions that its vertical declares; a role of the same key in the manifest stays as declared there.',
  tag,
  method: 'GET',
  path: '/roles',
  input: { query: z.strictObject(pageQuery) },
  output: pageOf(roleRecord).extend({
    delivery: z.object({
      pendingScopes: z.int().describe('Scopes that have not confirmed the newest change'),
    }),
  }),
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const readRoles = /* @__PURE__ */ read(rolesList, ({ db }, { query }) => ({
  value: { ...listRoles(db, query), delivery: { pendingScopes: countPending(db, roleProjection) } },
}));

export const rolesPut = adminOperation({
  name: 'roles.put',
  summary: 'Create a role or replace its permissions',
  tag,
  method: 'PUT',
  path: '/roles/:key',
  input: {
    params,
    body: z.strictObject({
      name: lineOfText(100),
      permissions: z.array(permissionKey).max(500),
    }),
  },
  output: roleRecord,
  success: 200,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['conflict', 'precondition_failed'],
});

export const putRole = /* @__PURE__ */ change(rolesPut, (context, { params, body, ifMatch }) => {
  const { db } = context;
  const before = loadRole(db, params.key);
  requireMatch(ifMatch, before ? String(before.revision) : null);
  const permissions = [...new Set(body.permissions)].sort();
  if (before && before.name === body.name && before.permissions.join() === permissions.join()) {
    const value = roleOfRow(before);
    return { status: 200, value, etag: value.etag, audit: null };
  }
  if (!before && countRoles(db) >= ROLES_MAX)
    throw new PlatformError('conflict', `A platform has no more than ${ROLES_MAX} roles.`, {
      reason: 'too_many_roles',
    });
  const nowMs = context.now();
  const after: RoleRow = {
    key: params.key,
    name: body.name,
    permissions,
    revision: context.revision,
    createdAtMs: before?.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
  };
  saveRole(db, after);
  enqueueChange(context, roleProjection, { tenant: null, revision: context.revision });
  const value = roleOfRow(after);
  const audit: AuditEntry = {
    target: targetOf(after),
    before: before ? auditFields(before) : null,
    after: auditFields(after),
  };
  return { status: 200, value, etag: value.etag, audit };
});

export const rolesDelete = adminOperation({
  name: 'roles.delete',
  summary: 'Delete a role',
  tag,
  method: 'DELETE',
  path: '/roles/:key',
  input: { params },
  output: z.null(),
  success: 204,
  builder: 'none',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const removeRole = /* @__PURE__ */ change(rolesDelete, (context, { params, ifMatch }) => {
  const before = loadRole(context.db, params.key);
  if (!before) throw new PlatformError('not_found', 'There is no such role.', { reason: 'unknown_role' });
  requireMatch(ifMatch, String(before.revision));
  deleteRole(context.db, before.key);
  enqueueChange(context, roleProjection, { tenant: null, revision: context.revision });
  return {
    status: 204,
    value: null,
    audit: { target: targetOf(before), before: auditFields(before), after: null },
  };
});

function targetOf(row: RoleRow): AuditEntry['target'] {
  return { tenant: null, scope: null, vertical: null, other: row.key };
}

function auditFields(row: RoleRow): AuditEntry['after'] {
  const { name, permissions } = roleOfRow(row);
  return { name, permissions };
}

export const rolesFeature = /* @__PURE__ */ defineFeature({
  operations: [readRoles, putRole, removeRole],
  migrations: [roleMigrations],
});
