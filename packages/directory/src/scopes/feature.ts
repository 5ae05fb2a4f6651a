/** The feature of scopes. A provisioning passes the registry, whose feature has its handler. */
import type { Actor } from '../access/actors.ts';
import { requireActing } from '../access/callers.ts';
import { defineFeature } from '../lib/feature.ts';
import { configureScope, readFleet, readScope, readScopes } from './operations.ts';
import { planScopeStatus, setScopeStatus } from './status.ts';
import { loadScopeTarget, tenantOfScope } from './target.ts';

export const scopesFeature = defineFeature({
  operations: [readFleet, readScopes, readScope, setScopeStatus, configureScope, planScopeStatus],
  methods: (context) => ({
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
  queries: ['scopeTarget', 'tenantOfScope'],
});
