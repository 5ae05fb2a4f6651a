/** Whose scopes are, remembered: a scope never changes hands, and its own answer costs a call of it each time. */
import type { TenantId } from '@freehold/contracts';
import type { ScopeHost } from '@freehold/kernel';

/** Of how many scopes it is remembered. */
const KNOWN_MAX = 10_000;

export interface Tenants {
  /** Whose scope it is, as the scope itself says. Rejects with `not_found` for one that is not there. */
  of(scopeId: string): Promise<TenantId>;
  /** For a scope that is deleted: nobody asks for it again. */
  forget(scope: { readonly scopeId: string }): void;
}

export function makeTenants(host: Pick<ScopeHost, 'scope'>): Tenants {
  const known = new Map<string, TenantId>();
  return {
    of: async (scopeId) => {
      const found = known.get(scopeId);
      if (found !== undefined) return found;
      const { tenantId } = await host.scope(scopeId).identify({});
      if (known.size >= KNOWN_MAX) known.delete(known.keys().next().value as string);
      known.set(scopeId, tenantId);
      return tenantId;
    },
    forget: ({ scopeId }) => void known.delete(scopeId),
  };
}
