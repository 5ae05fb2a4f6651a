/** The feature of scopes. A provisioning passes the registry, whose feature has its handler. */
import { requireActing } from '../access/callers.ts';
import { type Called, requireReach } from '../access/reach.ts';
import { defineFeature } from '../lib/feature.ts';
import { configureScope, readFleet, readScope, readScopes } from './operations.ts';
import { planScopeStatus, setScopeStatus } from './status.ts';
import { loadScopeTarget, tenantOfScope } from './target.ts';

export const scopesFeature = defineFeature({
  operations: [readFleet, readScopes, readScope, setScopeStatus, configureScope, planScopeStatus],
  methods: (context) => ({
    /** The scope behind a call to its vertical. */
    scopeTarget: ({ call, looksInside }: { readonly call: Called; readonly looksInside: boolean }) => {
      requireActing(context.db, call.actor);
      requireReach(context.db, call, looksInside);
      const { tenant, scope } = call.params;
      return loadScopeTarget(context.db, { tenant: String(tenant), scope: String(scope) });
    },

    /** The tenant of a scope. @throws PlatformError `not_found`. */
    tenantOfScope: ({ scope }: { readonly scope: string }): string => tenantOfScope(context.db, scope),
  }),
  queries: ['scopeTarget', 'tenantOfScope'],
});
