/** A well-behaved vertical in memory: one state behind a worker's routes and behind a co-located host. */
import {
  PLATFORM_SECRET_HEADER,
  PlatformError,
  problemDocument,
  type ScopeRef,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { BoundVertical } from '../src/gateway.ts';

export const PLATFORM_SECRET = 'the-platform-secret-of-the-tests';

export interface VerticalDouble {
  readonly bound: BoundVertical;
  readonly local: VerticalScopeHost;
  /** What the worker was asked, oldest first. */
  readonly requests: { readonly method: string; readonly url: string; readonly body: unknown }[];
  /** How often provisioning arrived, by scope. */
  readonly provisioned: Map<string, number>;
  claimed: boolean;
  /** When set, answers the next requests instead of the vertical. */
  fault: ((request: Request) => Promise<Response>) | null;
}

const AT = '2026-11-21T08:30:00.000Z';
export const EVENT = 'evt_01jd0000000000000000000001';
const INVOCATION = 'inv_01jd0000000000000000000001';

const event = {
  id: EVENT,
  type: 'order.completed',
  entity: { type: 'order', id: 'ord_1' },
  actor: 'prn_01jd0000000000000000000001',
  operation: 'order/complete',
  invocation: INVOCATION,
  cause: null,
  piiClass: 'none' as const,
  subject: null,
  payload: { total: 12 },
  at: AT,
};
const denial = {
  id: 'dnl_01jd0000000000000000000001',
  actor: 'prn_01jd0000000000000000000001',
  permission: 'order.complete',
  entity: null,
  operation: 'order/complete',
  at: AT,
};
const migration = { set: 'fieldwork', version: 1, name: 'orders', digest: 'abc', appliedAt: AT };

export function makeVerticalDouble(): VerticalDouble {
  const requests: VerticalDouble['requests'] = [];
  const provisioned = new Map<string, number>();
  const config = new Map<string, Set<string>>();

  const provision = (scope: string): 'provisioned' | 'unchanged' => {
    const times = provisioned.get(scope) ?? 0;
    provisioned.set(scope, times + 1);
    return times === 0 ? 'provisioned' : 'unchanged';
  };
  const require = ({ scopeId }: ScopeRef): void => {
    if (!provisioned.has(scopeId))
      throw new PlatformError('not_found', 'There is no such scope here.', { reason: 'unknown_scope' });
  };

  const local: VerticalScopeHost = {
    provisionScopeLocal: async ({ scopeId }) => provision(scopeId),
    projectRolesLocal: async () => undefined,
    appliedMigrationsLocal: async (scope) => {
      require(scope);
      return [migration];
    },
    entityHistoryLocal: async ({ limit, ...query }) => {
      require(query);
      const items = query.entityId === 'ord_1' ? [event, event].slice(0, limit) : [];
      return { items: items as never, nextCursor: null };
    },
    eventCauseLocal: async (ref) => {
      require(ref);
      return { items: [event] as never, truncated: false };
    },
    eventEffectsLocal: async (ref) => {
      require(ref);
      return { items: [event, event, event] as never, truncated: true };
    },
    listDenialsLocal: async (query) => {
      require(query);
      return { items: [denial], nextCursor: null };
    },
    summarizeDenialsLocal: async ({ groupBy, ...scope }) => {
      require(scope);
      const bucket = { count: 1, lastAt: AT };
      return groupBy === 'actor'
        ? { groupBy, total: 1, buckets: [{ actor: denial.actor, permission: denial.permission, ...bucket }] }
        : {
            groupBy,
            total: 2,
            buckets: [
              { operation: denial.operation, ...bucket },
              { operation: null, ...bucket },
            ],
          };
    },
  };

  const answer = async (request: Request): Promise<unknown> => {
    const url = new URL(request.url);
    const text = await request.text();
    const body = text ? JSON.parse(text) : undefined;
    requests.push({ method: request.method, url: request.url, body });
    if (request.headers.get(PLATFORM_SECRET_HEADER) !== PLATFORM_SECRET)
      throw new PlatformError('forbidden', 'The platform secret is not the right one.');
    const query = Object.fromEntries(url.searchParams);
    const scope = { tenantId: query.tenantId, scopeId: query.scopeId } as ScopeRef;
    switch (`${request.method} ${url.pathname}`) {
      case 'POST /internal/provision':
        return { scopeId: body.scopeId, status: provision(body.scopeId), ownerSeat: 'pending' };
      case 'POST /internal/configure': {
        require(body);
        const keys = config.get(body.scopeId) ?? new Set<string>();
        for (const [key, value] of Object.entries(body.config)) {
          if (value === null) keys.delete(key);
          else keys.add(key);
        }
        config.set(body.scopeId, keys);
        return { keys: [...keys].sort() };
      }
      case 'GET /internal/owner-seat':
        require(scope);
        return {
          state: double.claimed ? 'claimed' : 'pending',
          reason: double.claimed ? null : 'window_open',
          windowEndsAt: null,
          claimedAt: double.claimed ? AT : null,
        };
      case 'POST /internal/owner-claim':
        require(body);
        if (double.claimed)
          throw new PlatformError('conflict', 'The seat is claimed.', { reason: 'seat_claimed' });
        return { url: `${body.origin}/?claim=a-claim-secret`, expiresAt: AT };
      case 'GET /internal/history':
        return local.entityHistoryLocal({ ...query, limit: Number(query.limit) } as never);
      case 'GET /internal/cause':
        return local.eventCauseLocal(query as never);
      case 'GET /internal/effects':
        return local.eventEffectsLocal(query as never);
      case 'GET /internal/denials':
        return local.listDenialsLocal({ ...query, limit: Number(query.limit) } as never);
      case 'GET /internal/denials/summary':
        return local.summarizeDenialsLocal(query as never);
      case 'GET /internal/migrations':
        return { items: await local.appliedMigrationsLocal(scope) };
      default:
        throw new PlatformError('not_found', 'There is no such route.');
    }
  };

  const double: VerticalDouble = {
    bound: {
      platformSecret: PLATFORM_SECRET,
      fetch: async (request) => {
        if (double.fault) return double.fault(request);
        try {
          return Response.json(await answer(request));
        } catch (error) {
          if (error instanceof PlatformError) return problemDocument(error);
          throw error;
        }
      },
    },
    local,
    requests,
    provisioned,
    claimed: false,
    fault: null,
  };
  return double;
}
