/** Reads of the event log: the history of a record, the walks along causes and effects, one invocation. */
import {
  cutPage,
  decodeCursor,
  type EntityRef,
  type EventRecord,
  firstIdAt,
  ID_PREFIXES,
  type InvocationEvents,
  PlatformError,
  toTimestamp,
} from '@freehold/contracts';
import type { EventWalkResult, Withheld } from '../contract/scope-methods.ts';
import { storedProgram } from '../lib/programs.ts';
import type { Pruned, PrunedPage } from '../lib/pruned.ts';
import type { MayRead } from './readers.ts';
import type { EventRow, EventStore } from './store.ts';

/** The greatest number of events in one walk. */
export const WALK_MAX = 500;

/** The way in which events are read. */
export interface Reading {
  readonly mayRead: MayRead;
  /** Whether payloads about persons stay closed. */
  readonly sealed: boolean;
}

export function makeEventLog(store: EventStore, pruned: Pruned) {
  /** Whether events of such an id, or its effects, may have been removed. */
  const isPruned = (prefix: string, id: string): boolean => {
    const beforeMs = pruned.beforeMs('history');
    return beforeMs !== null && id < firstIdAt(prefix, beforeMs);
  };
  const unknown = (prefix: string, id: string, words: string, reason?: string): PlatformError => {
    if (isPruned(prefix, id))
      return new PlatformError('not_found', 'Events of that time are not kept here any more.', {
        reason: 'history_pruned',
      });
    return new PlatformError('not_found', words, reason === undefined ? {} : { reason });
  };

  /** @throws PlatformError `not_found`; reason `history_pruned` for an event that may have been removed. */
  const require = (id: string): EventRow => {
    const row = store.one(id);
    if (!row) throw unknown(ID_PREFIXES.event, id, 'There is no such event in this scope.');
    return row;
  };

  /** Leaves out what the reader may not read, before any payload is opened. */
  const shown = (
    rows: readonly EventRow[],
    { mayRead, sealed }: Reading,
  ): { items: EventRecord[] } & Withheld => {
    const readable = rows.filter((row) => mayRead({ type: row.entityType, id: row.entityId }));
    const items = store.recordsOf(readable, sealed);
    return readable.length === rows.length ? { items } : { items, withheld: true };
  };

  return {
    history: ({
      entity,
      limit,
      cursor,
      ...reading
    }: Reading & {
      entity: EntityRef;
      limit: number;
      cursor?: string | undefined;
    }): PrunedPage<EventRecord> & Withheld => {
      // Every event of the page is of this one entity.
      if (!reading.mayRead(entity))
        return { items: [], nextCursor: null, withheld: true, ...pruned.said('history') };
      const after = cursor === undefined ? '' : decodeCursor(cursor);
      const rows = store.ofEntity(entity, after, limit + 1);
      const page = cutPage(
        rows,
        limit,
        (row) => row.id,
        (row) => row,
      );
      return { ...page, items: store.recordsOf(page.items, reading.sealed), ...pruned.said('history') };
    },

    /** Walks backwards from an event. Ends at a cycle, which only a damaged log has, and at a removed cause. */
    cause: (event: string, reading: Reading): EventWalkResult => {
      const seen = new Map<string, EventRow>();
      let next: EventRow | undefined = require(event);
      let isMissing = false;
      while (next && !seen.has(next.id) && seen.size < WALK_MAX) {
        seen.set(next.id, next);
        const { cause }: EventRow = next;
        next = cause === null ? undefined : store.one(cause);
        isMissing = cause !== null && next === undefined;
      }
      const truncated = isMissing || (next !== undefined && !seen.has(next.id));
      return { ...shown([...seen.values()], reading), truncated };
    },

    /** Walks forwards, breadth first, without the event itself. */
    effects: (event: string, reading: Reading): EventWalkResult => {
      require(event);
      const seen = new Map<string, EventRow>();
      const frontier = [event];
      // An effect has a greater id than its cause: only effects of the oldest event can be missing.
      const isMissing = isPruned(ID_PREFIXES.event, event);
      let isFull = false;
      for (let at = 0; at < frontier.length && !isFull; at++) {
        for (const row of store.effectsOf(frontier[at] as string, WALK_MAX + 1)) {
          if (row.id === event || seen.has(row.id)) continue;
          if (seen.size === WALK_MAX) {
            isFull = true;
            break;
          }
          seen.set(row.id, row);
          frontier.push(row.id);
        }
      }
      const rows = [...seen.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      return { ...shown(rows, reading), truncated: isFull || isMissing };
    },

    /** @throws PlatformError `not_found`, reason `unknown_invocation` or `history_pruned`. */
    invocation: (id: string, reading: Reading): InvocationEvents & Withheld => {
      const found = store.invocation(id);
      const prefix = ID_PREFIXES.invocation;
      if (!found)
        throw unknown(prefix, id, 'There is no such invocation in this scope.', 'unknown_invocation');
      const { startedAtMs, program, ...invocation } = found;
      const rows = store.ofInvocation(id, WALK_MAX + 1);
      return {
        invocation: { ...invocation, ...storedProgram(program), startedAt: toTimestamp(startedAtMs) },
        ...shown(rows.slice(0, WALK_MAX), reading),
        truncated: rows.length > WALK_MAX || isPruned(prefix, id),
      };
    },
  };
}
