/** The hooks of the management contract: owner seats and delivered settings. */
import { IDENTITY_CHOICE_KEY } from '@freehold/auth';
import {
  type DeliveryWarning,
  type EnvSpec,
  PlatformError,
  type ScopeRef,
  toTimestamp,
  type VerticalManifest,
} from '@freehold/contracts';
import { RETENTION_SETTING, type ScopeHost } from '@freehold/kernel';
import type { PlatformSurfaceDeps } from '@freehold/vertical-host';
import type { Bindings, Services } from '../declaration/env.ts';
import { membershipsOf } from '../members/memberships.ts';
import { readModelSettings } from '../models/model-settings.ts';
import { mailToHolder } from './holder-notice.ts';

type SettingsPatch = Readonly<Record<string, string | null>>;

/** The dependencies of `mountPlatformSurface`, every hook included. */
export function platformSurface({
  deps,
  manifest,
  problems,
  host,
  directory,
  signIn,
  tenants,
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

    onConfigure: async ({ env, request: { tenantId, scopeId, config } }) => {
      const tenant = directory(tenantId, { create: true });
      const delivered = { ...(await tenant.getConfig({ scopeId })), ...config };
      await requireOwner(host, { tenantId, scopeId });
      // The scope first: it checks the settings, and a refused one is not stored.
      await host.scope(scopeId).projectSettings({ settings: settingsForScope(manifest.env, delivered) });
      const { keys, warnings = [] } = await tenant.putConfig({ scopeId, config });
      return { keys, warnings: [...warnings, ...findModelWarnings(manifest, config, delivered, env)] };
    },

    ownerSeat: ({ request: { tenantId, scopeId } }) => directory(tenantId).ownerSeat({ scopeId }),

    mintOwnerClaim: async ({ request: { tenantId, scopeId, origin } }) => {
      const { url, expiresAtMs } = await directory(tenantId).mintOwnerClaimLink({ scopeId, origin });
      return { url, expiresAt: toTimestamp(expiresAtMs) };
    },

    mintOwnerRecovery: async ({ request: { tenantId, scopeId, ...asked } }) => {
      const tenant = directory(tenantId);
      const scope = host.scope(scopeId);
      const role = manifest.ownerRole;
      const { url, invite } = await tenant.mintOwnerRecovery({ scopeId, role, ...asked });
      // The link is handed out only after its principal has the role. After an interruption, the next call repairs it.
      await scope.assignRole({ principal: invite.principal, role, by: 'platform' });
      return { url, expiresAt: toTimestamp(invite.expiresAtMs) };
    },

    mintOwnerReplacement: async ({ request: { tenantId, scopeId, ...asked } }) => {
      const scope = host.scope(scopeId);
      const role = manifest.ownerRole;
      const made = await directory(tenantId).mintOwnerReplacement({ scopeId, role, ...asked });
      await scope.assignRole({ principal: made.invite.principal, role, by: 'platform' });
      const { name } = await scope.identify({});
      const send = deps.tellHolder ?? ((notice) => mailToHolder(deps.mailer, notice));
      const notice = await send({ to: made.holder.email, business: name, why: asked.why }).catch(
        (error: unknown) => {
          // The link is made all the same: its answer says that no mail went out.
          deps.onIncident(error, { kind: manifest.slug, key: 'owner-replacement', method: 'mail' });
          return 'log' as const;
        },
      );
      return { url: made.url, expiresAt: toTimestamp(made.invite.expiresAtMs), notice };
    },

    endOwnerRecovery: ({ request: { tenantId, ...asked } }) => directory(tenantId).endOwnerRecovery(asked),

    rotateSessionSecret: async ({ request: { tenantId, scopeId, ...asked } }) => {
      await requireOwner(host, { tenantId, scopeId });
      const { formerValidUntilMs } = await directory(tenantId).rotateSessionSecret(asked);
      return { formerValidUntil: formerValidUntilMs === null ? null : toTimestamp(formerValidUntilMs) };
    },

    onProvision: async ({ request: { tenantId, scopeId } }) => {
      // A new instance has schedules, and no round of work has looked at them yet.
      deps.onWork?.(scopeId);
      const { defaultIdentity } = deps;
      if (!defaultIdentity) return;
      const tenant = directory(tenantId);
      // A default never overwrites a delivered setting.
      if (Object.hasOwn(await tenant.getConfig({ scopeId }), IDENTITY_CHOICE_KEY)) return;
      const choice = JSON.stringify({ mode: 'oidc', ...defaultIdentity });
      await tenant.putConfig({ scopeId, config: { [IDENTITY_CHOICE_KEY]: choice } });
    },

    settleInvites: ({ request: { tenantId, scopeId } }) =>
      membershipsOf({ host, directory, manifest }, { tenant: tenantId, scope: scopeId }).settleInvites(),

    // The directory is the tenant's and stays: with its other instances, and with people who have accounts.
    onDeleteScope: async ({ request: { tenantId, scopeId } }) => {
      await directory(tenantId, { create: true }).forgetScope({ scopeId });
      signIn.forget({ scopeId });
      tenants.forget({ scopeId });
    },
  };
}

/** Returns a warning about a delivered model that no member can use: summaries would be refused, one by one. */
function findModelWarnings(
  manifest: VerticalManifest,
  patch: SettingsPatch,
  delivered: SettingsPatch,
  env: Bindings,
): readonly DeliveryWarning[] {
  if (!Object.entries(patch).some(([key, value]) => key.startsWith('FREEHOLD_MODEL') && value !== null))
    return [];
  const declared = manifest.env;
  const defaults = Object.fromEntries(Object.entries(declared).map(([key, each]) => [key, each.default]));
  try {
    readModelSettings({ ...defaults, ...env, ...delivered }, env);
    return [];
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return [{ code: 'model_unusable', detail: error.message }];
  }
}

/** @throws PlatformError `not_found`, for another tenant's scope as for one that is not there. */
async function requireOwner(host: ScopeHost, { tenantId, scopeId }: ScopeRef): Promise<void> {
  const { tenantId: owner } = await host.scope(scopeId).identify({});
  if (owner !== tenantId)
    throw new PlatformError('not_found', 'There is no such scope.', { reason: 'unknown_scope' });
}

/** The settings for the scope itself: declared ones that are no secrets, and how long it stores its history. */
export function settingsForScope(declared: EnvSpec, config: SettingsPatch): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, value]) => {
      const isTold =
        key === RETENTION_SETTING || (Object.hasOwn(declared, key) && declared[key]?.secret !== true);
      return isTold && value !== null ? [[key, value]] : [];
    }),
  );
}
