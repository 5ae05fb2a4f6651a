/**
 * Every route of the management contract as data (spec 4.4), for the mount, the client and the OpenAPI document. Reads
 * are GET with their request in the query, others are POST with their request in the body; bytes travel unchanged,
 * beside a request in the query or in a form.
 */
import type { z } from 'zod';
import * as connectors from './connectors.ts';
import * as copies from './copies.ts';
import * as window from './data-window.ts';
import * as events from './events.ts';
import * as requests from './platform-requests.ts';
import * as shared from './shared.ts';

/** One route below `/internal/`. */
export interface ManagementRoute<
  Request extends z.ZodType = z.ZodType,
  Response extends z.ZodType = z.ZodType,
> {
  readonly method: 'GET' | 'POST';
  /** `:name` is a field of the request. */
  readonly path: string;
  /** One line for people. */
  readonly summary: string;
  /** Refuses unknown fields. */
  readonly request: Request;
  /**
   * The place of the request: the query; a JSON body; the query, with `bytes` as the body; or the field `meta` of a
   * multipart form whose second and last field, `file`, is bytes.
   */
  readonly takes: 'query' | 'json' | 'bytes' | 'form';
  /** The answer; for `bytes`, the facts in the headers. */
  readonly response: Response;
  readonly answers: 'json' | 'bytes';
  readonly status: 200 | 201;
}

