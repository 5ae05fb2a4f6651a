/**
 * Requests of a scope to the platform (spec D-22). A request is part of the operation that makes it: rolled back with it,
 * and never lost once it is committed. The platform fetches it, and settles it by compare and set.
 */
import {
  type ActorId,
  type EventId,
  type InvocationId,
  type Page,
  PlatformError,
  type PlatformRequest,
  type PlatformRequestHistoryQuery,
  type PlatformRequestsQuery,
  platformRequestKind,
  type SettleRequest,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { Pruned, PrunedPage } from '../lib/pruned.ts';
import { assertJson } from '../lib/values.ts';
import { makeRequestStore } from './store.ts';

/** The number of requests that may wait. */
export const PENDING_MAX = 1_000;
/** The greatest length of a payload and of a result, in characters of JSON. */
const LENGTH_MAX = 65_536;

type Ref = 'tenantId' | 'scopeId';

export interface NewRequest {
  readonly kind: string;
  readonly payload: unknown;
  readonly operation: string;
  readonly principal: ActorId;
  readonly invocation: InvocationId;
  readonly cause: EventId | null;
  readonly nowMs: number;
}

export function makeRequests(unit: UnitContext, pruned: Pruned) {
  const store = makeRequestStore(unit.db);

  return {
    /** @throws PlatformError `rate_limited`, reason `platform_requests_full`, when 1,000 are waiting. */
    ask: ({ kind, payload, operation, principal, invocation, cause, nowMs }: NewRequest): string => {
      const where = `operation ${operation}, requestPlatform`;
      if (!platformRequestKind.safeParse(kind).success)
        throw new TypeError(`${where}: ${JSON.stringify(kind)?.slice(0, 80)} is not a kind of request`);
      if (store.countPending(PENDING_MAX) >= PENDING_MAX)
        throw new PlatformError(
          'rate_limited',
          `The platform has ${PENDING_MAX} requests of this application to answer first. Try again later.`,
          { reason: 'platform_requests_full', headers: { 'retry-after': '60' } },
        );
      const id = unit.newId('prq');
      const text = jsonText(`${where}, payload`, payload ?? null);
      store.insert({ id, kind, payload: text, requestedBy: principal, invocation, cause, atMs: nowMs });
      return id;
    },

    list: (query: Omit<PlatformRequestsQuery, Ref>): Page<PlatformRequest> => store.pending(query),
    history: (query: Omit<PlatformRequestHistoryQuery, Ref>): PrunedPage<PlatformRequest> => ({
      ...store.history(query),
      ...pruned.said('history'),
    }),

    /**
     * Settles a request by compare and set. Repeating an answer changes nothing.
     * @throws PlatformError `validation_failed`, reason `result_malformed`; `not_found`, reason
     * `unknown_platform_request`; `precondition_failed` for another revision; `invalid_transition`, reason
     * `already_settled`.
     */
    settle: ({ id, revision, status, result = null }: Omit<SettleRequest, Ref>): PlatformRequest => {
      const before = store.one(id);
      if (!before)
        throw new PlatformError('not_found', 'There is no such request.', {
          reason: 'unknown_platform_request',
        });
      const text = resultText(result);
      if (before.status !== 'pending') {
        const isSame = before.status === status && JSON.stringify(before.result) === text;
        if (isSame && revision === before.revision - 1) return before;
        throw new PlatformError('invalid_transition', `This request was settled already: ${before.status}.`, {
          reason: 'already_settled',
        });
      }
      if (revision !== before.revision)
        throw new PlatformError('precondition_failed', 'This request was changed in the meantime.');
      store.settle({ id, status, result: text, atMs: unit.now() });
      return store.one(id) as PlatformRequest;
    },

    newestId: store.newestId,
  };
}

/** The result comes from outside of the vertical: a wrong one is its sender's mistake. */
function resultText(result: unknown): string {
  try {
    return jsonText('The result', result);
  } catch (error) {
    throw new PlatformError(
      'validation_failed',
      `${error instanceof Error ? error.message : 'The result cannot be kept'}.`,
      { reason: 'result_malformed' },
    );
  }
}

function jsonText(where: string, value: unknown): string {
  const text = JSON.stringify(assertJson(where, value));
  if (text.length > LENGTH_MAX)
    throw new TypeError(`${where} has ${text.length} characters; at most ${LENGTH_MAX} are kept`);
  return text;
}
