/** The methods of a scope's unit, with their inputs and answers. */
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
  JsonValue,
  MigrationRecord,
  Page,
  PlatformRequest,
  PlatformRequestHistoryQuery,
  PlatformRequestsQuery,
  PrincipalId,
  ProgramGrant,
  SettleRequest,
  ShredReceipt,
  TableInfo,
  TablePage,
  TableQuery,
  TenantId,
} from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { KeyNeeds, KeySupply, PoolNeed } from '../keys/key-needs.ts';
import type { Binding, HeldKeys } from '../keys/vault.ts';
import type { PrunedBefore, PrunedPage } from '../lib/pruned.ts';
import type { CopiedMember } from '../members/members.ts';
import type { WorkState } from '../vertical/long-work.ts';
import type { Proof } from '../vertical/vertical.ts';

/** One scope, from outside. */
export type ScopeStub = UnitStub<ScopeMethods>;

/** Stands beside events of which some were left out, because the reader may not read their entities. */
export interface Withheld {
  /** Absent when every event is there. */
  readonly withheld?: true;
}

/** The way in which events are read: see `history`. */
export interface EventRead {
  readonly sealed?: boolean;
  readonly reader?: ActorId;
  /** The program through which the reader reads. */
  readonly program?: ProgramGrant;
}

/** The answer of a walk through the log: at most 500 events. */
export interface EventWalkResult extends Withheld {
  readonly items: EventRecord[];
  /** True when the walk was cut at its bound, or reached events that retention may have removed. */
  readonly truncated: boolean;
}

/** The roles and permissions of a principal in a scope. */
export interface Holdings {
  readonly roles: readonly string[];
  /** Permissions that hold for the whole scope, by role or direct grant. */
  readonly permissions: readonly string[];
  /** Permissions that the principal has on at least one single record. Only when requested. */
  readonly recordPermissions?: readonly string[];
}

