/** What the platform asks of this vertical beyond the scopes themselves: owner seats and delivered settings. */
import { IDENTITY_CHOICE_KEY } from '@freehold/auth';
import { toTimestamp } from '@freehold/contracts';
import type { PlatformSurfaceDeps } from '@freehold/vertical-host';
import { manifest } from '../manifest.ts';
import type { Bindings, Services } from './env.ts';

/** The dependencies of `mountPlatformSurface`, every hook included. */
export function platformSurface({
  deps,
  problems,
  host,
  directory,
}: Services): PlatformSurfaceDeps<Bindings> {
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

    mintOwnerClaim: async ({ request: { tenantId, scopeId, origin } }) => {
      const { url, expiresAtMs } = await directory(tenantId).mintOwnerClaimLink({ scopeId, origin });
      return { url, expiresAt: toTimestamp(expiresAtMs) };
    },

    onProvision: async ({ request: { tenantId, scopeId } }) => {
      const { defaultIdentity } = deps;
      if (!defaultIdentity) return;
      const tenant = directory(tenantId);
      // What the platform delivered is never overwritten by what is only a default.
      if (Object.hasOwn(await tenant.getConfig({ scopeId }), IDENTITY_CHOICE_KEY)) return;
      const choice = JSON.stringify({ mode: 'oidc', ...defaultIdentity });
      await tenant.putConfig({ scopeId, config: { [IDENTITY_CHOICE_KEY]: choice } });
    },
  };
}
