/** The one thing that observability asks the directory. */
import type { Actor } from '../actors.ts';
import { defineFeature } from '../lib/feature.ts';
import { requireActingTenant, requireTenant } from '../tenants/store.ts';

export const observabilityFeature = defineFeature({
  methods: ({ db }) => ({
    /** Whether somebody may look at a tenant. @throws PlatformError `forbidden`, `not_found`. */
    observedTenant: ({ actor, tenant }: { readonly actor: Actor; readonly tenant: string }): null => {
      requireActingTenant(db, actor);
      requireTenant(db, tenant);
      return null;
    },
  }),
  queries: ['observedTenant'],
});
