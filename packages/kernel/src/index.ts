/** What one scope does. Start with `vertical.ts` (what a builder writes) and `scope-methods.ts` (what a scope answers). */
export {
  ATTACHMENT_BYTES_MAX,
  type Attachments,
  type AttachmentsOptions,
  makeAttachments,
} from './attachments/attachments.ts';
export type {
  Executor,
  ExecutorTools,
  Schedule,
  Subscription,
} from './deliveries/declarations.ts';
export { type DeliveryRoundOptions, runDeliveries } from './deliveries/round.ts';
export {
  type DeliveryRunner,
  type DeliveryRunnerOptions,
  makeDeliveryRunner,
} from './deliveries/runner.ts';
export type { Proof } from './permissions/permissions.ts';
export type { RetentionState } from './retention/housekeeping.ts';
export { RETENTION_SETTING, type RetentionPolicy } from './retention/policy.ts';
export type { PrunedBefore, PrunedPage } from './retention/pruned.ts';
export { makeScopeHost, type ScopeHost, type ScopeHostOptions, type ScopeStub } from './scope-host.ts';
export type { EventWalkResult, Holdings, RoleAssignment, RoleChange, ScopeMethods } from './scope-methods.ts';
export { makeScopeUnit, type ScopeUnit, type ScopeUnitOptions } from './scope-unit.ts';
export {
  type ErasureLedger,
  type LedgerUnit,
  ledgerUnit,
  makeUnitLedger,
} from './sealing/erasure-ledger.ts';
export { makeUnitVault, type UnitVaultOptions, type Vault } from './sealing/vault.ts';
export { makeVaultUnit, type VaultUnit } from './sealing/vault-unit.ts';
export type { Entitlement } from './settings/settings.ts';
export {
  defineOperations,
  defineVertical,
  type GrantRequest,
  type NewEvent,
  type Operation,
  type OperationContext,
  operation,
  type Vertical,
} from './vertical.ts';
