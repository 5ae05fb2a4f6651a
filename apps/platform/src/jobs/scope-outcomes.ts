/**
 * What schedules and deliveries came to: read from the scopes in which something was done, a while after it. A scope keeps
 * the last run of each schedule, and every delivery that it has given up; here is only how far that was read.
 */
import type { OpsFailureInput, SweepUnit } from '@freehold/directory';
import type { ScopeStub } from '@freehold/kernel';

/** A scope in which there was work. */
export interface WorkedScope {
  readonly vertical: string;
  readonly scope: string;
}

export interface ScopeOutcomes {
  /** Something was done in a scope. Costs next to nothing. */
  touch(worked: WorkedScope): void;
  /** Reads what was done since, scope by scope, and forgets who was touched. */
  read(signal: AbortSignal): AsyncGenerator<ScopeOutcome, void, undefined>;
}

/** A run of a schedule, or a delivery that was given up. */
export type ScopeOutcome = { readonly run: SweepUnit } | { readonly failure: OpsFailureInput };

export interface ScopeOutcomesOptions {
  /** The part of a scope that is read. */
  readonly scope: (worked: WorkedScope) => Pick<ScopeStub, 'identify' | 'table'> | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A scope that cannot be read costs the others nothing. */
  readonly onError: (error: unknown, worked: WorkedScope) => void;
}

/** How far a scope was read: the latest time, and what of that very time was seen. */
interface Place {
  readonly atMs: number;
  readonly seen: ReadonlySet<string>;
}

/** Rows read at a time, and pages of one scope: one that gives up everything does not hold the others up. */
const PAGE = 200;
const PAGES_MAX = 5;

export function makeScopeOutcomes({ scope, now, onError }: ScopeOutcomesOptions): ScopeOutcomes {
  const touched = new Map<string, WorkedScope>();
  const places = new Map<string, Place>();
  /** What was done before this process began is not looked for. */
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
      const came =
        outcome === 'done'
          ? { outcome: 'ran' as const, reason: null }
          : { outcome: 'failed' as const, reason: String(outcome) };
      yield { run: { kind: 'schedule', unit: String(key), ...about, ...came } };
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

/** The rows of a table whose last time is not before a moment, as objects. */
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
