/**
 * The contract of a vertical's scopes, as one suite that every environment runs: the co-located host on each engine,
 * and whatever stands in for it. It looks at a `ScopeHost` from outside and hosts a vertical of its own, the library.
 *
 * What an environment cannot do is declared with its reason. The tests of it are then reported as skipped under that
 * reason, and one that runs instead holds the environment to saying so: `unsupported`, never something else.
 */
import type { ExportFormat } from '@freehold/contracts';
import { beforeEach, describe } from 'vitest';
import type { ScopeHost } from '../../../kernel/src/scope-host.ts';
import { actorContract } from './actors.ts';
import { attachmentContract } from './attachments.ts';
import { copyContract } from './copies.ts';
import { deliveryContract } from './deliveries.ts';
import { erasureContract } from './erasure.ts';
import { hostileContract } from './hostile.ts';
import { idempotencyContract } from './idempotency.ts';
import { inspectContract } from './inspect.ts';
import { logContract } from './log.ts';
import { operationContract } from './operations.ts';
import { permissionContract } from './permissions.ts';
import { platformContract } from './platform.ts';
import { provisioningContract } from './provisioning.ts';
import { rewindContract } from './rewind.ts';
import { tableContract } from './tables.ts';
import { observed } from './world.ts';

export { library, libraryUnit, libraryVaultUnit } from './library.ts';
export { makeMemoryBlobStore } from './memory-blob-store.ts';
export { observed, recordIncident } from './world.ts';

/** Why an environment cannot do something: the end of a sentence that begins with "because". */
export interface Missing {
  readonly missing: string;
}

export interface ScopeHostCapabilities {
  /** The formats of exports and restores, the environment's own first. */
  readonly copies: readonly ExportFormat[] | Missing;
  /** Going back to a commit. */
  readonly rewind: true | Missing;
  /** Queries into a scope. */
  readonly inspect: true | Missing;
  /** Files that belong to records. */
  readonly attachments: true | Missing;
}

/** The access of the suite to an environment. */
export interface ScopeHostSetup {
  /** Names the environment in the report. */
  readonly name: string;
  readonly capabilities: ScopeHostCapabilities;
  /**
   * True where a host's management contract goes over a wire, and its scopes are invoked directly as in another
   * environment. The parts that only invoke are left out. Default false.
   */
  readonly isRemote?: boolean;
  /**
   * Opens a host of `libraryUnit`, with a vault over `libraryVaultUnit` and with `recordIncident` as its engine's
   * sink. Each test takes a scope of its own, so that the store behind it may be shared.
   */
  open(): Promise<ScopeHostUnderTest>;
}

export interface ScopeHostUnderTest {
  readonly host: ScopeHost;
  /** Lets at least so much time pass for the scopes: moves their clock, or waits. A few seconds at most. */
  pass(ms: number): Promise<void>;
  /** Ends everything that lives in memory only, and opens the host again on what was stored. */
  reopen(): Promise<ScopeHost>;
}

/** Declares the suite. */
export function describeScopeHost(setup: ScopeHostSetup): void {
  describe(`the contract of scopes on ${setup.name}`, () => {
    beforeEach(() => {
      observed.incidents.length = 0;
    });
    provisioningContract(setup);
    if (!setup.isRemote) {
      operationContract(setup);
      idempotencyContract(setup);
      actorContract(setup);
      hostileContract(setup);
    }
    permissionContract(setup);
    logContract(setup);
    deliveryContract(setup);
    platformContract(setup);
    erasureContract(setup);
    tableContract(setup);
    copyContract(setup);
    rewindContract(setup);
    inspectContract(setup);
    attachmentContract(setup);
  });
}
