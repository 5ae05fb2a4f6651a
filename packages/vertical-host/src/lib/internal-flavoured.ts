/** The routes of the management contract that a vertical flavours through its hooks (spec 4.4). */
import {
  configureRequest,
  configureResponse,
  ownerClaimRequest,
  ownerClaimResponse,
  ownerSeatResponse,
  PlatformError,
  type ProvisionRequest,
  type ProvisionResponse,
  provisionRequest,
  provisionResponse,
} from '@freehold/contracts';
import type { Env } from 'hono';
import type { PlatformSurfaceDeps, RequiredHook } from '../platform-surface-deps.ts';
import { type InternalRoute, readRoute, writeRoute } from './internal-route.ts';
import { strictScopeRef } from './scope-ref.ts';

export function flavouredRoutes<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E>[] {
  const { ownerRoleKey } = deps;
  return [
    writeRoute({
      path: '/internal/provision',
      request: provisionRequest,
      response: provisionResponse,
      answer: (request, env: E['Bindings']) => provision(deps, request, env),
    }),
    writeRoute({
      path: '/internal/configure',
      request: configureRequest,
      response: configureResponse,
      answer: async (request, env: E['Bindings']) => {
        const { keys } = await requireHook(deps, 'onConfigure')({ env, request, ownerRoleKey });
        // Keys only: a value may be a secret.
        return { keys: [...keys].sort() };
      },
    }),
    readRoute({
      path: '/internal/owner-seat',
      request: strictScopeRef,
      response: ownerSeatResponse,
      answer: (request, env: E['Bindings']) => requireHook(deps, 'ownerSeat')({ env, request, ownerRoleKey }),
    }),
    writeRoute({
      path: '/internal/owner-claim',
      request: ownerClaimRequest,
      response: ownerClaimResponse,
      status: 201,
      answer: async (request, env: E['Bindings']) => {
        const mint = requireHook(deps, 'mintOwnerClaim');
        assertWebOrigin(request.origin);
        return mint({ env, request, ownerRoleKey });
      },
    }),
  ];
}

/**
 * Every step does nothing the second time, and the order leaves nothing half usable: a crash between two of them is
 * repaired by sending the request again. Hooks that will be needed are asked for before anything is written.
 */
async function provision<Bindings>(
  deps: PlatformSurfaceDeps<Bindings>,
  request: ProvisionRequest,
  env: Bindings,
): Promise<ProvisionResponse> {
  const { ownerRoleKey } = deps;
  const { tenantId, scopeId, name, config } = request;
  const resolveOwner = requireHook(deps, 'resolveOwner');
  const onConfigure = config === undefined ? undefined : requireHook(deps, 'onConfigure');
  const host = await deps.hostFor(env);
  const status = await host.provisionScopeLocal({ tenantId, scopeId, name });
  await host.projectRolesLocal({ tenantId, scopeId }, deps.roles);
  const { ownerSeat } = await resolveOwner({ env, request, ownerRoleKey });
  if (config !== undefined)
    await onConfigure?.({ env, request: { tenantId, scopeId, config }, ownerRoleKey });
  await deps.onProvision?.({ env, request: { ...request, status }, ownerRoleKey });
  return { scopeId, status, ownerSeat };
}

function requireHook<Bindings, Name extends RequiredHook>(
  deps: PlatformSurfaceDeps<Bindings>,
  name: Name,
): NonNullable<PlatformSurfaceDeps<Bindings>[Name]> {
  const hook = deps[name];
  if (hook) return hook;
  throw new PlatformError('unsupported', `This vertical does not supply ${name}.`, {
    reason: 'hook_omitted',
  });
}

/** The link that is minted goes to a person's browser, so it leads to a web page and to nothing else. */
function assertWebOrigin(origin: string): void {
  const { protocol } = new URL(origin);
  if (protocol === 'https:' || protocol === 'http:') return;
  throw new PlatformError('validation_failed', 'The body is not valid. origin: must be a web address', {
    errors: [{ path: 'origin', message: 'must be a web address' }],
  });
}
