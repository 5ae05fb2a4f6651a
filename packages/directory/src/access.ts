/**
 * Who may call what (spec 5.5; design: control-plane, "Actors"): decided once, from the operation's declaration,
 * before anything is looked up.
 */
import { PlatformError } from '@freehold/contracts';
import type { AdminCall } from './actors.ts';
import type { AdminOperation } from './declarations/admin-operation.ts';

/**
 * Admits a call, with the tenant of a builder forced into it wherever the operation takes one.
 * @throws PlatformError `forbidden`, reason `staff_only`, for a builder where only staff and services may call;
 * `not_found` for a builder that names another tenant, whether or not that tenant exists.
 */
export function admitCall(operation: AdminOperation, call: AdminCall): AdminCall {
  const { actor } = call;
  if (actor.kind === 'staff' || actor.kind === 'service') return call;
  if (actor.kind !== 'builder' || operation.builder !== 'own-tenant')
    throw new PlatformError('forbidden', 'Only staff of this platform may do this.', {
      reason: 'staff_only',
    });
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
