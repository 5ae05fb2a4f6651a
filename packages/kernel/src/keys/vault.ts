/**
 * The port to the vault, which alone knows the keys of a person in a scope. They are outside of the scope's database and
 * of every copy of it: ending them erases the person everywhere at once (design: kernel, "Erasure").
 */
import { PlatformError, type ScopeRef, type ShredReceipt } from '@freehold/contracts';
import type { ErasureLedger } from './erasure-ledger.ts';
import type { AllottedKey, VaultCalls } from './vault-unit.ts';

/** A person's keys as base64url, or the receipt of the erasure. */
export type SubjectKey =
  | {
      /** Seals, and opens. */
      readonly key: string;
      /** These only open. A person has several keys only after a copy of another scope or an older state came in. */
      readonly more?: readonly string[];
    }
  | { readonly shredded: ShredReceipt };

/** A person, with the keys in the scope's own table, of which the vault may not have been told. */
export interface HeldKeys {
  readonly subject: string;
  readonly keyIds: readonly string[];
}

/** A used key and its person. */
export interface Binding {
  readonly subject: string;
  readonly keyId: string;
}

export interface Vault {
  /** Returns the keys of subjects. Held keys are bound first; a person without a key gets one. */
  keys(
    scope: ScopeRef,
    subjects: readonly (string | HeldKeys)[],
  ): Promise<Readonly<Record<string, SubjectKey>>>;
  /** Returns fresh keys for a scope's pool. No key is allotted twice; each is durable before it is returned. */
  allot(scope: ScopeRef, count: number): Promise<readonly AllottedKey[]>;
  /**
   * Records the persons of used keys, durably, in the archive too. Repeating it changes nothing; a key of an erased
   * person ends.
   */
  bind(scope: ScopeRef, bindings: readonly Binding[]): Promise<void>;
  /** Ends allotted keys that no committed state uses. Bound keys stay. */
  handBack(scope: ScopeRef, keyIds: readonly string[]): Promise<void>;
  /** Returns every person who was erased from a scope: an older state is redacted of them before it is admitted. */
  shredded(scope: ScopeRef): Promise<readonly ShredReceipt[]>;
  /**
   * Ends every key that a person ever had in the scope, those of `keyIds` included, and leaves a tombstone: the person
   * never gets a key again. Repeating it returns the same receipt.
   */
  shred(scope: ScopeRef, subject: string, keyIds?: readonly string[]): Promise<ShredReceipt>;
}

export interface UnitVaultOptions {
  /** The receipts of erasures beside the vault, which are applied again to a restored vault. Default: none. */
  readonly ledger?: ErasureLedger;
  /**
   * Resolves once the archive has the tenant's vault as it is now. Called after keys were made and before one is used.
   * Default: there is no archive.
   */
  readonly archived?: (tenantId: string) => Promise<void>;
  /**
   * Called before the first use of a tenant's vault in a process, and again when the unit is found to be missing. It
   * makes the vault of a new tenant, and throws {@link vaultMissing} where one that gave keys is gone. Default: the unit
   * makes itself.
   */
  readonly admit?: (tenantId: string) => Promise<void>;
  readonly now?: () => number;
}

/** The reason of {@link vaultMissing}. */
export const VAULT_MISSING = 'vault_missing';

/** The failure where the keys of a tenant's people are gone. A new vault beside what they sealed would hide the loss. */
export function vaultMissing(): PlatformError {
  return new PlatformError(
    'unavailable',
    'The keys that seal data about people are missing on the server: nothing about a person can be opened or stored until its operator brings them back.',
    { reason: VAULT_MISSING },
  );
}

/** Returns the vault of tenants whose vaults are units on one engine. */
export function makeUnitVault(
  unitOf: (tenantId: string) => VaultCalls,
  { ledger, admit, archived = async () => undefined, now = Date.now }: UnitVaultOptions = {},
): Vault {
  const ready = new Map<string, Promise<void>>();

  /** A restored vault lacks the erasures since its copy. They are applied at its first use in a process. */
  const prepare = async (tenantId: string): Promise<void> => {
    await admit?.(tenantId);
    const erasures = (await ledger?.of(tenantId)) ?? [];
    if (erasures.length > 0) await unitOf(tenantId).reapply({ erasures });
  };
  const vaultOf = async (tenantId: string): Promise<VaultCalls> => {
    let prepared = ready.get(tenantId);
    if (!prepared) {
      prepared = prepare(tenantId);
      ready.set(tenantId, prepared);
      // The next call tries again; until the receipts are applied, no key leaves this vault.
      prepared.catch(() => ready.delete(tenantId));
    }
    await prepared;
    return unitOf(tenantId);
  };
  const ask = async <T>(tenantId: string, call: (unit: VaultCalls) => Promise<T>): Promise<T> => {
    const unit = await vaultOf(tenantId);
    return call(unit).catch(async (error: unknown) => {
      if (!admit || !(error instanceof PlatformError) || error.reason !== 'unknown_unit') throw error;
      // It went while the process ran.
      ready.delete(tenantId);
      return call(await vaultOf(tenantId));
    });
  };

  return {
    keys: async ({ tenantId, scopeId }, subjects) => {
      const held = subjects.map((each) => (typeof each === 'string' ? { subject: each, keyIds: [] } : each));
      const { keys, made } = await ask(tenantId, (unit) => unit.supply({ scopeId, subjects: held }));
      if (made) await archived(tenantId);
      return keys;
    },
    allot: async ({ tenantId, scopeId }, count) => {
      const keys = await ask(tenantId, (unit) => unit.allot({ scopeId, count }));
      await archived(tenantId);
      return keys;
    },
    bind: async ({ tenantId, scopeId }, bindings) => {
      if (bindings.length === 0) return;
      await ask(tenantId, (unit) => unit.bind({ scopeId, bindings }));
      // After a restore of the vault, an older state of the scope may come back: the archive must know the key's person.
      await archived(tenantId);
    },
    handBack: async ({ tenantId, scopeId }, keyIds) => {
      if (keyIds.length > 0) await ask(tenantId, (unit) => unit.handBack({ scopeId, keyIds }));
    },
    shredded: ({ tenantId, scopeId }) => ask(tenantId, (unit) => unit.shredded({ scopeId })),
    shred: async ({ tenantId, scopeId }, subject, keyIds = []) => {
      // Without a vault there is no receipt to promise.
      await vaultOf(tenantId);
      // Written before a key ends: a vault that is restored from before this erasure carries it out again.
      await ledger?.begin(tenantId, { scopeId, subject, keyIds, shreddedAtMs: now() });
      const receipt = await ask(tenantId, (unit) => unit.shred({ scopeId, subject, keyIds }));
      await ledger?.done(tenantId, scopeId, receipt);
      return receipt;
    },
  };
}
