/** Computes from the model what a scope's reads answer. Sealed values are compared as sealed, not byte by byte. */
import {
  cursorOf,
  decodeCursor,
  type EntityRef,
  encodeCursor,
  nameCursor,
  timeOfId,
  toTimestamp,
} from '@freehold/contracts';
import { SERVICES } from '../ledger/ledger.ts';
import { keysNeeded, ModelFailure } from './calls.ts';
import { grantsOf, permissionsOfRole, proofs, prove, rolesOf } from './permissions.ts';
import type { EventRow, ScopeState } from './state.ts';

export interface ReadWorld {
  readonly state: ScopeState;
  readonly nowMs: number;
  readonly keys: ReadonlyMap<string, 'key' | 'erased'>;
}

type Reads = Readonly<Record<string, (world: ReadWorld, input: never) => unknown>>;

/** The limit of events in the answer of a walk. */
const WALK_MAX = 500;

export const READS: Reads = {
  identify: ({ state }) => {
    const { tenantId, name } = requireScope(state);
    return { tenantId, name };
  },

  keyWork: ({ state }) => ({ tenantId: requireScope(state).tenantId, unbound: [], pool: null }),

  heldKeys: (_, { subject }: { subject: string }) => ({ subject, keyIds: [] }),

  pendingErasures: ({ state }) => {
    const { tenantId, mark } = requireScope(state);
    return { tenantId, mark };
  },

  history: (
    world,
    {
      entity,
      limit,
      cursor,
      sealed,
    }: { entity: EntityRef; limit: number; cursor?: string; sealed?: boolean },
  ) => {
    const after = cursor === undefined ? '' : decodeCursor(cursorOf('history', cursor));
    const rows = world.state.events
      .values()
      .filter((row) => row.entityType === entity.type && row.entityId === entity.id && row.id > after);
    return page(
      'history',
      rows,
      limit,
      ({ id }) => id,
      (shown) => records(world, shown, sealed),
    );
  },

  cause: (world, { event, sealed }: { event: string; sealed?: boolean }) => {
    const found: EventRow[] = [];
    let next = requireEvent(world, event) as EventRow | undefined;
    while (next && found.length < WALK_MAX) {
      found.push(next);
      next = next.cause === null ? undefined : world.state.events.get(next.cause);
    }
    return { items: records(world, found, sealed), truncated: next !== undefined };
  },

  effects: (world, { event, sealed }: { event: string; sealed?: boolean }) => {
    requireEvent(world, event);
    const byCause = Map.groupBy(world.state.events.values(), ({ cause }) => cause);
    const found = new Map<string, EventRow>();
    const frontier = [event];
    for (const at of frontier) {
      for (const row of byCause.get(at) ?? []) {
        if (found.size === WALK_MAX) break;
        found.set(row.id, row);
        frontier.push(row.id);
      }
    }
    const isCut = frontier.some((at) => (byCause.get(at) ?? []).some(({ id }) => !found.has(id)));
    const rows = [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return { items: records(world, rows, sealed), truncated: isCut };
  },

  invocation: (world, { invocation, sealed }: { invocation: string; sealed?: boolean }) => {
    const found = world.state.invocations.get(invocation);
    if (!found) throw new ModelFailure('not_found', 'unknown_invocation');
    const { startedAt, ...row } = found;
    const rows = world.state.events.values().filter((each) => each.invocation === invocation);
    return {
      invocation: { ...row, startedAt: toTimestamp(startedAt), durationMs: 0, outcome: 'done' },
      items: records(world, rows, sealed),
      truncated: false,
    };
  },

  facets: ({ state, nowMs }, { groupBy, type, since }: { groupBy: string; type?: string; since: string }) => {
    const sinceMs = Date.parse(since);
    const rows = state.events
      .values()
      .filter((row) => type === undefined || row.type === type)
      .filter(({ id, at }) => at >= sinceMs && at <= nowMs && timeOfId(id) <= nowMs + 3_600_000);
    const groups = [...Map.groupBy(rows, (row) => row[groupBy as 'type' | 'actor'])].map(([key, group]) => ({
      key,
      count: group.length,
      firstAt: toTimestamp(Math.min(...group.map(({ at }) => at))),
      lastAt: toTimestamp(Math.max(...group.map(({ at }) => at))),
    }));
    return {
      groupBy,
      since,
      until: toTimestamp(nowMs + 1),
      total: rows.length,
      buckets: groups.sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)),
      others: 0,
      truncated: false,
    };
  },

  deadLetters: (
    world,
    { subscriber, limit, cursor }: { subscriber?: string; limit: number; cursor?: string },
  ) => {
    const before = cursor === undefined ? '~' : decodeCursor(cursorOf('deadLetters', cursor));
    const rows = world.state.dead
      .values()
      .filter((row) => subscriber === undefined || row.subscriber === subscriber)
      .filter((row) => `${row.event} ${row.subscriber}` < before)
      .reverse();
    return page(
      'deadLetters',
      rows,
      limit,
      (row) => `${row.event} ${row.subscriber}`,
      (shown) =>
        shown.map((row) => ({
          event: records(world, [requireEvent(world, row.event)], true)[0],
          subscriber: row.subscriber,
          attempts: row.attempts,
          firstAttemptAt: toTimestamp(row.firstAt),
          lastAttemptAt: toTimestamp(row.lastAt),
          error: { code: row.code, detail: '*' },
        })),
    );
  },

  listDenials: (
    { state },
    {
      actor,
      permission,
      limit,
      cursor,
    }: { actor?: string; permission?: string; limit: number; cursor?: string },
  ) => {
    const before = cursor === undefined ? '~' : decodeCursor(cursorOf('listDenials', cursor));
    const rows = state.denials
      .values()
      .filter((row) => actor === undefined || row.actor === actor)
      .filter((row) => permission === undefined || row.permission === permission)
      .filter((row) => row.id < before)
      .reverse();
    return page(
      'listDenials',
      rows,
      limit,
      ({ id }) => id,
      (shown) =>
        shown.map(({ entityType, entityId, at, ...row }) => ({
          ...row,
          entity: entityType === null ? null : { type: entityType, id: entityId },
          at: toTimestamp(at),
        })),
    );
  },

  summarizeDenials: ({ state }, { groupBy }: { groupBy: 'actor' | 'operation' }) => {
    const rows = state.denials.values();
    const groups = [
      ...Map.groupBy(rows, (row) =>
        groupBy === 'actor' ? `${row.actor} ${row.permission}` : `${row.operation}`,
      ).values(),
    ].map((group) => ({ first: group[0], last: group.at(-1), count: group.length }));
    groups.sort((a, b) => b.count - a.count || ((a.last?.id ?? '') < (b.last?.id ?? '') ? 1 : -1));
    return {
      groupBy,
      total: rows.length,
      buckets: groups.map(({ first, last, count }) => ({
        ...(groupBy === 'actor'
          ? { actor: first?.actor, permission: first?.permission }
          : { operation: first?.operation ?? null }),
        count,
        lastAt: toTimestamp(last?.at ?? 0),
      })),
    };
  },

  assignments: ({ state }) => state.assignments.values().map(({ at, ...row }) => ({ ...row, atMs: at })),

  holdings: ({ state, nowMs }, { principal }: { principal: string }) => {
    const roles = rolesOf(state, principal);
    const service = /^service:(.+)$/.exec(principal)?.[1] ?? '';
    const wide = grantsOf(state, principal, nowMs).filter(({ entityType }) => entityType === '');
    const permissions = [
      ...roles.flatMap((role) => permissionsOfRole(state, role) ?? []),
      ...(SERVICES[service] ?? []),
      ...wide.map(({ permission }) => permission),
    ];
    return { roles, permissions: [...new Set(permissions)].sort() };
  },

  explain: (
    { state, nowMs },
    { principal, permission, entity }: { principal: string; permission: string; entity?: EntityRef },
  ) => proofs(state, { principal, permission, entity: entity ?? null, nowMs }),

  listPlatformRequests: (
    { state },
    { kind, limit, cursor }: { kind?: string; limit: number; cursor?: string },
  ) => {
    const after = cursor === undefined ? '' : decodeCursor(cursorOf('listPlatformRequests', cursor));
    const rows = state.requests
      .values()
      .filter(
        (row) => row.status === 'pending' && (kind === undefined || row.kind === kind) && row.id > after,
      );
    return page(
      'listPlatformRequests',
      rows,
      limit,
      ({ id }) => id,
      (shown) => shown.map(requestRecord),
    );
  },
};

