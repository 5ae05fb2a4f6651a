/** What is kept of a tenant outside of its scopes and the directory: the keys of its people, and who may sign in. */
import type { IdentityDirectoryUnit } from '@freehold/auth';
import { ledgerUnit, type VaultUnit } from '@freehold/kernel';
import type { Engine, EngineTools } from '@freehold/store';

export interface TenantErasureOptions {
  readonly engine: Engine & EngineTools;
  readonly vaultUnit: VaultUnit;
  /** Each application may keep an identity directory for the tenant. */
  readonly identityUnits: () => readonly IdentityDirectoryUnit[];
}

/**
 * Builds what the reap of a tenant ends with. It may be done again. Whoever signs in goes first: without the keys nothing
 * sealed can be read by anybody, and the step that did not happen is made up for by the next try.
 */
export function makeTenantErasure({
  engine,
  vaultUnit,
  identityUnits,
}: TenantErasureOptions): (tenant: string) => Promise<void> {
  return async (tenant) => {
    for (const unit of identityUnits()) await engine.tools(unit, tenant).remove();
    await engine.tools(vaultUnit, tenant).remove();
    await engine.tools(ledgerUnit, tenant).remove();
  };
}
