/**
 * Which caller may call which operation (spec 5.5; design: control-plane, "Actors"). The declaration of the operation
 * decides, before anything is read.
 */
import { PlatformError } from '@freehold/contracts';
import type { AdminOperation, StaffAccess } from '../declarations/admin-operation.ts';
import { STAFF_PREFIX, type StaffRole } from '../declarations/staff.ts';
import { isAtLeast, type PushTokenKind } from '../declarations/tokens.ts';
import type { Actor, AdminCall } from './actors.ts';
import { reachesOperation } from './program-access.ts';
import { rightsOf } from './reach.ts';

/** The accesses of each role. A role that is not listed has none. */
const ALLOWED: Readonly<Record<StaffRole, readonly StaffAccess[]>> = {
  admin: ['read', 'operate', 'administer'],
  operator: ['read', 'operate'],
  auditor: ['read'],
};

/** Returns the access that a member of the staff needs for an operation. */
export function staffAccessOf({ staff, audit, method }: AdminOperation): StaffAccess {
  if (staff !== undefined) return staff;
  // An operation counts as a change unless its declaration says that it only reads.
  return audit === 'access' || (audit === 'none' && method === 'GET') ? 'read' : 'operate';
}

/** Whether an actor of this kind and role may call the operation for any tenant. If not, it need not be shown to the actor. */
export function mayCall(operation: AdminOperation, actor: Actor): boolean {
  return isAllowed(operation, actor) && isWithinGrant(operation, actor);
}

/** Whether the grant of a program, if one acts, reaches the operation. */
function isWithinGrant(operation: AdminOperation, actor: Actor): boolean {
  const program = actor.kind === 'staff' || actor.kind === 'builder' ? actor.program : undefined;
  return program === undefined || reachesOperation(program, operation);
}

function isAllowed(operation: AdminOperation, actor: Actor): boolean {
  switch (actor.kind) {
    case 'service':
      // Only the operator's own tokens come without a role: see `callers.ts`.
      return actor.role === undefined || allows(actor.role, operation);
    case 'staff':
      return allows(actor.role, operation);
    case 'builder':
      return operation.builder === 'own-tenant' && isAtLeast(rightsOf(actor).kind, leastOf(operation));
    case 'vertical':
      // `requireActing` looks the grant up in the transaction that uses it.
      return operation.vertical !== undefined;
    default:
      return false;
  }
}

/** The least kind of push token that an operation takes. */
function leastOf({ pushToken }: AdminOperation): PushTokenKind {
  return pushToken ?? 'operate';
}

function allows(role: StaffRole, operation: AdminOperation): boolean {
  return Object.hasOwn(ALLOWED, role) && ALLOWED[role].includes(staffAccessOf(operation));
}

/** The member of the roster whose rights an actor has. Null for a push token and for staff of the wiring's own roster. */
export function memberBehind(actor: Actor): string | null {
  if (actor.kind === 'service') return actor.owner ?? null;
  const isPerson = actor.kind === 'staff' || actor.kind === 'builder';
  return isPerson && actor.id.startsWith(`${STAFF_PREFIX}_`) ? actor.id : null;
}

/**
 * Admits a call. Returns it with the tenant of a builder put into every part that names a tenant.
 * @throws PlatformError `forbidden`: reason `staff_only` for a builder at an operation for staff and services, `token_kind`
 * for a push token of a lesser kind, `program_not_allowed` for a program whose grant does not reach the operation,
 * `not_for_verticals` for a vertical where no grant exists, `role_insufficient` for a member of the staff and for their
 * service tokens; `not_found` for a builder that names another tenant, whether or not that tenant exists.
 */
export function admitCall(operation: AdminOperation, call: AdminCall): AdminCall {
  const { actor } = call;
  if (!mayCall(operation, actor)) throw refusalOf(actor, operation);
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

function refusalOf(actor: Actor, operation: AdminOperation): PlatformError {
  const { kind } = actor;
  if ((kind === 'staff' || kind === 'builder') && actor.program && isAllowed(operation, actor))
    return new PlatformError(
      'forbidden',
      `${actor.program.name} may not do this for ${actor.name}: it was not let in for that. Let it in again to allow it.`,
      { reason: 'program_not_allowed' },
    );
  if (kind === 'vertical')
    return new PlatformError('forbidden', 'No vertical may do this.', { reason: 'not_for_verticals' });
  if (kind === 'builder' && operation.builder === 'own-tenant')
    return new PlatformError(
      'forbidden',
      `A push token of the kind ${rightsOf(actor).kind} may not do this; it takes the kind ${leastOf(operation)}. Ask the staff of this platform for one.`,
      { reason: 'token_kind' },
    );
  if (kind !== 'staff' && kind !== 'service')
    return new PlatformError('forbidden', 'Only staff of this platform may do this.', {
      reason: 'staff_only',
    });
  const role = kind === 'staff' ? 'Your role' : 'The role of the owner of this token';
  return new PlatformError('forbidden', `${role} does not allow this. Ask an admin of this platform.`, {
    reason: 'role_insufficient',
  });
}
