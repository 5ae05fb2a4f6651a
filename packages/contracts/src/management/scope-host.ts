/**
 * The calls of the platform to the scopes of one vertical (spec 4.4), in this process or over HTTP. Every member rejects
 * with a `PlatformError`: `not_found`, reason `unknown_scope`, for an unknown scope and for another tenant's.
 */
import type { z } from 'zod';
import type { InvokeResult } from '../operations.ts';
import type { Page } from '../pages.ts';
import type {
  AttachmentMeta,
  AttachmentRecord,
  ConnectorGrant,
  ConnectorGranted,
  ConnectorInvoke,
  connectorAttachmentRef,
  OpenAttachment,
} from './connectors.ts';
import type {
  Bookmarks,
  BookmarksQuery,
  ExportFormat,
  exportQuery,
  Restored,
  RewindRequest,
  Rewound,
  ScopeExport,
  ShredReceipt,
  SnapshotRecord,
  snapshotRequest,
} from './copies.ts';
import type { QueryRequest, QueryResult, TableInfo, TablePage, TableQuery } from './data-window.ts';
import type {
  DeadLetter,
  DeadLettersQuery,
  EventFacets,
  FacetsQuery,
  InvocationEvents,
  invocationRef,
} from './events.ts';
import type {
  PlatformRequest,
  PlatformRequestHistory,
  PlatformRequestHistoryQuery,
  PlatformRequestsQuery,
  SettleRequest,
} from './platform-requests.ts';
import type {
  DenialsQuery,
  DenialsSummary,
  DenialsSummaryQuery,
  denialsResponse,
  EventWalk,
  eventRef,
  HistoryQuery,
  historyResponse,
  MigrationRecord,
  ScopeRef,
} from './shared.ts';

/** Exactly the members of the specification: a host without one of them fails to compile (spec 9.3). */
export interface VerticalScopeHost
  extends ScopeProvisioning,
    ScopeLog,
    ScopeTables,
    ScopeCopies,
    ScopeRequests,
    ScopeConnector {}

/** The creation of a scope, and its projections. */
export interface ScopeProvisioning {
  /** Repeating it changes nothing. */
  provisionScopeLocal(scope: ScopeRef & { readonly name: string }): Promise<'provisioned' | 'unchanged'>;
  /** Replaces the roles that the platform adds to the manifest's own. */
  projectRolesLocal(scope: ScopeRef, roles: Readonly<Record<string, readonly string[]>>): Promise<void>;
  appliedMigrationsLocal(scope: ScopeRef): Promise<MigrationRecord[]>;
}

/** Payloads about persons stay sealed here: staff see the events, not the persons. */
export interface ScopeLog {
  /** Returns the events of one record, oldest first. */
  entityHistoryLocal(query: HistoryQuery): Promise<z.infer<typeof historyResponse>>;
  facetEventsLocal(query: FacetsQuery): Promise<EventFacets>;
  /** Returns the causes back to the origin, nearest first. */
  eventCauseLocal(ref: z.infer<typeof eventRef>): Promise<EventWalk>;
  /** Returns direct and further effects in the order of their time. */
  eventEffectsLocal(ref: z.infer<typeof eventRef>): Promise<EventWalk>;
  invocationEventsLocal(ref: z.infer<typeof invocationRef>): Promise<InvocationEvents>;
  /** Newest event first. */
  deadLettersLocal(query: DeadLettersQuery): Promise<Page<DeadLetter>>;
  /** Newest first. */
  listDenialsLocal(query: DenialsQuery): Promise<z.infer<typeof denialsResponse>>;
  summarizeDenialsLocal(query: DenialsSummaryQuery): Promise<DenialsSummary>;
}

/** The tables of a scope, their rows, and queries. */
export interface ScopeTables {
  introspectScopeTables(ref: ScopeRef): Promise<TableInfo[]>;
  introspectScopeTable(query: TableQuery): Promise<TablePage>;
  /** Rejects with `validation_failed`, reason `statement_refused`, `statement_invalid` or `time_limit`. */
  introspectScopeQuery(request: QueryRequest): Promise<QueryResult>;
}

/** The scope as a whole: copied, restored, rewound, removed. */
export interface ScopeCopies {
  /** Without a format, the engine's own. */
  exportScopeLocal(query: z.infer<typeof exportQuery>): Promise<ScopeExport>;
  /**
   * Replaces the whole contents or nothing, and never brings back an erased person. Rejects with `validation_failed`,
   * reason `copy_damaged` or `copy_foreign`.
   */
  restoreScopeLocal(
    scope: ScopeRef & { readonly format: ExportFormat },
    body: ReadableStream<Uint8Array>,
  ): Promise<Restored>;
  snapshotScopeLocal(request: z.infer<typeof snapshotRequest>): Promise<SnapshotRecord>;
  /** Wipes the scope with its snapshots and its history. */
  deleteScopeLocal(ref: ScopeRef): Promise<void>;
  migrationBookmarksLocal(query: BookmarksQuery): Promise<Bookmarks>;
  /** Rejects with `not_found`, reason `unknown_bookmark`, outside of the window. */
  rewindScopeLocal(request: RewindRequest): Promise<Rewound>;
}

/** The requests of the scope to the platform. */
export interface ScopeRequests {
  /** Returns waiting requests, oldest first. */
  listPlatformRequests(query: PlatformRequestsQuery): Promise<Page<PlatformRequest>>;
  /** Returns all requests, newest first. */
  listPlatformRequestHistory(query: PlatformRequestHistoryQuery): Promise<PlatformRequestHistory>;
  /** Rejects with `precondition_failed` for another revision, `invalid_transition` for another answer. */
  settlePlatformRequest(request: SettleRequest): Promise<PlatformRequest>;
}

/** The acts of a connection in a scope. */
export interface ScopeConnector {
  connectorInvokeLocal(request: ConnectorInvoke): Promise<InvokeResult>;
  connectorGrantLocal(grant: ConnectorGrant): Promise<ConnectorGranted>;
  connectorAttachmentUploadLocal(
    upload: ScopeRef & { readonly connection: string; readonly meta: AttachmentMeta },
    body: ReadableStream<Uint8Array>,
  ): Promise<AttachmentRecord>;
  connectorAttachmentOpenLocal(ref: z.infer<typeof connectorAttachmentRef>): Promise<OpenAttachment>;
}

/** Beyond the contract: the snapshots that a co-located host keeps. */
export interface ScopeSnapshots {
  /** Newest first. */
  listSnapshotsLocal(ref: ScopeRef): Promise<readonly SnapshotRecord[]>;
  /** Rejects with `not_found`, reason `unknown_snapshot`. */
  openSnapshotLocal(ref: ScopeRef & { readonly snapshot: string }): Promise<ScopeExport>;
  deleteSnapshotLocal(ref: ScopeRef & { readonly snapshot: string }): Promise<void>;
}

/** Beyond the contract: the retry of dead letters. */
export interface ScopeRetries {
  /** Puts a dead letter back in line. Rejects with `not_found`, reason `unknown_dead_letter`. */
  retryDeadLetterLocal(ref: z.infer<typeof eventRef> & { readonly subscriber: string }): Promise<void>;
}

/** Beyond the contract: the erasure of a person. */
export interface ScopeErasure {
  /** Destroys a person's key in the vault and redacts the scope. Twice is once: the receipt is the same. */
  shredSubjectLocal(ref: ScopeRef & { readonly subject: string }): Promise<ShredReceipt>;
}
