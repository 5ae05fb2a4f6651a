/**
 * The outcomes of schedules and deliveries, read from active scopes a while later. A scope stores the last run of each
 * schedule and every delivery that it has given up; this stores how far they were read.
 */
import type { OpsFailureInput, SweepUnit } from '@freehold/directory';
import type { ScopeStub } from '@freehold/kernel';

export interface WorkedScope {
  readonly vertical: string;
  readonly scope: string;
}

export interface ScopeOutcomes {
  /** Work was done in a scope. Cheap. */
  touch(worked: WorkedScope): void;
  /** Reads the outcomes since the last time, scope by scope. */
  read(signal: AbortSignal): AsyncGenerator<ScopeOutcome, void, undefined>;
}

/** A run of a schedule, or a delivery that was given up. */
export type ScopeOutcome = { readonly run: SweepUnit } | { readonly failure: OpsFailureInput };

export interface ScopeOutcomesOptions {
  readonly scope: (worked: WorkedScope) => Pick<ScopeStub, 'identify' | 'table'> | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Receives the error of a scope that cannot be read; the others are read. */
  readonly onError: (error: unknown, worked: WorkedScope) => void;
}

/** The position in a scope: the latest time, and the rows of that time that were read. */
interface Place {
  readonly atMs: number;
  readonly seen: ReadonlySet<string>;
}

/** Rows per page, and pages per scope and read: one scope with many rows does not delay the others. */
const PAGE = 200;
const PAGES_MAX = 5;

export function makeScopeOutcomes({ scope, now, onError }: ScopeOutcomesOptions): ScopeOutcomes {
  const touched = new Map<string, WorkedScope>();
  const places = new Map<string, Place>();
  /** Outcomes from before this process began are not read. */
  const begin: Place = { atMs: now(), seen: new Set() };

  async function* readScope(worked: WorkedScope): AsyncGenerator<ScopeOutcome, void, undefined> {
    const stub = scope(worked);
    if (!stub) return;
    const { tenantId: tenant } = await stub.identify({});
    const place = places.get(worked.scope) ?? begin;
    let next = place;
    const about = { tenant, scope: worked.scope, vertical: worked.vertical };
    const isNew = (key: string, atMs: number): boolean => {
      if (atMs < place.atMs || place.seen.has(key)) return false;
      if (atMs > next.atMs) next = { atMs, seen: new Set([key]) };
      else if (atMs === next.atMs) next = { atMs, seen: new Set([...next.seen, key]) };
      return true;
    };
    for await (const row of rowsSince(stub, '_spine_schedules', place.atMs)) {
      const { key, last_at: atMs, last_outcome: outcome } = row;
      if (!isNew(`schedule ${key} ${atMs}`, Number(atMs))) continue;
      const result =
        outcome === 'done'
          ? { outcome: 'ran' as const, reason: null }
          : { outcome: 'failed' as const, reason: String(outcome) };
      yield { run: { kind: 'schedule', unit: String(key), ...about, ...result } };
    }
    for await (const row of rowsSince(stub, '_spine_dead_letters', place.atMs)) {
      const { event, subscriber, attempts, last_at: atMs, error_code: code } = row;
      if (!isNew(`dead-letter ${event} ${subscriber} ${atMs}`, Number(atMs))) continue;
      const detail = `The subscriber ${subscriber} gave an event up. Attempts: ${attempts}.`;
      yield {
        failure: {
          ...about,
          operation: 'deliveries.deliver',
          subject: String(event),
          reason: String(code),
          detail,
        },
      };
    }
    places.set(worked.scope, next);
  }

  return {
    touch: (worked) => void touched.set(worked.scope, worked),
    read: async function* read(signal) {
      for (const worked of [...touched.values()]) {
        if (signal.aborted) return;
        touched.delete(worked.scope);
        try {
          yield* readScope(worked);
        } catch (error) {
          onError(error, worked);
        }
      }
    },
  };
}

/** The rows of a table since a time, as objects. */
async function* rowsSince(
  stub: Pick<ScopeStub, 'table'>,
  table: string,
  sinceMs: number,
): AsyncGenerator<Readonly<Record<string, unknown>>, void, undefined> {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { columns, rows, nextCursor } = await stub.table({
      table,
      filters: [{ column: 'last_at', op: '>=', value: sinceMs }],
      order: 'desc',
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const cells of rows) yield Object.fromEntries(columns.map(({ name }, at) => [name, cells[at]]));
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
}