/** Returns a request as the API shows it. */
export function requestRecord(row: ReturnType<ScopeState['requests']['values']>[number]) {
  return {
    ...row,
    payload: JSON.parse(row.payload),
    at: toTimestamp(row.at),
    settledAt: row.settledAt === null ? null : toTimestamp(row.settledAt),
    result: row.result === null ? null : JSON.parse(row.result),
  };
}

export function requireEvent({ state }: ReadWorld, id: string): EventRow {
  const row = state.events.get(id);
  if (!row) throw new ModelFailure('not_found');
  return row;
}

export function requireScope(state: ScopeState) {
  const found = state.scope.get('scope');
  if (!found) throw unknownScope();
  return found;
}

export function unknownScope(): ModelFailure {
  return new ModelFailure('not_found', 'unknown_scope');
}

/** Returns the proof of one permission. */
export function proofOf(
  { state, nowMs }: ReadWorld,
  question: { readonly principal: string; readonly permission: string; readonly entity?: EntityRef },
) {
  return prove(state, { ...question, entity: question.entity ?? null, nowMs });
}

function records({ state, keys }: ReadWorld, rows: readonly EventRow[], sealed = false): unknown[] {
  if (!sealed && rows.some(({ subject }) => subject !== null && !keys.has(subject))) throw keysNeeded();
  return rows.map((row) => {
    const { entityType, entityId, hops: _hops, proof: _proof, payload, at, ...rest } = row;
    return {
      ...rest,
      entity: { type: entityType, id: entityId },
      payload: payloadOf(row),
      at: toTimestamp(at),
    };
    function payloadOf({ id, subject }: EventRow): unknown {
      if (payload !== 'sealed') return JSON.parse(payload ?? 'null');
      if (sealed) return { $sealed: '*' };
      if (keys.get(subject as string) === 'erased') return { $shredded: { at: '*' } };
      return JSON.parse(state.clear.get(`event/${id}`) ?? 'null');
    }
  });
}

function page<T>(
  list: string,
  rows: readonly T[],
  limit: number,
  key: (row: T) => string,
  items: (shown: readonly T[]) => unknown[],
) {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: items(shown),
    nextCursor: rows.length > limit && last !== undefined ? nameCursor(list, encodeCursor(key(last))) : null,
  };
}

/** Replaces the parts that no model can foresee: sealed text, and the words of a failure. */
export function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (key === '$sealed' || key === 'detail') return [key, '*'];
      if (key === '$shredded') return [key, { at: '*' }];
      return [key, comparable(member)];
    }),
  );
}
