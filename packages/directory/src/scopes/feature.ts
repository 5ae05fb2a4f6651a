/** The feature of scopes and their snapshots. */

import type { Actor } from '../access/actors.ts';
import { requireActing } from '../access/callers.ts';
import { defineFeature } from '../lib/feature.ts';
import { admittedByRegistry } from '../vertical-registry/install-blocks.ts';
import { deleteSnapshot, readSnapshots, restoreScope, rewindScope, takeSnapshot } from './copies.ts';
import { planCopy, planRewindChecks, planSnapshotDelete } from './copies-plan.ts';
import { configureScope, provisionScope, readFleet, readScope, readScopes } from './operations.ts';
import { snapshotMigrations } from './snapshot-store.ts';
import { planScopeStatus, reapScope, reapScopeMethods, setScopeStatus } from './status.ts';
import { loadScopeTarget, tenantOfScope } from './target.ts';

export const scopesFeature = defineFeature({
  operations: [
    readFleet,
    readScopes,
    readScope,
    readSnapshots,
    setScopeStatus,
    admittedByRegistry(provisionScope),
    configureScope,
    rewindScope,
    takeSnapshot,
    deleteSnapshot,
    reapScope,
    restoreScope,
    planScopeStatus,
    planCopy,
    planRewindChecks,
    planSnapshotDelete,
  ],
  migrations: [snapshotMigrations],
  methods: (context) => ({
    ...reapScopeMethods(context),

    /** The scope behind a call to its vertical. */
    scopeTarget: ({
      actor,
      ...ref
    }: {
      readonly actor: Actor;
      readonly tenant: string;
      readonly scope: string;
    }) => {
      requireActing(context.db, actor);
      return loadScopeTarget(context.db, ref);
    },

    /** The tenant of a scope. @throws PlatformError `not_found`. */
    tenantOfScope: ({ scope }: { readonly scope: string }): string => tenantOfScope(context.db, scope),
  }),
  queries: ['connectionsLeaving', 'scopeTarget', 'tenantOfScope'],
});
