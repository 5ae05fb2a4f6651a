/**
 * The steps of housekeeping, log by log, a bounded number of rows at a time. An id is made after its event began: a row
 * with an old id is at least as old as that.
 */
import { firstIdAt, ID_PREFIXES } from '@freehold/contracts';
import type { Pruned } from '../lib/pruned.ts';
import type { Lanes } from '../vertical/listeners.ts';
import type { makeRetentionStore, OldEvent } from './store.ts';

const PLATFORM_REQUEST = 'prq';

/** Older rows are removed; null: none are. Milliseconds since the epoch. */
export interface Cutoffs {
  readonly historyMs: number | null;
  readonly denialsMs: number | null;
  readonly nowMs: number;
}

export interface StepDone {
  /** The number of rows that it looked at: fewer than the limit when there are no more. */
  readonly looked: number;
  /** The last id that it looked at. */
  readonly after: string;
}

/** Looks at no more than `limit` rows after an id, and removes those that need not be kept. */
export type Step = (after: string, limit: number, cutoffs: Cutoffs) => StepDone;

const NOTHING: StepDone = { looked: 0, after: '' };

export interface StepParts {
  readonly store: ReturnType<typeof makeRetentionStore>;
  readonly pruned: Pruned;
  readonly lanes: Lanes;
  readonly removeDelivery: (key: {
    readonly subscriber: string;
    readonly type: string;
    readonly event: string;
  }) => void;
  /** Clears so many stored answers that have expired; returns their number. */
  readonly clearAnswers: (nowMs: number, limit: number) => number;
}

/** Returns the steps of a round in their order: events go before their invocations. */
export function makeSteps(parts: StepParts): readonly Step[] {
  const { store, pruned } = parts;

  /** Goes through one log by its ids. `begin` returns the removal of one row, which returns whether it went. */
  const through =
    <Row extends { readonly id: string }>(
      log: 'history' | 'denials',
      prefix: string,
      read: (after: string, before: string, limit: number) => readonly Row[],
      begin: (cutoffMs: number) => (row: Row) => boolean,
    ): Step =>
    (after, limit, { historyMs, denialsMs }) => {
      const cutoffMs = log === 'history' ? historyMs : denialsMs;
      if (cutoffMs === null) return NOTHING;
      const rows = read(after, firstIdAt(prefix, cutoffMs), limit);
      const remove = begin(cutoffMs);
      // In the same transaction: no reader may take the remaining rows for all.
      if (rows.filter(remove).length > 0) pruned.mark(log, cutoffMs);
      return { looked: rows.length, after: rows.at(-1)?.id ?? after };
    };

  return [
    through('history', ID_PREFIXES.event, store.events, (cutoffMs) => {
      const lanes = Map.groupBy(store.waitingLanes(), ({ type }) => type);
      return (event) => removeEvent(parts, event, lanes.get(event.type) ?? [], cutoffMs);
    }),
    through('history', ID_PREFIXES.invocation, store.invocations, () => {
      const newest = store.newest('newestInvocation');
      return ({ id }) => {
        if (id === newest || store.hasEvent(id)) return false;
        store.deleteInvocation(id);
        return true;
      };
    }),
    through('history', PLATFORM_REQUEST, store.requests, (cutoffMs) => {
      const newest = store.newest('newestRequest');
      return ({ id, settledAtMs }) => {
        if (id === newest || settledAtMs === null || settledAtMs >= cutoffMs) return false;
        store.deleteRequest(id);
        return true;
      };
    }),
    through('denials', ID_PREFIXES.denial, store.denials, () => {
      const newest = store.newest('newestDenial');
      return ({ id }) => {
        if (id === newest) return false;
        store.deleteDenial(id);
        return true;
      };
    }),
    (_after, limit, { nowMs }) => ({ looked: parts.clearAnswers(nowMs, limit), after: '' }),
  ];
}

/** Removes an event unless it is still needed. Returns whether it went. */
function removeEvent(
  { store, lanes, removeDelivery }: StepParts,
  event: OldEvent,
  waitingLanes: readonly { readonly subscriber: string; readonly type: string }[],
  cutoffMs: number,
): boolean {
  let isNeeded = !store.hasLaterEvent(event);
  for (const { subscriber, type } of waitingLanes) {
    if (!store.waits(subscriber, type, event.id)) continue;
    // A subscriber that is no longer declared never takes its deliveries.
    if (lanes.find(subscriber, type)) isNeeded = true;
    else removeDelivery({ subscriber, type, event: event.id });
  }
  for (const { subscriber, lastAtMs } of store.deadLetters(event.id)) {
    if (lastAtMs >= cutoffMs) isNeeded = true;
    else store.deleteDeadLetter(event.id, subscriber);
  }
  if (!isNeeded) store.deleteEvent(event.id);
  return !isNeeded;
}
