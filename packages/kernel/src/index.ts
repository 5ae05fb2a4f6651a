/** One scope. Start with `vertical/vertical.ts` (for builders) and `contract/scope-methods.ts` (a scope's methods). */
export {
  ATTACHMENT_BYTES_MAX,
  type Attachments,
  type AttachmentsOptions,
  makeAttachments,
} from './attachments/attachments.ts';
export type {
  Entitlement,
  EventWalkResult,
  Holdings,
  LongWorkRecord,
  RetentionState,
  RoleAssignment,
  RoleChange,
  ScopeCaller,
  ScopeMethods,
  ScopeStub,
} from './contract/scope-methods.ts';
export {
  type DeliveryRoundOptions,
  type DeliveryRunner,
  type DeliveryRunnerOptions,
  makeDeliveryRunner,
  runDeliveries,
} from './deliveries/runner.ts';
export {
  type ErasureLedger,
  type LedgerUnit,
  ledgerUnit,
  makeUnitLedger,
} from './keys/erasure-ledger.ts';
export { makeUnitVault, type UnitVaultOptions, type Vault, vaultMissing } from './keys/vault.ts';
export { makeVaultUnit, type VaultUnit } from './keys/vault-unit.ts';
export { isAllowedByGrant } from './lib/programs.ts';
export type { PrunedBefore, PrunedPage } from './lib/pruned.ts';
export { haltWorks } from './long-work/store.ts';
export type { CopiedMember, ScopePeople, Standing } from './members/members.ts';
export { makeScopeHost, type ScopeHost, type ScopeHostOptions } from './scope-host.ts';
export { makeScopeUnit, type ScopeUnit, type ScopeUnitOptions } from './scope-unit.ts';
export { markForPendingErasures } from './sealing/erasures.ts';
export type { Executor, ExecutorTools, Schedule, Subscription } from './vertical/listeners.ts';
export type { LongWork, WorkHandle, WorkRow, WorkState } from './vertical/long-work.ts';
export { RETENTION_SETTING, type RetentionPolicy } from './vertical/retention.ts';
export {
  defineOperations,
  defineVertical,
  findVerticalFaults,
  type GrantRequest,
  type NewEvent,
  type NewWork,
  type Operation,
  type OperationContext,
  operation,
  type Proof,
  VERTICAL_FAULT_CODES,
  type Vertical,
} from './vertical/vertical.ts';
