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
 * The hook goes first, while the scope is there; where its database is gone, the hook follows what is left of it.
 * The tenant of the scope is checked before the hook, so that it touches no other tenant's scope. A damaged or lost scope
 * cannot say whose it is; the platform can. Each step may be repeated.
 */
async function deleteScope<Bindings>(
  deps: PlatformSurfaceDeps<Bindings>,
  scope: ScopeRef,
  env: Bindings,
): Promise<DeleteScopeResponse> {
  const host = await deps.hostFor(env);
  if (deps.onDeleteScope) {
    const reason = await host.appliedMigrationsLocal(scope).then(() => null, reasonOfLost);
    // Rejects where it is another tenant's.
    if (reason === 'unknown_scope') await host.deleteScopeLocal({ ...scope, ifMissing: 'clear' });
    await deps.onDeleteScope({ env, request: scope, ownerRoleKey: deps.ownerRoleKey });
    if (reason === 'unknown_scope') return { scopeId: scope.scopeId };
  }
  await host.deleteScopeLocal({ ...scope, ifMissing: 'clear' });
  return { scopeId: scope.scopeId };
}

/** The reason why a scope cannot say whose it is. Throws any other error. */
function reasonOfLost(error: unknown): 'unknown_scope' | 'unit_unreadable' {
  const reason = error instanceof PlatformError ? error.reason : undefined;
  if (reason === 'unknown_scope' || reason === 'unit_unreadable') return reason;
  throw error;
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
