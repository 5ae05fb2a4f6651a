/**
 * The calls of the platform to the scopes of one vertical (spec 4.4), in this process or over HTTP. Every member rejects
 * with a `PlatformError`: `not_found`, reason `unknown_scope`, for an unknown scope and for another tenant's.
 */
import type { z } from 'zod';
import type { InvokeResult } from '../operations.ts';
import type { Page } from '../pages.ts';
import type * as connectors from './connectors.ts';
import type * as copies from './copies.ts';
import type * as window from './data-window.ts';
import type * as events from './events.ts';
import type * as requests from './platform-requests.ts';
import type * as shared from './shared.ts';

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
  provisionScopeLocal(
    scope: shared.ScopeRef & { readonly name: string },
  ): Promise<'provisioned' | 'unchanged'>;
  /** Replaces the roles that the platform adds to the manifest's own. */
  projectRolesLocal(
    scope: shared.ScopeRef,
    roles: Readonly<Record<string, readonly string[]>>,
  ): Promise<void>;
  appliedMigrationsLocal(scope: shared.ScopeRef): Promise<shared.MigrationRecord[]>;
}

/** Payloads about persons stay sealed here: staff see the events, not the persons. */
export interface ScopeLog {
  /** Returns the events of one record, oldest first. */
  entityHistoryLocal(query: shared.HistoryQuery): Promise<z.infer<typeof shared.historyResponse>>;
  facetEventsLocal(query: events.FacetsQuery): Promise<events.EventFacets>;
  /** Returns the causes back to the origin, nearest first. */
  eventCauseLocal(ref: z.infer<typeof shared.eventRef>): Promise<shared.EventWalk>;
  /** Returns direct and further effects in the order of their time. */
  eventEffectsLocal(ref: z.infer<typeof shared.eventRef>): Promise<shared.EventWalk>;
  invocationEventsLocal(ref: z.infer<typeof events.invocationRef>): Promise<events.InvocationEvents>;
  /** Newest event first. */
  deadLettersLocal(query: events.DeadLettersQuery): Promise<Page<events.DeadLetter>>;
  /** Newest first. */
  listDenialsLocal(query: shared.DenialsQuery): Promise<z.infer<typeof shared.denialsResponse>>;
  summarizeDenialsLocal(query: shared.DenialsSummaryQuery): Promise<shared.DenialsSummary>;
}

/** The tables of a scope, their rows, and queries. */
export interface ScopeTables {
  introspectScopeTables(ref: shared.ScopeRef): Promise<window.TableInfo[]>;
  introspectScopeTable(query: window.TableQuery): Promise<window.TablePage>;
  /** Rejects with `validation_failed`, reason `statement_refused`, `statement_invalid` or `time_limit`. */
  introspectScopeQuery(request: window.QueryRequest): Promise<window.QueryResult>;
}

/** The scope as a whole: copied, restored, rewound, removed. */
export interface ScopeCopies {
  /** Without a format, the engine's own. */
  exportScopeLocal(query: z.infer<typeof copies.exportQuery>): Promise<copies.ScopeExport>;
  /**
   * Replaces the whole contents or nothing, and never brings back an erased person. A scope whose database is damaged is
   * restored too, and with `ifMissing` one whose database is gone. Rejects with `validation_failed`, reason
   * `copy_damaged` or `copy_foreign`.
   */
  restoreScopeLocal(
    scope: z.infer<typeof copies.restoreQuery>,
    body: ReadableStream<Uint8Array>,
  ): Promise<copies.Restored>;
  snapshotScopeLocal(request: z.infer<typeof copies.snapshotRequest>): Promise<copies.SnapshotRecord>;
  /**
   * Wipes the scope with its attachments, its snapshots and its history. With `ifMissing` also what is left of a scope whose
   * database is gone: that it is the tenant's, the caller knows. It may be repeated. Rejects with `not_found`, reason
   * `unknown_scope`, for another tenant's scope, and without `ifMissing` for one that is not there.
   */
  deleteScopeLocal(ref: shared.ScopeRef & { readonly ifMissing?: 'clear' }): Promise<void>;
  migrationBookmarksLocal(query: copies.BookmarksQuery): Promise<copies.Bookmarks>;
  /** Rejects with `not_found`, reason `unknown_bookmark`, outside of the window. */
  rewindScopeLocal(request: copies.RewindRequest): Promise<copies.Rewound>;
}

export interface ScopeRequests {
  /** Returns waiting requests, oldest first. */
  listPlatformRequests(query: requests.PlatformRequestsQuery): Promise<Page<requests.PlatformRequest>>;
  /** Returns all requests, newest first. */
  listPlatformRequestHistory(
    query: requests.PlatformRequestHistoryQuery,
  ): Promise<requests.PlatformRequestHistory>;
  /** Rejects with `precondition_failed` for another revision, `invalid_transition` for another answer. */
  settlePlatformRequest(request: requests.SettleRequest): Promise<requests.PlatformRequest>;
}

/** The acts of a connection in a scope. */
export interface ScopeConnector {
  connectorInvokeLocal(request: connectors.ConnectorInvoke): Promise<InvokeResult>;
  connectorGrantLocal(grant: connectors.ConnectorGrant): Promise<connectors.ConnectorGranted>;
  connectorAttachmentUploadLocal(
    upload: shared.ScopeRef & { readonly connection: string; readonly meta: connectors.AttachmentMeta },
    body: ReadableStream<Uint8Array>,
  ): Promise<connectors.AttachmentRecord>;
  connectorAttachmentOpenLocal(
    ref: z.infer<typeof connectors.connectorAttachmentRef>,
  ): Promise<connectors.OpenAttachment>;
}

/** Beyond the specification: the snapshots that a host keeps. */
export interface ScopeSnapshots {
  /** Newest first. */
  listSnapshotsLocal(ref: shared.ScopeRef): Promise<readonly copies.SnapshotRecord[]>;
  /** Rejects with `not_found`, reason `unknown_snapshot`. */
  openSnapshotLocal(ref: shared.ScopeRef & { readonly snapshot: string }): Promise<copies.ScopeExport>;
  deleteSnapshotLocal(ref: shared.ScopeRef & { readonly snapshot: string }): Promise<void>;
}

/** Beyond the contract: a look into a copy. */
export interface ScopeExamination {
  /** Checks a copy as a restore does, and rejects as it does. Nothing is changed. */
  examineCopyLocal(
    scope: z.infer<typeof copies.restoreQuery>,
    body: ReadableStream<Uint8Array>,
  ): Promise<copies.ExaminedScopeCopy>;
}

/** Beyond the contract: the retry of dead letters. */
export interface ScopeRetries {
  /** Puts a dead letter back in line. Rejects with `not_found`, reason `unknown_dead_letter`. */
  retryDeadLetterLocal(ref: z.infer<typeof shared.eventRef> & { readonly subscriber: string }): Promise<void>;
}

/** Beyond the contract: the erasure of a person. */
export interface ScopeErasure {
  /** Destroys a person's key in the vault and redacts the scope. Twice is once: the receipt is the same. */
  shredSubjectLocal(ref: shared.ScopeRef & { readonly subject: string }): Promise<copies.ShredReceipt>;
}
