/** The registry's part of the directory's unit: its operations, tables and methods. */
import type { ScopeId, TenantId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { AdminCall } from '../access/actors.ts';
import { requireActingTenant } from '../access/callers.ts';
import { type Called, requireReach } from '../access/reach.ts';
import { type ChangeInput, type ChangeOutcome, makeChange } from '../changes/changes.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { sessionHostnames } from '../hostnames/given-names.ts';
import { type HostDestination, loadRoute, loadRoutes, type StoredRoute } from '../hostnames/store.ts';
import { defineFeature } from '../lib/feature.ts';
import type { CallOf } from '../lib/handlers.ts';
import { provisionScope } from '../scopes/operations.ts';
import { loadScope } from '../scopes/store.ts';
import { type BuiltIn, type RegisteredBuiltIn, registerBuiltIn } from './built-in.ts';
import { planPromotion, promoteVersion, readChannels } from './channels.ts';
import { deployVersion } from './deploy.ts';
import { discardVersion, type InstanceRef, planDiscard, SCOPES_OF } from './discard.ts';
import {
  admittedByRegistry,
  deleteInstallBlock,
  putInstallBlock,
  readInstallBlock,
} from './install-blocks.ts';
import { putListing, readListing, requestPublish } from './listing.ts';
import {
  createVertical,
  readInstances,
  readVertical,
  readVerticals,
  updateVerticalName,
} from './operations.ts';
import { registryMigrations } from './schema.ts';
import {
  bindScopeVersion,
  boundVersions,
  planBinding,
  readScopeVersion,
  scopeVersionOf,
  type scopeVersionSet,
  servingVersionOf,
  servingVersions,
} from './scope-version.ts';
import { admitVersion, readVersion, readVersions, registerVersion, rejectVersion } from './versions.ts';
import { DEPLOYED, loadVersion } from './versions-store.ts';
import { loadVertical, requireVertical } from './verticals-store.ts';

/** The most versions of one vertical in a report of its calls: the newest. */
const DEPLOYED_MAX = 100;

/** A version that may be running, with the hosts that it declared. */
export interface DeployedVersion {
  readonly version: string;
  readonly egress: readonly string[];
}

export interface PlannedMove {
  readonly changes: boolean;
  readonly scope: Pick<ScopeRecord, 'id' | 'tenant' | 'vertical'>;
  /** The script of the version to be bound, or of the one on prod; null for one that was never uploaded. */
  readonly script: string | null;
}

type VersionedRoute = StoredRoute & { readonly version: string | null };

export type RegistryMethods = ReturnType<typeof registryMethods>;

const registryMethods = (context: UnitContext) => ({
  /** @throws PlatformError `not_found` or `forbidden`, where the actor may not work on the vertical. */
  registryVertical: ({ call }: { readonly call: Called }): null => {
    requireActingTenant(context.db, call.actor);
    requireReach(context.db, call);
    requireVertical(context.db, call.actor, String(call.params.slug));
    return null;
  },

  registeredVertical: (slug: string): boolean => loadVertical(context.db, slug) !== undefined,

  deployedVersions: (slug: string): readonly DeployedVersion[] =>
    context.db
      .all<{ version: string; egress: string }>(DEPLOYED, slug, DEPLOYED_MAX)
      .map(({ version, egress }) => ({ version, egress: JSON.parse(egress) })),

  /** The next scopes of a vertical that have an instance, by id. */
  instancesOf: (page: { readonly vertical: string; readonly after: string }): readonly InstanceRef[] =>
    context.db.all<InstanceRef>(SCOPES_OF, page.vertical, page.after),

  /** Judges a binding, and tells whether it would change anything. */
  plannedBinding: ({ call }: { readonly call: AdminCall }): PlannedMove => {
    const { db } = context;
    requireActingTenant(db, call.actor);
    requireReach(db, call);
    const { changes, scope, version } = planBinding(db, call as unknown as CallOf<typeof scopeVersionSet>);
    const { id, tenant, vertical } = scope;
    const target = version ?? loadVertical(db, vertical)?.serving ?? null;
    const row = target === null ? undefined : loadVersion(db, vertical, target);
    const script = row && row.uploadedAtMs !== null ? row.script : null;
    return { changes, scope: { id: id as ScopeId, tenant: tenant as TenantId, vertical }, script };
  },

  bindScopeVersion: ({
    snapshot,
    ...input
  }: ChangeInput & { readonly snapshot: string | null }): ChangeOutcome =>
    makeChange(context, bindScopeVersion(snapshot), input),

  /** Every route with its version; null where the registry knows none. */
  versionedRoutes: (): readonly VersionedRoute[] => {
    const [verticals, scopes] = [servingVersions(context.db), boundVersions(context.db)];
    return loadRoutes(context.db).map((route) => ({
      ...route,
      version: scopes[route.scope] ?? verticals[route.vertical] ?? null,
    }));
  },

  /** The same for one host name, with the others of its scope; null for a name that is not active. */
  versionedRoute: (hostname: string): (VersionedRoute & Pick<HostDestination, 'hostnames'>) | null => {
    const route = loadRoute(context.db, hostname);
    if (!route) return null;
    const { version } = scopeVersionOf(context.db, { id: route.scope, vertical: route.vertical });
    return { ...route, version, hostnames: sessionHostnames(context.db, route) };
  },

  /** The version on prod; null where the registry knows none. */
  servingVersion: (vertical: string): string | null => servingVersionOf(context.db, vertical),

  /** The vertical of a tenant's scope; null for one that is not there, or is another tenant's. */
  verticalOfScope: (ref: { readonly tenant: string; readonly scope: string }): string | null =>
    loadScope(context.db, ref)?.vertical ?? null,

  /** The name of a tenant's scope; null for one that is not there, or is another tenant's. */
  nameOfScope: (ref: { readonly tenant: string; readonly scope: string }): string | null =>
    loadScope(context.db, ref)?.name ?? null,

  registerBuiltIn: (builtIn: BuiltIn): RegisteredBuiltIn => registerBuiltIn(context, builtIn),
});

export const verticalRegistryFeature = /* @__PURE__ */ defineFeature({
  operations: [
    readScopeVersion,
    readVerticals,
    readVertical,
    readInstances,
    readVersions,
    readVersion,
    readChannels,
    readListing,
    readInstallBlock,
    createVertical,
    updateVerticalName,
    registerVersion,
    admitVersion,
    rejectVersion,
    putListing,
    requestPublish,
    putInstallBlock,
    deleteInstallBlock,
    promoteVersion,
    deployVersion,
    admittedByRegistry(provisionScope),
    planPromotion,
    discardVersion,
    planDiscard,
  ],
  migrations: [registryMigrations],
  methods: registryMethods,
  queries: [
    'registryVertical',
    'registeredVertical',
    'deployedVersions',
    'instancesOf',
    'plannedBinding',
    'versionedRoute',
    'versionedRoutes',
    'servingVersion',
    'verticalOfScope',
    'nameOfScope',
  ],
});
