/** The routes of the management contract that call a vertical's hooks (spec 4.4). */
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
import { type InternalRoute, jsonRoute } from './internal-route.ts';
import type { PlatformSurfaceDeps, RequiredHook } from './platform-surface-deps.ts';

export function flavouredRoutes<E extends Env>(deps: PlatformSurfaceDeps<E['Bindings']>): InternalRoute<E>[] {
  const { ownerRoleKey } = deps;
  return [
    jsonRoute(ROUTES.provision, (request, env) => provision(deps, request, env)),
    jsonRoute(ROUTES.reconcile, (request, env) => reconcile(deps, request, env)),
    jsonRoute(ROUTES.deleteScope, (scope, env) => deleteScope(deps, scope, env)),
    jsonRoute(ROUTES.configure, async (request, env) => {
      const { keys, warnings } = await requireHook(deps, 'onConfigure')({ env, request, ownerRoleKey });
      // Keys only: a value may be a secret.
      return { keys: [...keys].sort(), ...told(warnings) };
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
    jsonRoute(ROUTES.ownerReplacement, async (request, env) => {
      const mint = requireHook(deps, 'mintOwnerReplacement');
      assertWebOrigin(request.origin);
      return mint({ env, request, ownerRoleKey });
    }),
    jsonRoute(ROUTES.ownerRecoveryEnd, async (request, env) => {
      const ended = await requireHook(deps, 'endOwnerRecovery')({ env, request, ownerRoleKey });
      const { tenantId, scopeId } = request;
      await deps.settleInvites?.({ env, request: { tenantId, scopeId }, ownerRoleKey });
      return ended;
    }),
    jsonRoute(ROUTES.sessionSecretRotate, async (request, env) => {
      const rotate = requireHook(deps, 'rotateSessionSecret');
      // By name: another field of the hook's answer could be the secret.
      const { formerValidUntil } = await rotate({ env, request, ownerRoleKey });
      return { formerValidUntil };
    }),
  ];
}

/**
 * Each step is idempotent, so that after a crash between two of them the request is sent again. Missing hooks are
 * found before the first write.
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
  const delivered =
    config === undefined
      ? undefined
      : await onConfigure?.({ env, request: { tenantId, scopeId, config }, ownerRoleKey });
  await deps.onProvision?.({ env, request: { ...request, status }, ownerRoleKey });
  await deps.settleInvites?.({ env, request: { tenantId, scopeId }, ownerRoleKey });
  return { scopeId, status, ownerSeat, ...told(delivered?.warnings) };
}

/** The contract's part of warnings. A vertical may add fields that the platform should not see. */
function told(warnings: readonly DeliveryWarning[] = []): { warnings?: DeliveryWarning[] } {
  return warnings.length === 0 ? {} : { warnings: warnings.map(({ code, detail }) => ({ code, detail })) };
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
  // The platform's roles never replace a role of the vertical's own.
  const roles = { ...platformRoles, ...(request.roles ?? deps.roles) };
  await host.projectRolesLocal({ tenantId, scopeId }, roles);
  const { ownerRoleKey } = deps;
  await deps.onReconcile?.({ env, request: { tenantId, scopeId, roles }, ownerRoleKey });
  await deps.settleInvites?.({ env, request: { tenantId, scopeId }, ownerRoleKey });
  return { scopeId, roles: Object.keys(roles).sort(), ...told };
}

/** A host from before entitlements cannot store them, and must not seem to have done so. */
function requireEntitlements(host: VerticalScopeHost & Partial<ScopeEntitlements>): ScopeEntitlements {
  if (host.projectEntitlementsLocal) return host as ScopeEntitlements;
  throw new PlatformError('unsupported', 'The scopes of this vertical take no entitlements.', {
    reason: 'no_entitlements',
  });
}

/**
 * The hook goes first: after the deletion a repeat is `not_found`, so that a failed hook would never be called again.
 * The tenant of the scope is checked before the hook, so that it touches no other tenant's scope. Where the database is
 * gone, what is left of the scope is removed, at each repeat, and the answer is `not_found` as before.
 */
async function deleteScope<Bindings>(
  deps: PlatformSurfaceDeps<Bindings>,
  scope: ScopeRef,
  env: Bindings,
): Promise<DeleteScopeResponse> {
  const host = await deps.hostFor(env);
  const { onDeleteScope, ownerRoleKey } = deps;
  try {
    if (onDeleteScope) await requireOwned(host, scope);
    else await host.deleteScopeLocal(scope);
  } catch (error) {
    if (!(error instanceof PlatformError) || error.reason !== 'unknown_scope') throw error;
    // Rejects where it is another tenant's.
    await host.deleteScopeLocal({ ...scope, ifMissing: 'clear' });
    await onDeleteScope?.({ env, request: scope, ownerRoleKey });
    throw error;
  }
  if (onDeleteScope) {
    await onDeleteScope({ env, request: scope, ownerRoleKey });
    await host.deleteScopeLocal(scope);
  }
  return { scopeId: scope.scopeId };
}

/** @throws PlatformError `not_found`, reason `unknown_scope`, for another tenant's scope, and for one that is not there. */
async function requireOwned(host: VerticalScopeHost, scope: ScopeRef): Promise<void> {
  await host.appliedMigrationsLocal(scope).catch((error: unknown) => {
    // A damaged scope cannot say whose it is; the platform can.
    if (!(error instanceof PlatformError) || error.reason !== 'unit_unreadable') throw error;
  });
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

/** A minted link goes to a person's browser, so it must lead to a web page. */
function assertWebOrigin(origin: string): void {
  const { protocol } = new URL(origin);
  if (protocol === 'https:' || protocol === 'http:') return;
  throw new PlatformError('validation_failed', 'The body is not valid. origin: must be a web address', {
    errors: [{ path: 'origin', message: 'must be a web address' }],
  });
}
