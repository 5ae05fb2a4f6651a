/** A well-behaved vertical in memory: one state behind a worker's routes and behind a co-located host. */
import {
  type EntitlementProjection,
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  PLATFORM_SECRET_HEADER,
  PlatformError,
  problemDocument,
  type ScopeEntitlements,
  type ScopeExport,
  type ScopeRef,
  type ScopeSnapshots,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { BoundVertical } from '../src/verticals/gateway.ts';

export const PLATFORM_SECRET = 'the-platform-secret-of-the-tests';

export interface VerticalDouble {
  readonly bound: BoundVertical;
  readonly local: VerticalScopeHost & ScopeSnapshots & ScopeEntitlements;
  /** The requests to the worker, oldest first. */
  readonly requests: { readonly method: string; readonly url: string; readonly body: unknown }[];
  /** The number of provisionings, by scope. */
  readonly provisioned: Map<string, number>;
  /** The entitlements of the last delivery, by scope. */
  readonly entitled: Map<string, EntitlementProjection>;
  /** The platform's roles that a scope was told last, by scope. */
  readonly roles: Map<string, Readonly<Record<string, readonly string[]>>>;
  claimed: boolean;
  /** The content of a scope, for exports and snapshots; a restore replaces it. */
  copy: string;
  /** The content of an export in place of `copy`. */
  exported: (() => ReadableStream<Uint8Array>) | null;
  /** When set, answers the next requests instead of the vertical. */
  fault: ((request: Request) => Promise<Response>) | null;
  /** Answers as the vertical, also while a fault is set: for the requests that a fault lets through. */
  readonly served: (request: Request) => Promise<Response>;
}

const AT = '2026-11-21T08:30:00.000Z';
export const EVENT = 'evt_01jd0000000000000000000001';
export const INVOCATION = 'inv_01jd0000000000000000000001';

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
const invocation = {
  id: INVOCATION,
  operation: 'order/complete',
  principal: event.actor,
  parent: null,
  cause: null,
  idempotencyKey: null,
  startedAt: AT,
  durationMs: 3,
  outcome: 'ok',
};
const deadLetter = {
  event,
  subscriber: 'invoices',
  attempts: 5,
  firstAttemptAt: AT,
  lastAttemptAt: AT,
  error: { code: 'unavailable', detail: 'The printer is away.' },
};
const columns = [{ name: 'id', type: 'TEXT', notNull: true, primaryKey: 1 }];
const BOOKMARK = { bookmark: 'bm_1', at: AT };
const noAttachments = () => new PlatformError('unsupported', 'There is no place for attachments here.');
const migration = { set: 'fieldwork', version: 1, name: 'orders', digest: 'abc', appliedAt: AT };

export function makeVerticalDouble(): VerticalDouble {
  const requests: VerticalDouble['requests'] = [];
  const provisioned = new Map<string, number>();
  const config = new Map<string, Set<string>>();
  const entitled = new Map<string, EntitlementProjection>();
  const roles: VerticalDouble['roles'] = new Map();

  const provision = (scope: string): 'provisioned' | 'unchanged' => {
    const times = provisioned.get(scope) ?? 0;
    provisioned.set(scope, times + 1);
    return times === 0 ? 'provisioned' : 'unchanged';
  };
  const require = ({ scopeId }: ScopeRef): void => {
    if (!provisioned.has(scopeId))
      throw new PlatformError('not_found', 'There is no such scope here.', { reason: 'unknown_scope' });
  };

  const snapshots = new Map<string, string>();
  /** Ids are never given again, also after a deletion. */
  let snapshotsTaken = 0;
  const bytesOf = (text: string) => new Response(text).body as ReadableStream<Uint8Array>;
  const openSnapshot = (id: string): string => {
    const copy = snapshots.get(id);
    if (copy !== undefined) return copy;
    throw new PlatformError('not_found', 'There is no such snapshot.', { reason: 'unknown_snapshot' });
  };

  const local: VerticalDouble['local'] = {
    provisionScopeLocal: async ({ scopeId }) => provision(scopeId),
    projectRolesLocal: async (scope, projected) => {
      require(scope);
      roles.set(scope.scopeId, projected);
    },
    projectEntitlementsLocal: async (scope, projection) => {
      require(scope);
      // One that was overtaken by a newer one changes nothing.
      if (projection.revision >= (entitled.get(scope.scopeId)?.revision ?? 0))
        entitled.set(scope.scopeId, projection);
    },
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
    facetEventsLocal: async ({ groupBy, ...scope }) => {
      require(scope);
      const bucket = { key: event.type, count: 1, firstAt: AT, lastAt: AT };
      return { groupBy, since: AT, until: AT, total: 1, buckets: [bucket], others: 0, truncated: false };
    },
    invocationEventsLocal: async (ref) => {
      require(ref);
      return { invocation: invocation as never, items: [event] as never, truncated: false };
    },
    deadLettersLocal: async (query) => {
      require(query);
      return { items: [deadLetter] as never, nextCursor: null };
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
    introspectScopeTables: async (scope) => {
      require(scope);
      return [{ name: 'orders', kind: 'vertical', type: 'table', columns, rows: 1 }];
    },
    introspectScopeTable: async ({ table, ...scope }) => {
      require(scope);
      if (table !== 'orders')
        throw new PlatformError('not_found', 'There is no such table.', { reason: 'unknown_table' });
      return { table, columns, rows: [['ord_1']], nextCursor: null, truncated: false };
    },
    introspectScopeQuery: async (scope) => {
      require(scope);
      const limits = { rows: 1_000, bytes: 4_194_304, timeMs: 5_000 };
      return { columns: ['id'], rows: [['ord_1']], truncated: null, limits, durationMs: 1 };
    },
    exportScopeLocal: async ({ format = 'ndjson', ...scope }) => {
      require(scope);
      return { format, bookmark: BOOKMARK.bookmark, body: double.exported?.() ?? bytesOf(double.copy) };
    },
    restoreScopeLocal: async ({ format, ...scope }, body) => {
      require(scope);
      double.copy = await new Response(body).text();
      return { format, tables: 1, rows: 1, undo: BOOKMARK.bookmark };
    },
    snapshotScopeLocal: async ({ name = null, ...scope }) => {
      require(scope);
      snapshotsTaken += 1;
      const id = `snp_01jd${String(snapshotsTaken).padStart(22, '0')}`;
      snapshots.set(id, double.copy);
      return { id, name, bytes: double.copy.length, digest: 'abc', bookmark: BOOKMARK.bookmark, at: AT };
    },
    listSnapshotsLocal: async () => [],
    openSnapshotLocal: async ({ snapshot, ...scope }) => {
      require(scope);
      return { format: 'ndjson', bookmark: null, body: bytesOf(openSnapshot(snapshot)) };
    },
    deleteSnapshotLocal: async ({ snapshot, ...scope }) => {
      require(scope);
      openSnapshot(snapshot);
      snapshots.delete(snapshot);
    },
    deleteScopeLocal: async (scope) => {
      require(scope);
      provisioned.delete(scope.scopeId);
    },
    migrationBookmarksLocal: async (scope) => {
      require(scope);
      return { items: [BOOKMARK], nextCursor: null, current: BOOKMARK, earliest: BOOKMARK };
    },
    rewindScopeLocal: async ({ bookmark, ...scope }) => {
      require(scope);
      if (bookmark !== undefined && bookmark !== BOOKMARK.bookmark)
        throw new PlatformError('not_found', 'There is no such bookmark.', { reason: 'unknown_bookmark' });
      return { ...BOOKMARK, undo: 'bm_2' };
    },
    listPlatformRequests: async (scope) => {
      require(scope);
      return { items: [], nextCursor: null };
    },
    listPlatformRequestHistory: async (scope) => {
      require(scope);
      return { items: [], nextCursor: null };
    },
    settlePlatformRequest: async (scope) => {
      require(scope);
      throw new PlatformError('not_found', 'There is no such request.');
    },
    connectorInvokeLocal: async (scope) => {
      require(scope);
      return { output: null, invocation: INVOCATION, version: null, replayed: false };
    },
    connectorGrantLocal: async ({ connection, permission, entity = null, ...scope }) => {
      require(scope);
      return { subject: `connection:${connection}`, permission, entity };
    },
    connectorAttachmentUploadLocal: async (scope) => {
      require(scope);
      throw noAttachments();
    },
    connectorAttachmentOpenLocal: async (scope) => {
      require(scope);
      throw noAttachments();
    },
  };

  const copyOf = ({ body, format, bookmark }: ScopeExport) =>
    new Response(body, {
      headers: {
        'content-type': EXPORT_MEDIA_TYPES[format],
        [EXPORT_FORMAT_HEADER]: format,
        ...(bookmark === null ? {} : { [EXPORT_BOOKMARK_HEADER]: bookmark }),
      },
    });

  const answer = async (request: Request): Promise<unknown> => {
    const url = new URL(request.url);
    const text = await request.text();
    const isJson = request.headers.get('content-type') === 'application/json';
    const body = isJson ? JSON.parse(text) : text || undefined;
    requests.push({ method: request.method, url: request.url, body });
    if (request.headers.get(PLATFORM_SECRET_HEADER) !== PLATFORM_SECRET)
      throw new PlatformError('forbidden', 'The platform secret is not the right one.');
    const query = Object.fromEntries(url.searchParams);
    const scope = { tenantId: query.tenantId, scopeId: query.scopeId } as ScopeRef;
    switch (`${request.method} ${url.pathname}`) {
      case 'POST /internal/provision':
        return { scopeId: body.scopeId, status: provision(body.scopeId), ownerSeat: 'pending' };
      case 'POST /internal/reconcile': {
        const { tenantId, scopeId, entitlements, platformRoles } = body;
        if (platformRoles) {
          await local.projectRolesLocal({ tenantId, scopeId }, platformRoles);
          return { scopeId, roles: Object.keys(platformRoles).sort() };
        }
        await local.projectEntitlementsLocal({ tenantId, scopeId }, entitlements);
        return { scopeId, entitlements: Object.keys(entitlements.items).sort() };
      }
      case 'POST /internal/delete-scope':
        await local.deleteScopeLocal(body);
        return { scopeId: body.scopeId };
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
      case 'GET /internal/tables':
        return { items: await local.introspectScopeTables(scope) };
      case 'GET /internal/tables/orders':
      case 'GET /internal/tables/customers': {
        const table = url.pathname.split('/').at(-1);
        const filters = JSON.parse(query.filters ?? '[]');
        return local.introspectScopeTable({ ...query, table, filters } as never);
      }
      case 'POST /internal/snapshot/delete':
        await local.deleteSnapshotLocal(body);
        return { snapshot: body.snapshot };
      case 'POST /internal/query':
        return local.introspectScopeQuery(body);
      case 'GET /internal/facets':
        return local.facetEventsLocal(query as never);
      case 'GET /internal/invocation':
        return local.invocationEventsLocal(query as never);
      case 'GET /internal/dead-letters':
        return local.deadLettersLocal(query as never);
      case 'POST /internal/owner-recovery':
        require(body);
        return { url: `${body.origin}/?invite=an-invite-secret`, expiresAt: AT };
      case 'POST /internal/owner-replacement':
        require(body);
        return { url: `${body.origin}/?invite=an-invite-secret`, expiresAt: AT, notice: 'mail' };
      case 'POST /internal/owner-recovery/end':
        require(body);
        return { ended: true };
      case 'POST /internal/session-secret/rotate':
        require(body);
        return { formerValidUntil: body.keepFormer === true ? AT : null };
      case 'POST /internal/dead-letters/retry':
        require(body);
        return { event: body.event, subscriber: body.subscriber };
      case 'POST /internal/shred-subject':
        require(body);
        return { subject: body.subject, keyDigest: null, shreddedAt: AT };
      case 'GET /internal/platform-requests':
        return local.listPlatformRequests(query as never);
      case 'GET /internal/bookmarks':
        return local.migrationBookmarksLocal(query as never);
      case 'POST /internal/rewind':
        return local.rewindScopeLocal(body);
      case 'POST /internal/snapshot':
        return local.snapshotScopeLocal(body);
      case 'POST /internal/restore':
        return local.restoreScopeLocal(query as never, bytesOf(text));
      case 'GET /internal/export':
        return copyOf(await local.exportScopeLocal(query as never));
      case 'GET /internal/cause':
        return local.eventCauseLocal(query as never);
      case 'GET /internal/effects':
        return local.eventEffectsLocal(query as never);
      case 'GET /internal/denials':
        return local.listDenialsLocal({ ...query, limit: Number(query.limit) } as never);
      case 'GET /internal/denials/summary':
        return local.summarizeDenialsLocal(query as never);
      case 'POST /internal/connector-grant':
        return local.connectorGrantLocal(body);
      case 'POST /internal/connector-invoke':
        return local.connectorInvokeLocal(body);
      case 'GET /internal/migrations':
        return { items: await local.appliedMigrationsLocal(scope) };
      default: {
        const snapshot = /^GET \/internal\/snapshots\/(\w+)$/.exec(`${request.method} ${url.pathname}`)?.[1];
        if (snapshot) return copyOf(await local.openSnapshotLocal({ ...scope, snapshot }));
        throw new PlatformError('not_found', 'There is no such route.');
      }
    }
  };

  const served = async (request: Request): Promise<Response> => {
    try {
      const answered = await answer(request);
      return answered instanceof Response ? answered : Response.json(answered);
    } catch (error) {
      if (error instanceof PlatformError) return problemDocument(error);
      throw error;
    }
  };

  const double: VerticalDouble = {
    bound: {
      platformSecret: PLATFORM_SECRET,
      fetch: async (request) => (double.fault ? double.fault(request) : served(request)),
    },
    served,
    local,
    requests,
    provisioned,
    entitled,
    roles,
    claimed: false,
    copy: 'a copy',
    exported: null,
    fault: null,
  };
  return double;
}
