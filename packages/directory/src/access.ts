/**
 * Who may call what (spec 5.5; design: control-plane, "Actors"): decided once, from the operation's declaration,
 * before anything is looked up.
 */
import { PlatformError } from '@freehold/contracts';
import type { Actor, AdminCall } from './actors.ts';
import type { AdminOperation, StaffAccess } from './declarations/admin-operation.ts';
import { STAFF_PREFIX, type StaffRole } from './declarations/staff.ts';

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
      // Only a token that nobody owns comes without a role: see `tokens/owner.ts`.
      return actor.role === undefined || allows(actor.role, operation);
    case 'staff':
      return allows(actor.role, operation);
    case 'builder':
      return operation.builder === 'own-tenant';
    case 'vertical':
      // With a grant, which is looked up where it is used: see `acting.ts`.
      return operation.vertical !== undefined;
    default:
      return false;
  }
}

function allows(role: StaffRole, operation: AdminOperation): boolean {
  return Object.hasOwn(ALLOWED, role) && ALLOWED[role].includes(staffAccessOf(operation));
}

/**
 * The member of the roster whose rights an actor has, or null: for a push token, and for whom the wiring vouches, who is on
 * a roster of its own.
 */
export function memberBehind(actor: Actor): string | null {
  if (actor.kind === 'service') return actor.owner ?? null;
  const isPerson = actor.kind === 'staff' || actor.kind === 'builder';
  return isPerson && actor.id.startsWith(`${STAFF_PREFIX}_`) ? actor.id : null;
}

/**
 * Admits a call, with the tenant of a builder forced into it wherever the operation takes one.
 * @throws PlatformError `forbidden`: reason `staff_only` for a builder where only staff and services may call,
 * `not_for_verticals` for a vertical where no grant admits one, `role_insufficient` for a member of the staff whose role
 * does not reach, and for the service tokens that are theirs; `not_found` for a builder that names another tenant, whether
 * or not that tenant exists.
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
  if (kind === 'vertical')
    return new PlatformError('forbidden', 'No vertical may do this.', { reason: 'not_for_verticals' });
  if (kind !== 'staff' && kind !== 'service')
    return new PlatformError('forbidden', 'Only staff of this platform may do this.', {
      reason: 'staff_only',
    });
  const whose = kind === 'staff' ? 'Your role' : 'The role of whoever owns this token';
  return new PlatformError('forbidden', `${whose} does not allow this. Ask an admin of this platform.`, {
    reason: 'role_insufficient',
  });
}
