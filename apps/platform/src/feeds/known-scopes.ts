/** Whose scopes this process has seen. It saves a question where none may be asked: while an error is being told. */

export interface KnownScopes {
  note(scope: string, tenant: string): void;
  tenantOf(scope: string): string | undefined;
}

/** A scope never changes hands, so that nothing here grows old. */
export function makeKnownScopes(): KnownScopes {
  const tenants = new Map<string, string>();
  return {
    note: (scope, tenant) => void tenants.set(scope, tenant),
    tenantOf: (scope) => tenants.get(scope),
  };
}
