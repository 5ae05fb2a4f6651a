/**
 * Who may call what (spec 5.5; design: control-plane, "Actors"): decided once, from the operation's declaration,
 * before anything is looked up.
 */
import { PlatformError } from '@freehold/contracts';
import type { Actor, AdminCall } from './actors.ts';
import type { AdminOperation, StaffAccess } from './declarations/admin-operation.ts';
import type { StaffRole } from './declarations/staff.ts';

/** What each role is allowed. A role that is not here, whoever wrote it down, is allowed nothing. */
const ALLOWED: Readonly<Record<StaffRole, readonly StaffAccess[]>> = {
  admin: ['read', 'operate', 'administer'],
  operator: ['read', 'operate'],
  auditor: ['read'],
};

/** What a member of the staff must be allowed to call this. */
export function staffAccessOf({ staff, audit, method }: AdminOperation): StaffAccess {
  if (staff !== undefined) return staff;
  // What neither changes anything on paper nor says that it only reads is taken for a change.
  return audit === 'access' || (audit === 'none' && method === 'GET') ? 'read' : 'operate';
}

/** Whether an actor of this kind and role may ever call this, about some tenant. What it may not, it need not be shown. */
export function mayCall(operation: AdminOperation, actor: Actor): boolean {
  switch (actor.kind) {
    case 'service':
      return true;
    case 'staff':
      return Object.hasOwn(ALLOWED, actor.role) && ALLOWED[actor.role].includes(staffAccessOf(operation));
    case 'builder':
      return operation.builder === 'own-tenant';
    default:
      return false;
  }
}

/**
 * Admits a call, with the tenant of a builder forced into it wherever the operation takes one.
 * @throws PlatformError `forbidden`: reason `staff_only` for a builder where only staff and services may call,
 * `role_insufficient` for a member of the staff whose role does not reach; `not_found` for a builder that names another
 * tenant, whether or not that tenant exists.
 */
export function admitCall(operation: AdminOperation, call: AdminCall): AdminCall {
  const { actor } = call;
  if (!mayCall(operation, actor)) throw refusalOf(actor);
  if (actor.kind !== 'builder') return call;
  const force = (part: 'params' | 'query' | 'body'): Readonly<Record<string, unknown>> => {
    const schema = operation.input[part];
    if (!schema || !Object.hasOwn(schema.shape, 'tenant')) return call[part];
    const named = call[part].tenant;
    if (named !== undefined && named !== actor.tenant)
      throw new PlatformError('not_found', 'There is no such tenant.', { reason: 'unknown_tenant' });
    return { ...call[part], tenant: actor.tenant };
  };
  return { ...call, params: force('params'), query: force('query'), body: force('body') };
}

function refusalOf({ kind }: Actor): PlatformError {
  if (kind !== 'staff')
    return new PlatformError('forbidden', 'Only staff of this platform may do this.', {
      reason: 'staff_only',
    });
  return new PlatformError('forbidden', 'Your role does not allow this. Ask an admin of this platform.', {
    reason: 'role_insufficient',
  });
}
