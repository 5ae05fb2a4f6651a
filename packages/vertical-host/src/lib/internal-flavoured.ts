/** The routes of the management contract that a vertical flavours through its hooks (spec 4.4). */
import {
  type DeleteScopeResponse,
  type DeliveryWarning,
  PlatformError,
  type ProvisionRequest,
  type ProvisionResponse,
  type ReconcileRequest,
  type ReconcileResponse,
  MANAGEMENT_ROUTES as ROUTES,
  type ScopeEntitlements,
  type ScopeRef,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { Env } from 'hono';
import type { PlatformSurfaceDeps, RequiredHook } from '../platform-surface-deps.ts';
import { type InternalRoute, jsonRoute } from './internal-route.ts';

export function flavouredRoutes<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E>[] {
  const { ownerRoleKey } = deps;
  return [
    jsonRoute(ROUTES.provision, (request, env) => provision(deps, request, env)),
    jsonRoute(ROUTES.reconcile, (request, env) => reconcile(deps, request, env)),
    jsonRoute(ROUTES.deleteScope, (scope, env) => deleteScope(deps, scope, env)),
    jsonRoute(ROUTES.configure, async (request, env) => {
      const { keys, warning } = await requireHook(deps, 'onConfigure')({ env, request, ownerRoleKey });
      // Keys only: a value may be a secret.
      return { keys: [...keys].sort(), ...(warning === undefined ? {} : { warnings: [only(warning)] }) };
    }),
    jsonRoute(ROUTES.ownerSeat, async (request, env) =>
      requireHook(deps, 'ownerSeat')({ env, request, ownerRoleKey }),
    ),
    jsonRoute(ROUTES.ownerClaim, async (request, env) => {
      const mint = requireHook(deps, 'mintOwnerClaim');
      assertWebOrigin(request.origin);
      return mint({ env, request, ownerRoleKey });
    }),
    jsonRoute(ROUTES.ownerRecovery, async (request, env) => {
      const mint = requireHook(deps, 'mintOwnerRecovery');
      assertWebOrigin(request.origin);
      return mint({ env, request, ownerRoleKey });
    }),
    jsonRoute(ROUTES.sessionSecretRotate, async (request, env) => {
      const rotate = requireHook(deps, 'rotateSessionSecret');
      // By name: whatever else a hook answers could be the secret.
      const { formerValidUntil } = await rotate({ env, request, ownerRoleKey });
      return { formerValidUntil };
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

/** What the contract has of a warning. A vertical may know more of it than a platform should. */
function only({ code, detail }: DeliveryWarning): DeliveryWarning {
  return { code, detail };
}

async function reconcile<Bindings>(
  deps: PlatformSurfaceDeps<Bindings>,
  request: ReconcileRequest,
  env: Bindings,
): Promise<ReconcileResponse> {
  const { tenantId, scopeId, entitlements, platformRoles } = request;
  const host = await deps.hostFor(env);
  if (entitlements)
    await requireEntitlements(host).projectEntitlementsLocal({ tenantId, scopeId }, entitlements);
  const told = entitlements ? { entitlements: Object.keys(entitlements.items).sort() } : {};
  if (entitlements && !request.roles && !platformRoles) return { scopeId, ...told };
  // What the platform adds never changes what a role of the vertical's own means.
  const roles = { ...platformRoles, ...(request.roles ?? deps.roles) };
  await host.projectRolesLocal({ tenantId, scopeId }, roles);
  await deps.onReconcile?.({ env, request: { tenantId, scopeId, roles }, ownerRoleKey: deps.ownerRoleKey });
  return { scopeId, roles: Object.keys(roles).sort(), ...told };
}

/** A host that was written before there were entitlements has nowhere to keep them, and nobody may think it had. */
function requireEntitlements(host: VerticalScopeHost & Partial<ScopeEntitlements>): ScopeEntitlements {
  if (host.projectEntitlementsLocal) return host as ScopeEntitlements;
  throw new PlatformError('unsupported', 'The scopes of this vertical take no entitlements.', {
    reason: 'no_entitlements',
  });
}

/**
 * The hook goes first: once the scope is gone, asking again is `not_found`, and a hook that had failed would never be
 * called again. Whether the scope is the tenant's is asked before that, so that nobody else's is taken apart.
 */
async function deleteScope<Bindings>(
  deps: PlatformSurfaceDeps<Bindings>,
  scope: ScopeRef,
  env: Bindings,
): Promise<DeleteScopeResponse> {
  const host = await deps.hostFor(env);
  if (deps.onDeleteScope) {
    await host.appliedMigrationsLocal(scope);
    await deps.onDeleteScope({ env, request: scope, ownerRoleKey: deps.ownerRoleKey });
  }
  await host.deleteScopeLocal(scope);
  return { scopeId: scope.scopeId };
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
