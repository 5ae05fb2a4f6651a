/** The registry's methods of the directory unit that no operation names directly. */
import type { UnitContext } from '@freehold/store';
import type { Actor, AdminCall } from '../actors.ts';
import { loadRoute, loadRoutes, type StoredRoute } from '../hostnames/store.ts';
import { type ChangeInput, type ChangeOutcome, makeChange } from '../lib/changes.ts';
import type { CallOf } from '../lib/handlers.ts';
import { requireActingTenant } from '../tenants/store.ts';
import { type BuiltIn, type RegisteredBuiltIn, registerBuiltIn } from './built-in.ts';
import type { scopeVersionSet } from './scope-version.ts';
import { bindScopeVersion, planBinding } from './scope-version.ts';
import { boundVersions, scopeVersionOf, servingVersionOf, servingVersions } from './scope-versions-store.ts';
import { DEPLOYED } from './versions-store.ts';
import { loadVertical, requireVertical } from './verticals-store.ts';

/** How many versions of one vertical a report on what it calls goes over: the newest. */
const DEPLOYED_MAX = 100;

/** A version that may be running, with the hosts it said it would call. */
export interface DeployedVersion {
  readonly version: string;
  readonly egress: readonly string[];
}

type VersionedRoute = StoredRoute & { readonly version: string | null };

export const registryMethods = (context: UnitContext) => ({
  /** Whether somebody may work on a vertical. @throws PlatformError `not_found`, `forbidden`. */
  registryVertical: ({ actor, slug }: { readonly actor: Actor; readonly slug: string }): null => {
    requireActingTenant(context.db, actor);
    requireVertical(context.db, actor, slug);
    return null;
  },

  /** Whether a slug is in the registry. */
  registeredVertical: (slug: string): boolean => loadVertical(context.db, slug) !== undefined,

  deployedVersions: (slug: string): readonly DeployedVersion[] =>
    context.db
      .all<{ version: string; egress: string }>(DEPLOYED, slug, DEPLOYED_MAX)
      .map(({ version, egress }) => ({ version, egress: JSON.parse(egress) })),

  /** Judges a binding, and says whether it would change anything. */
  plannedBinding: ({ call }: { readonly call: AdminCall }): { readonly changes: boolean } => {
    requireActingTenant(context.db, call.actor);
    const { changes } = planBinding(context.db, call as unknown as CallOf<typeof scopeVersionSet>);
    return { changes };
  },

  bindScopeVersion: ({
    snapshot,
    ...input
  }: ChangeInput & { readonly snapshot: string | null }): ChangeOutcome =>
    makeChange(context, bindScopeVersion(snapshot), input),

  /** Every route with the version behind it; null where the registry knows of none. */
  versionedRoutes: (): readonly VersionedRoute[] => {
    const [verticals, scopes] = [servingVersions(context.db), boundVersions(context.db)];
    return loadRoutes(context.db).map((route) => ({
      ...route,
      version: scopes[route.scope] ?? verticals[route.vertical] ?? null,
    }));
  },

  /** The same for one host name; null for a name that is not active. */
  versionedRoute: (hostname: string): VersionedRoute | null => {
    const route = loadRoute(context.db, hostname);
    if (!route) return null;
    const { version } = scopeVersionOf(context.db, { id: route.scope, vertical: route.vertical });
    return { ...route, version };
  },

  /** What prod serves of a vertical; null where the registry knows of nothing. */
  servingVersion: (vertical: string): string | null => servingVersionOf(context.db, vertical),

  registerBuiltIn: (builtIn: BuiltIn): RegisteredBuiltIn => registerBuiltIn(context, builtIn),
});
