/** The one thing that observability asks the directory. */
import type { UnitContext } from '@freehold/store';
import type { Actor } from '../actors.ts';
import { requireActingTenant, requireTenant } from '../tenants/store.ts';

/** The methods that only read: see `UnitDefinition.queries`. */
export const OBSERVABILITY_QUERIES = ['observedTenant'] as const;

export const observabilityMethods = (context: UnitContext) => ({
  /** Whether somebody may look at a tenant. @throws PlatformError `forbidden`, `not_found`. */
  observedTenant: ({ actor, tenant }: { readonly actor: Actor; readonly tenant: string }): null => {
    requireActingTenant(context.db, actor);
    requireTenant(context.db, tenant);
    return null;
  },
});
