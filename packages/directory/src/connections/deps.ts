/** What the host administration works with when it turns to providers. */
import type { UnitStub } from '@freehold/store';
import type { LogHead } from '../declarations/records.ts';
import type { DirectoryMethods } from '../unit.ts';
import type { CredentialVault } from './credential.ts';
import type { ProviderAccess } from './provider-exchange.ts';
import type { ProviderRegistry } from './providers.ts';

export interface ConnectionDeps {
  readonly directory: UnitStub<DirectoryMethods>;
  readonly registry: ProviderRegistry;
  readonly vault: CredentialVault;
  readonly access: ProviderAccess;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  readonly newRequestId: () => string;
  /** Offers a head to the anchor. It does not reject. */
  readonly publish: (head: LogHead) => Promise<void>;
  /** Receives errors that nobody expected, with what was being done. */
  readonly incident: (method: string) => (error: unknown) => void;
}
