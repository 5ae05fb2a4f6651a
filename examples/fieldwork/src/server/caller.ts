/** From a request to a principal: who proves who is asking, and who that is to this business. */
import { PlatformError, type PrincipalId } from '@freehold/contracts';
import type { manifest } from '../manifest.ts';
import { type Caller, type FieldworkContext, requireNode, type Services, scopeOf } from './env.ts';
import { signInException } from './sign-in.ts';

/**
 * Who is asking, settled once a request. While the owner seat waits to be claimed, this is what claims it.
 * @throws PlatformError `not_found` when the scope is not this tenant's.
 */
export function callerOf(services: Services, c: FieldworkContext): Promise<Caller> {
  const known = c.get('caller') as Promise<Caller> | undefined;
  if (known) return known;
  const caller = resolveCaller(services, c);
  // Whoever awaits it hears of a failure; a second listener must not make it an unhandled one.
  caller.catch(() => undefined);
  c.set('caller', caller);
  return caller;
}

async function resolveCaller(services: Services, c: FieldworkContext): Promise<Caller> {
  const { tenant, scope } = requireNode(c);
  const tenantId = await services.tenants.of(scope);
  // The router has said whose scope this is. If it were wrong, one tenant's people would walk into another's.
  if (tenantId !== tenant) throw new PlatformError('not_found', 'There is no application at this address.');
  const { signIn, subject, principal } = await services.signIn.recognise(c);
  // Whoever refuses the caller later says how to sign in here.
  c.set('signIn', signIn);
  return { subject, principal };
}

/**
 * The principal of a signed-in member: the gate of everything under `/api` but the door itself (spec 1).
 * @throws HTTPException 401 that says how to sign in; PlatformError `forbidden`, reason `not_a_member`.
 */
export async function authenticatedPrincipal(services: Services, c: FieldworkContext): Promise<PrincipalId> {
  const { subject, principal } = await callerOf(services, c);
  if (!subject) throw signInException(c);
  if (!principal)
    throw new PlatformError(
      'forbidden',
      'You are signed in, but you are not a member here. Ask the owner for an invite.',
      {
        reason: 'not_a_member',
      },
    );
  return principal;
}

/**
 * Demands a permission for the whole scope, for routes that are not operations. A refusal is in the denial log.
 * @throws PlatformError `permission_denied`
 */
export async function requirePermission(
  services: Services,
  c: FieldworkContext,
  permission: keyof typeof manifest.permissions,
): Promise<PrincipalId> {
  const principal = await authenticatedPrincipal(services, c);
  await scopeOf(services, c).check({ principal, permission });
  return principal;
}
