/** The members of the management contract that look into a scope's log and answer its requests (spec 4.4). */
import type { z } from 'zod';
import type { eventRef, ScopeRef } from '../management.ts';
import type { InvokeResult } from '../operations.ts';
import type { Page } from '../pages.ts';
import type { ConnectorGrant, ConnectorGranted, ConnectorInvoke } from './connectors.ts';
import type { ShredReceipt } from './copies.ts';
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
}

export interface ScopeErasure {
  /** Destroys a person's key in the vault and redacts the scope. Twice is once: the receipt is the same. */
  shredSubjectLocal(ref: ScopeRef & { readonly subject: string }): Promise<ShredReceipt>;
}
