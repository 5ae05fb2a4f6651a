/**
 * Counts of the event log: narrowed, grouped, and bounded, so that no query reads all of a long log (spec 4.3.3). The
 * answer says when it does not cover the whole span.
 */
import {
  type EventFacets,
  FACET_BUCKETS_MAX,
  type FacetsQuery,
  firstIdAt,
  ID_PREFIXES,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';
import type { Pruned } from '../lib/pruned.ts';

/** The number of events that one answer covers. */
export const FACET_EVENTS_MAX = 100_000;

const DAY_MS = 86_400_000;
const SPAN_DEFAULT_MS = 30 * DAY_MS;
/** The greatest lead of an id over its event's time: a long invocation, a clock that stepped back. */
const ID_MARGIN_MS = DAY_MS / 24;

const KEYS = {
  type: 'type',
  entityType: 'entity_type',
  actor: 'actor',
  operation: 'operation',
  day: `strftime('%Y-%m-%d', at / 1000, 'unixepoch')`,
} as const satisfies Record<FacetsQuery['groupBy'], string>;

const FILTERS = { entityType: 'entity_type', actor: 'actor', operation: 'operation' } as const;

const READ = 'SELECT type, entity_type, actor, operation, at FROM _spine_events';

/** The newest events of a span of ids: of all types along the primary key, of one type along its index. */
export const FACET_SQL = {
  newest: `${READ} WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ?`,
  newestOfType: `${READ} WHERE type = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?`,
} as const;

interface Bucket {
  readonly key: string;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** Builds the scope's `facets`. `since` defaults to 30 days before `until`, which defaults to now. */
export function makeFacets(db: SqlDatabase, pruned: Pruned) {
  return (query: Omit<FacetsQuery, 'tenantId' | 'scopeId'>, nowMs: number): EventFacets => {
    const { groupBy, type } = query;
    const untilMs = query.until === undefined ? nowMs + 1 : Date.parse(query.until);
    const sinceMs = query.since === undefined ? untilMs - SPAN_DEFAULT_MS : Date.parse(query.since);

    const span = [
      firstIdAt(ID_PREFIXES.event, sinceMs),
      firstIdAt(ID_PREFIXES.event, untilMs + ID_MARGIN_MS),
      FACET_EVENTS_MAX,
    ];
    const [inner, innerParams]: [string, SqlValue[]] =
      type === undefined ? [FACET_SQL.newest, span] : [FACET_SQL.newestOfType, [type, ...span]];
    const filters = Object.entries(FILTERS).flatMap(([name, column]) => {
      const value = query[name as keyof typeof FILTERS];
      return value === undefined ? [] : [{ sql: ` AND ${column} = ?`, value }];
    });
    const rows = db.all<Bucket>(
      `SELECT ${KEYS[groupBy]} AS key, count(*) AS count, min(at) AS firstAtMs, max(at) AS lastAtMs
       FROM (${inner}) WHERE at >= ? AND at < ?${filters.map(({ sql }) => sql).join('')}
       GROUP BY 1 ORDER BY 2 DESC, 1`,
      ...innerParams,
      sinceMs,
      untilMs,
      ...filters.map(({ value }) => value),
    );
    const prunedMs = pruned.beforeMs('history');
    const looked = db.get<{ n: number }>(`SELECT count(*) AS n FROM (${inner})`, ...innerParams);
    const shown = rows.slice(0, FACET_BUCKETS_MAX);
    const total = sum(rows);
    return {
      groupBy,
      since: toTimestamp(sinceMs),
      until: toTimestamp(untilMs),
      total,
      buckets: shown.map(({ key, count, firstAtMs, lastAtMs }) => ({
        key,
        count,
        firstAt: toTimestamp(firstAtMs),
        lastAt: toTimestamp(lastAtMs),
      })),
      others: total - sum(shown),
      truncated: (looked?.n ?? 0) === FACET_EVENTS_MAX || (prunedMs !== null && sinceMs < prunedMs),
    };
  };
}

function sum(buckets: readonly Bucket[]): number {
  return buckets.reduce((total, { count }) => total + count, 0);
}
