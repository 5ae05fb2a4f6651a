/** What a scope can be asked: the methods of its unit, with their inputs and answers. */
import type {
  ActorId,
  AttachmentMeta,
  AttachmentRecord,
  ConnectorGranted,
  DeadLetter,
  DenialRecord,
  DenialsSummary,
  EntityRef,
  EventFacets,
  EventId,
  EventRecord,
  FacetsQuery,
  InvocationEvents,
  InvocationId,
  InvokeRequest,
  InvokeResult,
  MigrationRecord,
  Page,
  PlatformRequest,
  PlatformRequestHistoryQuery,
  PlatformRequestsQuery,
  PrincipalId,
  SettleRequest,
  ShredReceipt,
  TableInfo,
  TablePage,
  TableQuery,
  TenantId,
} from '@freehold/contracts';
import type { DeliveryResult, WorkDone, WorkRequest } from './deliveries/declarations.ts';
import type { Proof } from './permissions/permissions.ts';
import type { RetentionState } from './retention/housekeeping.ts';
import type { PrunedBefore, PrunedPage } from './retention/pruned.ts';
import type { KeySupply, PoolNeed } from './sealing/key-needs.ts';
import type { Binding, HeldKeys } from './sealing/vault.ts';
import type { EntitlementsInput } from './settings/settings.ts';

/** What a walk through the log answers: at most 500 events. */
export interface EventWalkResult {
  readonly items: EventRecord[];
  /** True when the walk was cut at its bound, or came to where events may have been removed by retention. */
  readonly truncated: boolean;
}

/** What a principal holds in a scope. */
export interface Holdings {
  readonly roles: readonly string[];
  /** Permissions that hold for the whole scope, by role or direct grant. */
  readonly permissions: readonly string[];
  /** Permissions that somebody was given on at least one single record. Only when it was asked for. */
  readonly recordPermissions?: readonly string[];
}

