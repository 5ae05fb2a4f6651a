/** What can be done with the platform's roles. */
import { PlatformError } from '@freehold/contracts';
import { rolesDelete, rolesList, rolesPut } from '../declarations/roles.ts';
import { type AuditEntry, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { countPending, enqueueChange } from '../projector/outbox.ts';
import { roleProjection } from './projection.ts';
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

export const readRoles = /* @__PURE__ */ read(rolesList, ({ db }, { query }) => ({
  value: { ...listRoles(db, query), delivery: { pendingScopes: countPending(db, roleProjection) } },
}));

export const putRole = /* @__PURE__ */ change(rolesPut, (context, { params, body, ifMatch }) => {
  const { db } = context;
  const before = loadRole(db, params.key);
  requireMatch(ifMatch, before ? String(before.revision) : null);
  const permissions = JSON.stringify([...new Set(body.permissions)].sort());
  if (before && before.name === body.name && before.permissions === permissions) {
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
