/**
 * Every route of the management contract as data (spec 4.4), for the mount, the client and the OpenAPI document. Reads
 * are GET with their request in the query, others are POST with their request in the body; bytes travel unchanged,
 * beside a request in the query or in a form.
 */
import type { z } from 'zod';
import {
  attachmentRecord,
  connectorAttachmentRef,
  connectorAttachmentRequest,
  connectorGrantRequest,
  connectorGrantResponse,
  connectorInvokeRequest,
  connectorInvokeResponse,
} from './connectors.ts';
import {
  bookmarksQuery,
  bookmarksResponse,
  exportHead,
  exportQuery,
  restoreQuery,
  restoreResponse,
  rewindRequest,
  rewindResponse,
  shredReceipt,
  shredRequest,
  snapshotRecord,
  snapshotRequest,
} from './copies.ts';
import { queryRequest, queryResponse, tablePage, tableRequest, tablesResponse } from './data-window.ts';
import {
  deadLettersQuery,
  deadLettersResponse,
  facetsQuery,
  facetsResponse,
  invocationRef,
  invocationResponse,
  retryDeadLetterRequest,
  retryDeadLetterResponse,
} from './events.ts';
import {
  platformRequest,
  platformRequestHistoryQuery,
  platformRequestHistoryResponse,
  platformRequestsQuery,
  platformRequestsResponse,
  settleRequest,
} from './platform-requests.ts';
import {
  configureRequest,
  configureResponse,
  deleteScopeResponse,
  denialsQuery,
  denialsResponse,
  denialsSummaryQuery,
  denialsSummaryResponse,
  eventRef,
  historyQuery,
  historyResponse,
  migrationsResponse,
  ownerClaimRequest,
  ownerClaimResponse,
  ownerRecoveryRequest,
  ownerRecoveryResponse,
  ownerSeatResponse,
  provisionRequest,
  provisionResponse,
  reconcileRequest,
  reconcileResponse,
  scopeRequest,
  sessionSecretRotateRequest,
  sessionSecretRotation,
  walkResponse,
} from './shared.ts';

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
  /** The status of success. */
  readonly status: 200 | 201;
}

/** In the order of the specification; other routes come last. */
export const MANAGEMENT_ROUTES = {
  export: {
    ...read('export', 'A copy of the scope as it is at one moment', exportQuery, exportHead),
    answers: 'bytes',
  },
  restore: {
    ...write(
      'restore',
      'Replaces the contents of the scope by a copy, whole or not at all',
      restoreQuery,
      restoreResponse,
    ),
    takes: 'bytes',
  },
  bookmarks: read('bookmarks', 'Commits that a rewind can reach', bookmarksQuery, bookmarksResponse),
  migrations: read('migrations', 'The migrations that were applied', scopeRequest, migrationsResponse),
  rewind: write('rewind', 'Takes the scope back to a commit', rewindRequest, rewindResponse),
  snapshot: write('snapshot', 'Keeps a copy inside the platform', snapshotRequest, snapshotRecord, 201),
  deleteScope: write(
    'delete-scope',
    'Wipes the scope with its snapshots and its history',
    scopeRequest,
    deleteScopeResponse,
  ),
  tables: read('tables', 'The tables with their columns', scopeRequest, tablesResponse),
  table: read('tables/:table', 'Rows of one table', tableRequest, tablePage),
  query: write('query', 'One statement that reads', queryRequest, queryResponse),
  history: read('history', 'The story of one record', historyQuery, historyResponse),
  facets: read('facets', 'The log narrowed, grouped and counted', facetsQuery, facetsResponse),
  cause: read('cause', 'From an event back to its origin', eventRef, walkResponse),
  effects: read('effects', 'What an event set off', eventRef, walkResponse),
  invocation: read('invocation', 'Everything that one call recorded', invocationRef, invocationResponse),
  deadLetters: read('dead-letters', 'Deliveries that gave up', deadLettersQuery, deadLettersResponse),
  denials: read('denials', 'Refused attempts', denialsQuery, denialsResponse),
  denialsSummary: read(
    'denials/summary',
    'Refused attempts, counted',
    denialsSummaryQuery,
    denialsSummaryResponse,
  ),
  platformRequests: read(
    'platform-requests',
    'What the scope asks of the platform and waits for',
    platformRequestsQuery,
    platformRequestsResponse,
  ),
  platformRequestHistory: read(
    'platform-requests/history',
    'All that the scope ever asked of the platform',
    platformRequestHistoryQuery,
    platformRequestHistoryResponse,
  ),
  settlePlatformRequest: write(
    'platform-requests/settle',
    'The platform’s answer to a request',
    settleRequest,
    platformRequest,
  ),

  connectorInvoke: write(
    'connector-invoke',
    'Runs an operation as the connection',
    connectorInvokeRequest,
    connectorInvokeResponse,
  ),
  connectorAttachmentUpload: {
    ...write(
      'connector-attachment',
      'Attaches a file to a record as the connection',
      connectorAttachmentRequest,
      attachmentRecord,
      201,
    ),
    takes: 'form',
  },
  connectorAttachmentOpen: {
    ...read(
      'connector-attachment/:attachment',
      'The bytes of an attachment, for the connection',
      connectorAttachmentRef,
      attachmentRecord,
    ),
    answers: 'bytes',
  },
  connectorGrant: write(
    'connector-grant',
    'Gives the connection one permission in the scope',
    connectorGrantRequest,
    connectorGrantResponse,
  ),

  provision: write('provision', 'Makes the scope, once', provisionRequest, provisionResponse),
  reconcile: write(
    'reconcile',
    'Puts projected roles and entitlements into line',
    reconcileRequest,
    reconcileResponse,
  ),
  configure: write('configure', 'Delivers settings', configureRequest, configureResponse),
  ownerSeat: read('owner-seat', 'The state of the owner seat', scopeRequest, ownerSeatResponse),
  ownerClaim: write(
    'owner-claim',
    'Makes a claim link, and retires the earlier one',
    ownerClaimRequest,
    ownerClaimResponse,
    201,
  ),
  // Beyond the specification: the abilities of a host in this process, for a vertical that runs elsewhere.
  ownerRecovery: write(
    'owner-recovery',
    'Makes an invite with the owner’s role, where the owner cannot sign in any more',
    ownerRecoveryRequest,
    ownerRecoveryResponse,
    201,
  ),
  sessionSecretRotate: write(
    'session-secret/rotate',
    'Replaces the secret that signs the sessions of the tenant',
    sessionSecretRotateRequest,
    sessionSecretRotation,
  ),
  retryDeadLetter: write(
    'dead-letters/retry',
    'Puts a delivery that gave up back in line',
    retryDeadLetterRequest,
    retryDeadLetterResponse,
  ),
  shredSubject: write(
    'shred-subject',
    'Erases a person: destroys their key, and redacts what is said about them',
    shredRequest,
    shredReceipt,
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
