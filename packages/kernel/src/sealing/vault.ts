/**
 * The port to the vault: the truth about which keys a person has in a scope. The keys lie outside of the scope's
 * database and outside of every copy of it. To end them is to erase the person everywhere at once (design: kernel,
 * "Erasure").
 */
import type { ScopeRef, ShredReceipt } from '@freehold/contracts';
import type { ErasureLedger } from './erasure-ledger.ts';
import type { AllottedKey, VaultCalls } from './vault-unit.ts';

/** A person's keys as base64url, or the receipt of the erasure. */
export type SubjectKey =
  | {
      /** Seals, and opens. */
      readonly key: string;
      /** Only open: a person has more than one key only after a copy from elsewhere or an older state came in. */
      readonly more?: readonly string[];
    }
  | { readonly shredded: ShredReceipt };

/** A person, with the keys that the scope's own table has for them: the vault may not have heard of those yet. */
export interface HeldKeys {
  readonly subject: string;
  readonly keyIds: readonly string[];
}

/** A key that was used for a person. */
export interface Binding {
  readonly subject: string;
  readonly keyId: string;
}

/** The port to the vault; on one machine it is a unit, elsewhere it may be on another one. */
export interface Vault {
  /** The keys of subjects. Held keys are bound first; a person without any key is given one. */
  keys(
    scope: ScopeRef,
    subjects: readonly (string | HeldKeys)[],
  ): Promise<Readonly<Record<string, SubjectKey>>>;
  /** Fresh keys for a scope's pool. No key is allotted twice, and each outlives a crash before it is answered. */
  allot(scope: ScopeRef, count: number): Promise<readonly AllottedKey[]>;
  /**
   * Says whom keys were used for, and is heard before it answers, by the archive too. Binding twice is binding once; a
   * key of an erased person ends.
   */
  bind(scope: ScopeRef, bindings: readonly Binding[]): Promise<void>;
  /** Ends keys that were allotted and that no committed state uses. Keys that are bound are left alone. */
  handBack(scope: ScopeRef, keyIds: readonly string[]): Promise<void>;
  /** Every person who was erased from a scope: an older state is redacted of them before it is let in. */
  shredded(scope: ScopeRef): Promise<readonly ShredReceipt[]>;
  /**
   * Ends every key that a person ever had in the scope, those of `keyIds` included, and leaves a tombstone: the person
   * never has a key again. Doing it twice is doing it once.
   */
  shred(scope: ScopeRef, subject: string, keyIds?: readonly string[]): Promise<ShredReceipt>;
}

export interface UnitVaultOptions {
  /** The receipts of erasures, kept beside the vault: applied again to a vault that was restored. Default: none. */
  readonly ledger?: ErasureLedger;
  /**
   * Resolves once the archive has the tenant's vault as it is now; called after keys were made, before any is used.
   * Default: there is no archive.
   */
  readonly archived?: (tenantId: string) => Promise<void>;
  readonly now?: () => number;
}

/** The vault of tenants whose vaults are units on one engine. */
export function makeUnitVault(
  unitOf: (tenantId: string) => VaultCalls,
  { ledger, archived = async () => undefined, now = Date.now }: UnitVaultOptions = {},
): Vault {
  const ready = new Map<string, Promise<void>>();

  /** A vault that was restored has forgotten erasures since its copy was made. Its first use in a process says them again. */
  const vaultOf = async (tenantId: string): Promise<VaultCalls> => {
    const unit = unitOf(tenantId);
    if (!ledger) return unit;
    let applied = ready.get(tenantId);
    if (!applied) {
      applied = ledger.of(tenantId).then(async (erasures) => {
        if (erasures.length > 0) await unit.reapply({ erasures });
      });
      ready.set(tenantId, applied);
      // The next call asks again; until the receipts were applied no key leaves this vault.
      applied.catch(() => ready.delete(tenantId));
    }
    await applied;
    return unit;
  };

  return {
    keys: async ({ tenantId, scopeId }, subjects) => {
      const { keys, made } = await (await vaultOf(tenantId)).supply({
        scopeId,
        subjects: subjects.map((each) => (typeof each === 'string' ? { subject: each, keyIds: [] } : each)),
      });
      if (made) await archived(tenantId);
      return keys;
    },
    allot: async ({ tenantId, scopeId }, count) => {
      const keys = await (await vaultOf(tenantId)).allot({ scopeId, count });
      await archived(tenantId);
      return keys;
    },
    bind: async ({ tenantId, scopeId }, bindings) => {
      if (bindings.length === 0) return;
      await (await vaultOf(tenantId)).bind({ scopeId, bindings });
      // A state of the scope that was left may come back after the vault did: then the archive must know whose key it is.
      await archived(tenantId);
    },
    handBack: async ({ tenantId, scopeId }, keyIds) => {
      if (keyIds.length > 0) await (await vaultOf(tenantId)).handBack({ scopeId, keyIds });
    },
    shredded: async ({ tenantId, scopeId }) => (await vaultOf(tenantId)).shredded({ scopeId }),
    shred: async ({ tenantId, scopeId }, subject, keyIds = []) => {
      const unit = await vaultOf(tenantId);
      // Written down before anything ends: a vault that is restored from before this erasure carries it out again.
      await ledger?.begin(tenantId, { scopeId, subject, keyIds, shreddedAtMs: now() });
      const receipt = await unit.shred({ scopeId, subject, keyIds });
      await ledger?.done(tenantId, scopeId, receipt);
      return receipt;
    },
  };
}
