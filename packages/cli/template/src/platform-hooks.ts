/** Answers the platform's requests beyond the scopes: the owner seat and delivered settings. */
import { toTimestamp } from '@freehold/contracts';
import type { PlatformSurfaceDeps, ProblemOptions } from '@freehold/vertical-host';
import type { AppDeps, Bindings, Services } from './env.ts';
import { manifest } from './manifest.ts';

/**
 * Returns the dependencies of `mountPlatformSurface`. Without `mintOwnerClaim` the platform gets 501: add it together
 * with a page that passes the link's token to `claimOwner` of the identity directory.
 */
export function platformSurface(
  deps: AppDeps,
  { host, directory, instanceAuthFor }: Services,
  problems: ProblemOptions,
): PlatformSurfaceDeps<Bindings> {
  return {
    ...problems,
    platformSecret: () => deps.platformSecret,
    hostFor: () => host,
    roles: Object.fromEntries(Object.entries(manifest.roles).map(([key, role]) => [key, role.permissions])),
    ownerRoleKey: manifest.ownerRole,

    resolveOwner: async ({ request: { tenantId, scopeId, owner }, ownerRoleKey }) => {
      const { principal, state } = await directory(tenantId, { create: true }).setPendingOwner({
        scopeId,
        ...(owner?.email === undefined ? {} : { email: owner.email }),
        ...(owner?.name === undefined ? {} : { name: owner.name }),
      });
      await host.scope(scopeId).assignRole({ principal, role: ownerRoleKey, by: 'platform' });
      return { ownerSeat: state };
    },

    onConfigure: ({ request: { tenantId, scopeId, config } }) =>
      directory(tenantId, { create: true }).putConfig({ scopeId, config }),

    ownerSeat: ({ request: { tenantId, scopeId } }) => directory(tenantId).ownerSeat({ scopeId }),

    rotateSessionSecret: async ({ request: { tenantId, by, keepFormer } }) => {
      const { formerValidUntilMs } = await directory(tenantId).rotateSessionSecret({ by, keepFormer });
      return { formerValidUntil: formerValidUntilMs === null ? null : toTimestamp(formerValidUntilMs) };
    },

    // The directory belongs to the tenant, and would keep the members of a deleted instance.
    onDeleteScope: async ({ request: { tenantId, scopeId } }) => {
      await directory(tenantId, { create: true }).forgetScope({ scopeId });
      instanceAuthFor.forget({ scopeId });
    },
  };
}
