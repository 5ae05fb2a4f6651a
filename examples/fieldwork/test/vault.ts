/** The vault of a test: one on the engine itself, under a key that everybody knows. */
import { makeUnitVault, makeVaultUnit, type Vault } from '@freehold/kernel';
import { type Engine, makeKeyring } from '@freehold/store';

const unit = makeVaultUnit(makeKeyring(['a sealing key that is for tests only']));

export function openVault(engine: Engine): Vault {
  return makeUnitVault((tenantId) => engine.unit(unit, tenantId, { create: true }));
}