/** In the order of the specification; other routes come last. */
export const MANAGEMENT_ROUTES = {
  export: {
    ...read('export', 'A copy of the scope as it is at one moment', copies.exportQuery, copies.exportHead),
    answers: 'bytes',
  },
  restore: {
    ...write(
      'restore',
      'Replaces the contents of the scope by a copy, whole or not at all',
      copies.restoreQuery,
      copies.restoreResponse,
    ),
    takes: 'bytes',
  },
  bookmarks: read(
    'bookmarks',
    'Commits that a rewind can reach',
    copies.bookmarksQuery,
    copies.bookmarksResponse,
  ),
  migrations: read(
    'migrations',
    'The migrations that were applied',
    shared.scopeRequest,
    shared.migrationsResponse,
  ),
  rewind: write('rewind', 'Takes the scope back to a commit', copies.rewindRequest, copies.rewindResponse),
  snapshot: write(
    'snapshot',
    'Keeps a copy inside the platform',
    copies.snapshotRequest,
    copies.snapshotRecord,
    201,
  ),
  deleteScope: write(
    'delete-scope',
    'Wipes the scope with its snapshots and its history',
    shared.scopeRequest,
    shared.deleteScopeResponse,
  ),
  tables: read('tables', 'The tables with their columns', shared.scopeRequest, window.tablesResponse),
  table: read('tables/:table', 'Rows of one table', window.tableRequest, window.tablePage),
  query: write('query', 'One statement that reads', window.queryRequest, window.queryResponse),
  history: read('history', 'The story of one record', shared.historyQuery, shared.historyResponse),
  facets: read('facets', 'The log narrowed, grouped and counted', events.facetsQuery, events.facetsResponse),
  cause: read('cause', 'From an event back to its origin', shared.eventRef, shared.walkResponse),
  effects: read('effects', 'What an event set off', shared.eventRef, shared.walkResponse),
  invocation: read(
    'invocation',
    'Everything that one call recorded',
    events.invocationRef,
    events.invocationResponse,
  ),
  deadLetters: read(
    'dead-letters',
    'Deliveries that gave up',
    events.deadLettersQuery,
    events.deadLettersResponse,
  ),
  denials: read('denials', 'Refused attempts', shared.denialsQuery, shared.denialsResponse),
  denialsSummary: read(
    'denials/summary',
    'Refused attempts, counted',
    shared.denialsSummaryQuery,
    shared.denialsSummaryResponse,
  ),
  platformRequests: read(
    'platform-requests',
    'What the scope asks of the platform and waits for',
    requests.platformRequestsQuery,
    requests.platformRequestsResponse,
  ),
  platformRequestHistory: read(
    'platform-requests/history',
    'All that the scope ever asked of the platform',
    requests.platformRequestHistoryQuery,
    requests.platformRequestHistoryResponse,
  ),
  settlePlatformRequest: write(
    'platform-requests/settle',
    'The platform’s answer to a request',
    requests.settleRequest,
    requests.platformRequest,
  ),

  connectorInvoke: write(
    'connector-invoke',
    'Runs an operation as the connection',
    connectors.connectorInvokeRequest,
    connectors.connectorInvokeResponse,
  ),
  connectorAttachmentUpload: {
    ...write(
      'connector-attachment',
      'Attaches a file to a record as the connection',
      connectors.connectorAttachmentRequest,
      connectors.attachmentRecord,
      201,
    ),
    takes: 'form',
  },
  connectorAttachmentOpen: {
    ...read(
      'connector-attachment/:attachment',
      'The bytes of an attachment, for the connection',
      connectors.connectorAttachmentRef,
      connectors.attachmentRecord,
    ),
    answers: 'bytes',
  },
  connectorGrant: write(
    'connector-grant',
    'Gives the connection one permission in the scope',
    connectors.connectorGrantRequest,
    connectors.connectorGrantResponse,
  ),

  provision: write('provision', 'Makes the scope, once', shared.provisionRequest, shared.provisionResponse),
  reconcile: write(
    'reconcile',
    'Puts projected roles and entitlements into line',
    shared.reconcileRequest,
    shared.reconcileResponse,
  ),
  configure: write('configure', 'Delivers settings', shared.configureRequest, shared.configureResponse),
  ownerSeat: read('owner-seat', 'The state of the owner seat', shared.scopeRequest, shared.ownerSeatResponse),
  ownerClaim: write(
    'owner-claim',
    'Makes a claim link, and retires the earlier one',
    shared.ownerClaimRequest,
    shared.ownerClaimResponse,
    201,
  ),
  // Beyond the specification: the abilities of a host in this process, for a vertical that runs elsewhere.
  ownerRecovery: write(
    'owner-recovery',
    'Makes an invite with the owner’s role, where the owner cannot sign in any more',
    shared.ownerRecoveryRequest,
    shared.ownerRecoveryResponse,
    201,
  ),
  ownerReplacement: write(
    'owner-replacement',
    'Makes an invite with the owner’s role that takes the seat from its holder',
    shared.ownerReplacementRequest,
    shared.ownerReplacementResponse,
    201,
  ),
  ownerRecoveryEnd: write(
    'owner-recovery/end',
    'Ends a recovery or a replacement that was not accepted',
    shared.ownerRecoveryEndRequest,
    shared.ownerRecoveryEndResponse,
  ),
  sessionSecretRotate: write(
    'session-secret/rotate',
    'Replaces the secret that signs the sessions of the tenant',
    shared.sessionSecretRotateRequest,
    shared.sessionSecretRotation,
  ),
  retryDeadLetter: write(
    'dead-letters/retry',
    'Puts a delivery that gave up back in line',
    events.retryDeadLetterRequest,
    events.retryDeadLetterResponse,
  ),
  shredSubject: write(
    'shred-subject',
    'Erases a person: destroys their key, and redacts what is said about them',
    copies.shredRequest,
    copies.shredReceipt,
  ),
  examineCopy: {
    ...write(
      'examine-copy',
      'Checks a copy as a restore does, and changes nothing; the scope’s own database may be damaged or missing',
      copies.restoreQuery,
      copies.examinedCopy,
    ),
    takes: 'bytes',
  },
  snapshotOpen: {
    ...read(
      'snapshots/:snapshot',
      'The bytes of a copy that it keeps',
      copies.snapshotRef,
      copies.exportHead,
    ),
    answers: 'bytes',
  },
  snapshotDelete: write(
    'snapshot/delete',
    'Deletes a copy that it keeps',
    copies.snapshotRef,
    copies.snapshotDeleted,
  ),
} as const satisfies Readonly<Record<string, ManagementRoute>>;

function read<Request extends z.ZodType, Response extends z.ZodType>(
  path: string,
  summary: string,
  request: Request,
  response: Response,
) {
  const route = {
    method: 'GET',
    path,
    summary,
    request,
    takes: 'query',
    response,
    answers: 'json',
    status: 200,
  } as const;
  return route satisfies ManagementRoute<Request, Response>;
}

function write<Request extends z.ZodType, Response extends z.ZodType>(
  path: string,
  summary: string,
  request: Request,
  response: Response,
  status: 200 | 201 = 200,
) {
  const route = {
    method: 'POST',
    path,
    summary,
    request,
    takes: 'json',
    response,
    answers: 'json',
    status,
  } as const;
  return route satisfies ManagementRoute<Request, Response>;
}
