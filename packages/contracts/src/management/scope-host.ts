/** The members of the management contract that look into a scope's log and answer its requests (spec 4.4). */
import type { z } from 'zod';
import type { eventRef, ScopeRef } from '../management.ts';
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
  PlatformRequestHistoryQuery,
  PlatformRequestsQuery,
  SettleRequest,
} from './platform-requests.ts';

/** Payloads about persons are answered sealed here: staff look at what happened, not at whom it was about. */
export interface ScopeEventReads {
  facetEventsLocal(query: FacetsQuery): Promise<EventFacets>;
  invocationEventsLocal(ref: z.infer<typeof invocationRef>): Promise<InvocationEvents>;
  /** Newest event first. */
  deadLettersLocal(query: DeadLettersQuery): Promise<Page<DeadLetter>>;
  /** Puts a dead letter back in line. Rejects with `not_found`, reason `unknown_dead_letter`. */
  retryDeadLetterLocal(ref: z.infer<typeof eventRef> & { readonly subscriber: string }): Promise<void>;
}

export interface ScopeRequests {
  /** Those that wait, oldest first. */
  listPlatformRequests(query: PlatformRequestsQuery): Promise<Page<PlatformRequest>>;
  /** All of them, newest first. */
  listPlatformRequestHistory(query: PlatformRequestHistoryQuery): Promise<Page<PlatformRequest>>;
  settlePlatformRequest(request: SettleRequest): Promise<PlatformRequest>;
}

/** What a connection does in a scope, as itself. */
export interface ScopeConnector {
  connectorInvokeLocal(request: ConnectorInvoke): Promise<InvokeResult>;
  connectorGrantLocal(grant: ConnectorGrant): Promise<ConnectorGranted>;
  connectorAttachmentUploadLocal(
    upload: ScopeRef & { readonly connection: string; readonly meta: AttachmentMeta },
    body: ReadableStream<Uint8Array>,
  ): Promise<AttachmentRecord>;
  connectorAttachmentOpenLocal(ref: z.infer<typeof connectorAttachmentRef>): Promise<OpenAttachment>;
}

export interface ScopeErasure {
  /** Destroys a person's key in the vault and redacts the scope. Twice is once: the receipt is the same. */
  shredSubjectLocal(ref: ScopeRef & { readonly subject: string }): Promise<ShredReceipt>;
}

/** The scope as a whole: copied, put back, taken back in time, removed, and asked. */
export interface ScopeCopies {
  /** Without a format, the engine's own. */
  exportScopeLocal(query: z.infer<typeof exportQuery>): Promise<ScopeExport>;
  /**
   * Replaces the whole contents or nothing, and never brings back who was erased. Rejects with `validation_failed`,
   * reason `copy_damaged` or `copy_foreign`.
   */
  restoreScopeLocal(
    scope: ScopeRef & { readonly format: ExportFormat },
    body: ReadableStream<Uint8Array>,
  ): Promise<Restored>;
  snapshotScopeLocal(request: z.infer<typeof snapshotRequest>): Promise<SnapshotRecord>;
  /** Newest first. */
  listSnapshotsLocal(ref: ScopeRef): Promise<readonly SnapshotRecord[]>;
  openSnapshotLocal(ref: ScopeRef & { readonly snapshot: string }): Promise<ScopeExport>;
  deleteSnapshotLocal(ref: ScopeRef & { readonly snapshot: string }): Promise<void>;
  /** Wipes the scope with its snapshots and its history. */
  deleteScopeLocal(ref: ScopeRef): Promise<void>;
  migrationBookmarksLocal(query: BookmarksQuery): Promise<Bookmarks>;
  /** Rejects with `not_found`, reason `unknown_bookmark`, outside of the window. */
  rewindScopeLocal(request: RewindRequest): Promise<Rewound>;
  /** Rejects with `validation_failed`, reason `statement_refused`, `statement_invalid` or `time_limit`. */
  introspectScopeQuery(request: QueryRequest): Promise<QueryResult>;
}

/** The tables of a scope, and their rows. */
export interface ScopeTables {
  introspectScopeTables(ref: ScopeRef): Promise<TableInfo[]>;
  introspectScopeTable(query: TableQuery): Promise<TablePage>;
}