/** Who holds which role, and who gave it. */
export interface RoleAssignment {
  readonly principal: PrincipalId;
  readonly role: string;
  /** A principal, or `platform`. */
  readonly grantedBy: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/**
 * A role given or taken. `by` is the principal whose authority it is, or the platform, which has all: somebody else
 * must hold every permission of the role for the whole scope and without end (`forbidden`, reason
 * `role_exceeds_holder`, and a denial whose operation is null).
 */
export interface RoleChange {
  readonly principal: PrincipalId;
  readonly role: string;
  readonly by: PrincipalId | 'platform';
}

/** What a call of an operation is, from outside. */
export type ScopeInvoke = InvokeRequest & {
  readonly principal: ActorId;
  /** The event that set it off. */
  readonly cause?: EventId;
  /** Whose scope the caller believes this to be. Another tenant's is `not_found`, reason `unknown_scope`. */
  readonly tenantId?: TenantId;
  /** What a host that has a vault brings along. */
  readonly keys?: KeySupply;
};

/**
 * What an operation answered. `keyWork` says what the host has to do at the vault: to fill the pool up soon, or to say
 * which keys were used, when there is time.
 */
export type ScopeInvoked = InvokeResult & { readonly keyWork?: 'fill' | 'bind' };

/** What a host does at the vault for a scope. */
export interface KeyWork {
  readonly tenantId: TenantId;
  /** Keys that were used, and of which the vault was not told. */
  readonly unbound: readonly Binding[];
  /** What the pool should be filled up with. */
  readonly pool: PoolNeed | null;
}

/**
 * The methods of a scope's unit (design: kernel). Each takes one JSON value and rejects with a `PlatformError`:
 * `not_found` for what is not there, `validation_failed` for an input of another shape.
 */
export type ScopeMethods = {
  /** Called through a stub with `create`. Provisioning twice is provisioning once; another tenant's scope is `not_found`. */
  provision(input: { readonly tenantId: TenantId; readonly name: string }): 'provisioned' | 'unchanged';
  /**
   * Runs one operation for a principal: validated, permitted, recorded, all or nothing. In this order it rejects with `not_found` (`unknown_operation`, `unknown_cause`), `validation_failed`,
   * `permission_denied` (with a denial row), `conflict` (`idempotency_key_reused`), `precondition_failed`, and what
   * `run` throws. A replay is answered before the precondition, and only to somebody whom the permission still lets
   * through.
   */
  invoke(input: ScopeInvoke): ScopeInvoked;
  /** Replaces the roles that the platform adds to the manifest's own, and cannot change those. */
  projectRoles(input: { readonly roles: Readonly<Record<string, readonly string[]>> }): null;
  /** Giving a role twice is giving it once. */
  assignRole(input: RoleChange): null;
  /**
   * Takes a role away. With the last one go all direct grants of that principal, and `by` must hold those too. A role
   * that is declared no more can still be taken from whoever has it.
   */
  revokeRole(input: RoleChange): null;
  /**
   * Makes these the roles of a principal, all at once: what is missing is given, what is not named is taken away, under
   * the rules of `assignRole` and `revokeRole`. Of two calls at the same time the later one decides.
   */
  setRoles(input: {
    readonly principal: PrincipalId;
    readonly roles: readonly string[];
    readonly by: RoleChange['by'];
  }): null;
  /** All of them, by principal and role. */
  assignments(input: Record<string, never>): RoleAssignment[];
  /**
   * What a principal holds for the whole scope; with `records`, also which permissions he was given on single ones, such
   * as a list of tools needs to know. On which records, `explain` and `ctx.reach` tell.
   */
  holdings(input: { readonly principal: ActorId; readonly records?: boolean }): Holdings;
  /**
   * Gives a connection a permission in the platform's name (spec 4.4). Giving it twice is giving it once. Rejects with
   * `validation_failed`, reason `unknown_permission`.
   */
  grantConnection(input: {
    readonly connection: string;
    readonly permission: string;
    readonly entity?: EntityRef;
  }): ConnectorGranted;
  /**
   * Demands a permission for what is not an operation. Answers the proof; a refusal is `permission_denied` and one
   * denial row without an operation.
   */
  check(input: {
    readonly principal: ActorId;
    readonly permission: string;
    readonly entity?: EntityRef;
  }): Proof;
  /** Every assignment and grant that gives the principal the permission. */
  explain(input: {
    readonly principal: ActorId;
    readonly permission: string;
    readonly entity?: EntityRef;
  }): Proof[];
  /**
   * The story of one record, oldest first; `limit` is 1 to 200. With `sealed`, here and in the other reads, payloads
   * about persons stay closed: `{ $sealed }`. Those of somebody who was erased are `{ $shredded: { at } }`.
   */
  history(input: {
    readonly entity: EntityRef;
    readonly limit: number;
    readonly cursor?: string;
    readonly sealed?: boolean;
  }): PrunedPage<EventRecord>;
  /**
   * The way from an event back to its origin: the event itself first, then what caused it, and so on (spec 4.3.3). One
   * that nothing caused is its own origin, and the only item.
   */
  cause(input: { readonly event: EventId; readonly sealed?: boolean }): EventWalkResult;
  /**
   * What an event set off, directly and further on, in the order of their happening (spec 4.3.3). The event itself is
   * not among it: one that set nothing off has no items.
   */
  effects(input: { readonly event: EventId; readonly sealed?: boolean }): EventWalkResult;
  /**
   * Every event that one invocation recorded; what it invoked has invocations of its own. Here and in the walks, what is
   * older than what the scope keeps is `not_found`, reason `history_pruned`.
   */
  invocation(input: { readonly invocation: InvocationId; readonly sealed?: boolean }): InvocationEvents;
  /** The log narrowed, grouped and counted; it looks at the newest 100,000 events of the span (spec 4.3.3). */
  facets(input: Omit<FacetsQuery, 'tenantId' | 'scopeId'>): EventFacets;
  /**
   * One round of what the scope does by itself: brings events to subscriptions, lends them to executors, runs due
   * schedules, and keeps house. Called by a `DeliveryRunner`.
   */
  work(input: WorkRequest): WorkDone;
  /** What became of a delivery that was lent to an executor. */
  settle(input: DeliveryResult): { readonly settled: boolean };
  /** Deliveries that gave up, newest event first; `limit` is 1 to 200. */
  deadLetters(input: {
    readonly subscriber?: string;
    readonly limit: number;
    readonly cursor?: string;
  }): Page<DeadLetter>;
  /**
   * Puts a dead letter back in line. Rejects with `not_found`, reason `unknown_dead_letter`; `conflict`, reason
   * `unknown_subscriber`, when nobody listens under its name any more.
   */
  retryDeadLetter(input: { readonly event: EventId; readonly subscriber: string }): null;
  /** What the scope asks of the platform and waits for, oldest first. */
  listPlatformRequests(input: Omit<PlatformRequestsQuery, 'tenantId' | 'scopeId'>): Page<PlatformRequest>;
  /** All that it ever asked, newest first. */
  platformRequestHistory(
    input: Omit<PlatformRequestHistoryQuery, 'tenantId' | 'scopeId'>,
  ): PrunedPage<PlatformRequest>;
  /**
   * The platform's answer, by compare and set. Rejects with `not_found`, `precondition_failed`, or
   * `invalid_transition`, reason `already_settled`; `validation_failed`, reason `result_malformed`, for a result beyond
   * 65,536 characters of JSON. The same answer once more is the same answer.
   */
  settlePlatformRequest(input: Omit<SettleRequest, 'tenantId' | 'scopeId'>): PlatformRequest;
  /** Takes in keys, to be held in memory. A `ScopeHost` brings them when a call needs them. */
  provideKeys(input: KeySupply): null;
  /** What is to be done at the vault: at most `limit` bindings at a time. */
  keyWork(input: { readonly limit: number }): KeyWork;
  /** The vault was told of these. Answers whether others wait. */
  keysBound(input: { readonly bindings: readonly Binding[] }): { readonly more: boolean };
  /** The keys that the scope's own table has for a person. */
  heldKeys(input: { readonly subject: string }): HeldKeys;
  /** While it is frozen, nobody is made who needs a key: another state is about to take this one's place. */
  freezeKeys(input: { readonly frozen: boolean }): null;
  /** Empties the pool: the unit is about to be closed. Answers the keys that were never used. */
  giveUpKeys(input: Record<string, never>): string[];
  /**
   * Redacts what the scope holds of a person whose key was destroyed: payloads of events, and what the vertical's
   * `onShred` removes. Redacting again changes nothing.
   */
  redact(input: { readonly receipt: ShredReceipt }): null;
  /**
   * Whose scope this is, and the mark of an older state that came back. Unless that is null, every method but this, the
   * next, those of keys and `provision` rejects with `unavailable`, reason `erasures_unseen`. In the same way a scope is
   * closed, reason `keys_unbound`, whose earlier opening used keys of which the vault was not told.
   */
  latecomers(input: Record<string, never>): { readonly tenantId: TenantId; readonly mark: string | null };
  /**
   * Redacts, of everybody whom the vault names now, those whom the state was not redacted of when it came back, and
   * opens the scope. Does nothing under another mark than the present one. A `ScopeHost` does it when a call needs it.
   */
  redactLatecomers(input: { readonly mark: string; readonly receipts: readonly ShredReceipt[] }): null;
  /**
   * Replaces the settings that operations read; the caller leaves out secrets. `platform:retention` changes what the
   * scope keeps. Rejects with `validation_failed`, reason `projection_invalid` or `retention_invalid`.
   */
  projectSettings(input: { readonly settings: Readonly<Record<string, string>> }): null;
  /** Replaces what the tenant is entitled to. */
  projectEntitlements(input: EntitlementsInput): null;
  /** Demands the permission to add attachments to a record, before any byte is taken in. */
  checkAttach(input: { readonly principal: ActorId; readonly entity: EntityRef }): Proof;
  /** Records an attachment whose bytes are there. See `makeAttachments`, which brings both together. */
  addAttachment(input: {
    readonly principal: ActorId;
    readonly meta: AttachmentMeta & { readonly digest: string; readonly bytes: number };
  }): AttachmentRecord;
  attachment(input: { readonly principal: ActorId; readonly id: string }): AttachmentRecord;
  attachments(input: { readonly principal: ActorId; readonly entity: EntityRef }): AttachmentRecord[];
  removeAttachment(input: { readonly principal: ActorId; readonly id: string }): null;
  /**
   * Which of these bytes are needed: by a record, or by one that a rewind could bring back, or a copy from `sinceMs` or
   * later. The others may be removed within five minutes; no record comes to them meanwhile.
   */
  heldBlobs(input: { readonly digests: readonly string[]; readonly sinceMs?: number }): string[];
  /** Every table and view, the platform's own included, with columns and, where it is quick, their number of rows. */
  tables(input: Record<string, never>): TableInfo[];
  /** Rows of one table in the order of its key. Long values are shortened, and say so. */
  table(input: Omit<TableQuery, 'tenantId' | 'scopeId'>): TablePage;
  /** Refused attempts, newest first; `limit` is 1 to 200. */
  listDenials(input: {
    readonly actor?: string;
    readonly permission?: string;
    readonly limit: number;
    readonly cursor?: string;
  }): PrunedPage<DenialRecord>;
  /** Refused attempts, counted; the largest bucket first (spec 4.3.7). */
  summarizeDenials(input: { readonly groupBy: 'actor' | 'operation' }): DenialsSummary & PrunedBefore;
  /** What the scope keeps, by its policy, and what it no longer has. */
  retention(input: Record<string, never>): RetentionState;
  /** The journal of the scope's migrations: `spine` is the platform's set, `vertical` the application's. */
  appliedMigrations(input: Record<string, never>): MigrationRecord[];
  /** Whose scope this is. */
  identify(input: Record<string, never>): { readonly tenantId: TenantId; readonly name: string };
};