/** A role of a principal, and who gave it. */
export interface RoleAssignment {
  readonly principal: PrincipalId;
  readonly role: string;
  /** A principal, or `platform`. */
  readonly grantedBy: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** A stored grant. Empty strings in place of an entity: it is for the whole scope. */
export interface StoredGrant {
  readonly subject: string;
  readonly permission: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly expiresAtMs: number | null;
  readonly grantedBy: string;
  readonly atMs: number;
}

/** The rights in a scope that stay when its data is replaced. */
export interface PresentRights {
  /** When the scope was provisioned, in milliseconds since the epoch. */
  readonly provisionedAtMs: number | null;
  readonly assignments: readonly RoleAssignment[];
  /** Grants for the whole scope, and every grant of a connection, which the platform gave. */
  readonly grants: readonly StoredGrant[];
  readonly projectedRoles: readonly { readonly role: string; readonly permission: string }[];
  /** Every subject with a role or a grant. */
  readonly subjects: readonly string[];
}

/**
 * A role given or taken. `by` is the principal with the authority for it, or the platform, which has all. A principal
 * must hold every permission of the role for the whole scope and without end: otherwise `forbidden`, reason
 * `role_exceeds_holder`, and a denial whose operation is null.
 */
export interface RoleChange {
  readonly principal: PrincipalId;
  readonly role: string;
  readonly by: PrincipalId | 'platform';
}

/** A principal, perhaps through a program: then the person and the grant must both allow it. */
export interface ScopeCaller {
  readonly principal: ActorId;
  readonly program?: ProgramGrant;
}

/** A call of an operation from outside. */
export type ScopeInvoke = InvokeRequest &
  ScopeCaller & {
    /** The event that caused it. */
    readonly cause?: EventId;
    /** The tenant that the caller belongs to. A scope of another tenant is `not_found`, reason `unknown_scope`. */
    readonly tenantId?: TenantId;
    /** Keys from a host that has a vault. Without it no key can be had, and no person can be made who needs one. */
    readonly keys?: KeySupply;
  };

/** The answer of an operation. `keyWork` is the host's background work at the vault: fill the pool, or bind used keys. */
export type ScopeInvoked = InvokeResult & { readonly keyWork?: 'fill' | 'bind' };

/** The work of a host at the vault for a scope. */
export interface KeyWork {
  readonly tenantId: TenantId;
  /** Used keys of which the vault was not told. */
  readonly unbound: readonly Binding[];
  readonly pool: PoolNeed | null;
}

/** An event that waits for one executor, claimed by a runner. */
export interface ClaimedDelivery {
  readonly subscriber: string;
  readonly event: EventRecord;
  readonly attempt: number;
  /** Names this claim: an answer to an earlier claim changes nothing. */
  readonly claim: number;
}

/** The result of a claimed delivery: done, unless one of the last two members is there. */
export interface DeliveryResult {
  readonly subscriber: string;
  readonly event: EventId;
  readonly claim: number;
  readonly error?: { readonly code: string; readonly detail: string };
  /** Handed back without a complete attempt: it does not count as one, and is claimed again at once. */
  readonly handedBack?: true;
}

/** One attempt of a subscription or a schedule in a round. */
export interface WorkAttempt {
  readonly kind: 'subscription' | 'schedule';
  readonly name: string;
  /** Null for a schedule. */
  readonly event: EventId | null;
  /** Null where it was done. */
  readonly error: { readonly code: string; readonly detail: string } | null;
}

export interface WorkRequest {
  /** Set to be told of each attempt: for tests. */
  readonly report?: true;
  /**
   * Keys cannot be had: a delivery that needs one fails instead of waiting. Set when the vault has refused, so that one
   * person's damaged key does not delay other deliveries.
   */
  readonly withoutKeys?: true;
  /** Keys from a host that has a vault. */
  readonly keys?: KeySupply;
  /** The present grant of the program that the last answer asked for. */
  readonly program?: JudgedProgram;
}

/** A program that began long work, and the person for whom it acts. */
export interface ActingProgram {
  readonly grant: string;
  readonly principal: ActorId;
}

/** A program's present access; null: it has ended; `unknown`: it cannot be learnt at present. */
export interface JudgedProgram {
  readonly grant: string;
  readonly allowed: ProgramGrant | null | 'unknown';
}

export interface WorkDone {
  /** The number of deliveries and schedules that ended in this round: done, or given up. */
  readonly settled: number;
  readonly claimed: readonly ClaimedDelivery[];
  /**
   * The time of the next work, in milliseconds since the epoch: at once when it has passed; null when nothing waits.
   * Work that the round itself put in line is reported by `onWork`, and may be missing here.
   */
  readonly nextAtMs: number | null;
  /** Keys that deliveries of this round lacked: they are made in the next round that has them. */
  readonly needs?: KeyNeeds;
  /** Nothing was done: the next step is of a program, whose grant has to be judged first. */
  readonly program?: ActingProgram;
  /** The attempts of this round, in their order. Only when requested. */
  readonly attempts?: readonly WorkAttempt[];
  /** Set when bytes of attachments may have become free, and are to be swept. */
  readonly sweep?: true;
}

/** A long work, as its callers see it. */
export interface LongWorkRecord {
  readonly id: string;
  /** The operation that started it. */
  readonly kind: string;
  readonly summary: string;
  readonly state: WorkState;
  /** The number of steps that were committed. */
  readonly step: number;
  readonly done: number;
  /** Null: not known. */
  readonly total: number | null;
  readonly isCancellable: boolean;
  readonly startedBy: ActorId;
  readonly error: { readonly code: string; readonly detail: string } | null;
  readonly startedAt: string;
  readonly changedAt: string;
  readonly endedAt: string | null;
}

/** A right that a tenant has bought or been given: a flag, a number, a plan. */
export interface Entitlement {
  readonly value: JsonValue;
  /** Milliseconds since the epoch; absent: it does not expire. */
  readonly expiresAtMs?: number;
}

export interface EntitlementsInput {
  readonly entitlements: Readonly<Record<string, Entitlement>>;
  /** Grows with every change of the tenant's entitlements. Absent: the newest. */
  readonly revision?: number;
}

/** The retention of a scope, and what it has removed. */
export interface RetentionState {
  /** Whole days; null: for good. */
  readonly historyDays: number | null;
  readonly denialsDays: number | null;
  /** Older rows may have been removed. Null: none was. */
  readonly historyPrunedBefore: string | null;
  readonly denialsPrunedBefore: string | null;
  /** The end of the last round of housekeeping, and the time of the next; null: never. */
  readonly lastRunAt: string | null;
  readonly nextRunAt: string | null;
}

/**
 * The methods of a scope's unit (design: kernel). Each takes one JSON value and rejects with a `PlatformError`:
 * `not_found` for an unknown thing, `validation_failed` for an input of another shape.
 */
export type ScopeMethods = {
  /** Called through a stub with `create`. Repeating it changes nothing; another tenant's scope is `not_found`. */
  provision(input: { readonly tenantId: TenantId; readonly name: string }): 'provisioned' | 'unchanged';
  /**
   * Runs one operation for a principal: validated, permitted, recorded, all or nothing. Rejects, in this order, with
   * `not_found` (`unknown_operation`, `unknown_cause`), `validation_failed`, `permission_denied` (with a denial row),
   * `conflict` (`idempotency_key_reused`), `precondition_failed`, and the errors of `run`. A replay is answered before
   * the precondition, and only to a caller who still has the permission.
   */
  invoke(input: ScopeInvoke): ScopeInvoked;
  /** Replaces the roles that the platform adds to the manifest's own; it cannot change those. */
  projectRoles(input: { readonly roles: Readonly<Record<string, readonly string[]>> }): null;
  /** Gives a role. Repeating it changes nothing. */
  assignRole(input: RoleChange): null;
  /**
   * Takes a role away. With the last one go all direct grants of the principal, and `by` must hold those too. A role
   * that is no longer declared can still be taken away.
   */
  revokeRole(input: RoleChange): null;
  /**
   * Sets the roles of a principal at once: gives the missing ones and takes the others away, under the rules of
   * `assignRole` and `revokeRole`. Of two calls at the same time the later one wins.
   */
  setRoles(input: {
    readonly principal: PrincipalId;
    readonly roles: readonly string[];
    readonly by: RoleChange['by'];
  }): null;
  assignments(input: Record<string, never>): RoleAssignment[];
  /** Returns the rights that stay when the scope's data is replaced: see `permissions/present-rights.ts`. */
  presentRights(input: Record<string, never>): PresentRights;
  /**
   * With `known`, refuses all changes of those rights (`unavailable`, reason `busy`) if they are still the known ones: for
   * 30 seconds, or until the unit is opened again. With null, admits changes again. Returns whether changes are refused now.
   */
  holdRights(input: { readonly known: PresentRights | null }): boolean;
  /**
   * Returns what a principal holds for the whole scope; with `records`, also the permissions that it has on single
   * records, for example for a list of tools. `explain` and `ctx.reach` name the records.
   */
  holdings(input: ScopeCaller & { readonly records?: boolean }): Holdings;
  /**
   * Gives a connection a permission in the platform's name (spec 4.4). Repeating it changes nothing. Rejects with
   * `validation_failed`, reason `unknown_permission`.
   */
  grantConnection(input: {
    readonly connection: string;
    readonly permission: string;
    readonly entity?: EntityRef;
  }): ConnectorGranted;
  /**
   * Demands a permission outside of an operation. Returns the proof; a refusal is `permission_denied` and one denial
   * row without an operation.
   */
  check(input: ScopeCaller & { readonly permission: string; readonly entity?: EntityRef }): Proof;
  /** Returns every assignment and grant that gives the principal the permission. */
  explain(input: {
    readonly principal: ActorId;
    readonly permission: string;
    readonly entity?: EntityRef;
  }): Proof[];
  /**
   * Returns the events of one record, oldest first; `limit` is 1 to 200. With `sealed`, here and in the other reads,
   * payloads about persons stay closed: `{ $sealed }`. Those of an erased person are `{ $shredded: { at } }`. With
   * `reader`, here and in the walks, events are left out whose entity the reader may not read (`read` in the manifest),
   * and `withheld` says so; without it every event is there, which is for the platform.
   */
  history(input: {
    readonly entity: EntityRef;
    readonly limit: number;
    readonly cursor?: string;
    readonly sealed?: boolean;
    readonly reader?: ActorId;
    readonly program?: ProgramGrant;
  }): PrunedPage<EventRecord> & Withheld;
  /** Returns the way from an event back to its origin: the event itself, its cause, and so on (spec 4.3.3). */
  cause(input: EventRead & { readonly event: EventId }): EventWalkResult;
  /** Returns the direct and further effects of an event in the order of their time, without the event (spec 4.3.3). */
  effects(input: EventRead & { readonly event: EventId }): EventWalkResult;
  /**
   * Returns every event of one invocation; nested operations have invocations of their own. Here and in the walks,
   * an event that is older than the retention is `not_found`, reason `history_pruned`.
   */
  invocation(input: EventRead & { readonly invocation: InvocationId }): InvocationEvents & Withheld;
  /** Narrows, groups and counts the newest 100,000 events of the span (spec 4.3.3). */
  facets(input: Omit<FacetsQuery, 'tenantId' | 'scopeId'>): EventFacets;
  /**
   * Runs one round of the scope's own work: brings events to subscriptions, claims them for executors, runs due
   * schedules, and keeps house. Called by a `DeliveryRunner`.
   */
  work(input: WorkRequest): WorkDone;
  /** Takes in the result of a delivery that was claimed for an executor. */
  settle(input: DeliveryResult): { readonly settled: boolean };
  /** Returns the long works that a caller started, newest first, after one; `limit` is 1 to 1,000. */
  longWorks(input: ScopeCaller & { readonly before?: string; readonly limit: number }): LongWorkRecord[];
  /**
   * Returns one, for the caller who started it and for those with its permission. Rejects with `not_found`, reason
   * `unknown_work`.
   */
  longWork(input: ScopeCaller & { readonly id: string }): LongWorkRecord;
  /**
   * Cancels one: its steps end, and what it wrote is taken back. Repeating it changes nothing. Rejects with `conflict`,
   * reason `work_ended`, or `work_decided` where what remains only finishes what is decided.
   */
  cancelLongWork(input: ScopeCaller & { readonly id: string }): LongWorkRecord;
  /**
   * Has the rest of a halted one done, as the caller, who needs its permission. Rejects with `conflict`, reason
   * `work_not_halted`.
   */
  resumeLongWork(input: ScopeCaller & { readonly id: string }): LongWorkRecord;
  /** Returns dead letters, newest event first; `limit` is 1 to 200. */
  deadLetters(input: {
    readonly subscriber?: string;
    readonly limit: number;
    readonly cursor?: string;
  }): Page<DeadLetter>;
  /**
   * Puts a dead letter back in line. Rejects with `not_found`, reason `unknown_dead_letter`; `conflict`, reason
   * `unknown_subscriber`, when its subscriber is no longer declared.
   */
  retryDeadLetter(input: { readonly event: EventId; readonly subscriber: string }): null;
  /** Returns the requests to the platform that wait, oldest first. */
  listPlatformRequests(input: Omit<PlatformRequestsQuery, 'tenantId' | 'scopeId'>): Page<PlatformRequest>;
  /** Returns all requests to the platform, newest first. */
  platformRequestHistory(
    input: Omit<PlatformRequestHistoryQuery, 'tenantId' | 'scopeId'>,
  ): PrunedPage<PlatformRequest>;
  /**
   * Stores the platform's answer, by compare and set. Rejects with `not_found`, `precondition_failed`, or
   * `invalid_transition`, reason `already_settled`; `validation_failed`, reason `result_malformed`, for a result beyond
   * 65,536 characters of JSON. Repeating an answer changes nothing.
   */
  settlePlatformRequest(input: Omit<SettleRequest, 'tenantId' | 'scopeId'>): PlatformRequest;
  /** Takes in keys, to be held in memory. A `ScopeHost` brings them when a call needs them. */
  provideKeys(input: KeySupply): null;
  /** Returns the work at the vault, with at most `limit` bindings. */
  keyWork(input: { readonly limit: number }): KeyWork;
  /**
   * Marks keys of which the vault was told. Returns whether others wait. With `vaultMissing` this opening answers calls
   * although some wait: nothing that is sealed opens, and no person can be erased, until the vault is back.
   */
  keysBound(input: { readonly bindings: readonly Binding[]; readonly vaultMissing?: boolean }): {
    readonly more: boolean;
  };
  /** Returns the keys that the scope's own table has for a person. */
  heldKeys(input: { readonly subject: string }): HeldKeys;
  /** While the pool is frozen, no person is made who needs a key: another state is about to replace this one. */
  freezeKeys(input: { readonly frozen: boolean }): null;
  /** Empties the pool of a unit that is about to be closed. Returns the keys that were never used. */
  giveUpKeys(input: Record<string, never>): string[];
  /**
   * Redacts the scope's data about a person whose key was destroyed: payloads of events, and what the vertical's
   * `onShred` removes. Repeating it changes nothing.
   */
  redact(input: { readonly receipt: ShredReceipt }): null;
  /**
   * Returns the scope's tenant, and the mark of an older state that came back. Unless that is null, every method but
   * this, the next, those of keys and `provision` rejects with `unavailable`, reason `erasures_unseen`. In the same way
   * a scope is closed, reason `keys_unbound`, whose earlier opening used keys of which the vault was not told.
   */
  pendingErasures(input: Record<string, never>): {
    readonly tenantId: TenantId;
    readonly mark: string | null;
  };
  /**
   * Redacts the erased persons of whom the state was not redacted when it came back, and opens the scope. Does nothing
   * under another mark than the present one. A `ScopeHost` calls it when a call needs it.
   */
  redactPendingErasures(input: { readonly mark: string; readonly receipts: readonly ShredReceipt[] }): null;
  /**
   * Replaces the settings that operations read; the caller leaves out secrets. `platform:retention` changes the scope's
   * retention. Rejects with `validation_failed`, reason `projection_invalid` or `retention_invalid`.
   */
  projectSettings(input: { readonly settings: Readonly<Record<string, string>> }): null;
  /** Replaces the tenant's entitlements. */
  projectEntitlements(input: EntitlementsInput): null;
  /** Demands the permission to add attachments to a record, before any byte is taken in. */
  checkAttach(input: ScopeCaller & { readonly entity: EntityRef }): Proof;
  /** Records an attachment whose bytes are stored; see `makeAttachments`. */
  addAttachment(
    input: ScopeCaller & {
      readonly meta: AttachmentMeta & { readonly digest: string; readonly bytes: number };
    },
  ): AttachmentRecord;
  attachment(input: ScopeCaller & { readonly id: string }): AttachmentRecord;
  attachments(input: ScopeCaller & { readonly entity: EntityRef }): AttachmentRecord[];
  removeAttachment(input: ScopeCaller & { readonly id: string }): null;
  /**
   * Returns which of these bytes are needed: by a record, by one that a rewind could bring back, or by a copy from
   * `sinceMs` or later. The others may be removed within five minutes; no record gets them meanwhile.
   */
  heldBlobs(input: { readonly digests: readonly string[]; readonly sinceMs?: number }): string[];
  /** Returns every table and view, the platform's own included, with columns and, where it is quick, the row count. */
  tables(input: Record<string, never>): TableInfo[];
  /** Returns rows of one table in the order of its key. Long values are shortened, and say so. */
  table(input: Omit<TableQuery, 'tenantId' | 'scopeId'>): TablePage;
  /** Returns refused attempts, newest first; `limit` is 1 to 200. */
  listDenials(input: {
    readonly actor?: string;
    readonly permission?: string;
    readonly limit: number;
    readonly cursor?: string;
  }): PrunedPage<DenialRecord>;
  /** Counts refused attempts; the largest bucket comes first (spec 4.3.7). */
  summarizeDenials(input: { readonly groupBy: 'actor' | 'operation' }): DenialsSummary & PrunedBefore;
  /** Notes the present members, for a copy that is about to be made. */
  noteMembers(input: { readonly members: readonly CopiedMember[] }): null;
  retention(input: Record<string, never>): RetentionState;
  /** Returns the journal of migrations: `spine` is the platform's set, `vertical` the application's. */
  appliedMigrations(input: Record<string, never>): MigrationRecord[];
  identify(input: Record<string, never>): { readonly tenantId: TenantId; readonly name: string };
};
