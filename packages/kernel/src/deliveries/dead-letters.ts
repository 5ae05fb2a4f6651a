/** Dead letters: listed, and put back in line. */
import {
  cutPage,
  type DeadLetter,
  decodeCursor,
  type EventRecord,
  type Page,
  PlatformError,
  toTimestamp,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { EventStore } from '../events/store.ts';
import type { Lanes } from '../vertical/listeners.ts';
import type { DeadLetterRow, makeDeliveryStore } from './store.ts';

export interface DeadLetterParts {
  readonly unit: UnitContext;
  readonly lanes: Lanes;
  readonly store: ReturnType<typeof makeDeliveryStore>;
  readonly events: EventStore;
}

export function makeDeadLetters({ unit, lanes, store, events }: DeadLetterParts) {
  const recordOf = (row: DeadLetterRow): DeadLetter => ({
    // An event stays for as long as its dead letter.
    event: events.record(row.event, true) as EventRecord,
    subscriber: row.subscriber,
    attempts: row.attempts,
    firstAttemptAt: toTimestamp(row.firstAtMs),
    lastAttemptAt: toTimestamp(row.lastAtMs),
    error: { code: row.code, detail: row.detail },
  });

  return {
    /** Returns dead letters, newest event first. */
    list: (query: {
      readonly subscriber?: string | undefined;
      readonly limit: number;
      readonly cursor?: string | undefined;
    }): Page<DeadLetter> => {
      const before = query.cursor === undefined ? undefined : keyOf(decodeCursor(query.cursor));
      const rows = store.deadLetters(query.subscriber, before, query.limit + 1);
      return cutPage(rows, query.limit, ({ event, subscriber }) => `${event} ${subscriber}`, recordOf);
    },

    /**
     * Puts one back in line.
     * @throws PlatformError `not_found`, reason `unknown_dead_letter`; `conflict`, reason `unknown_subscriber`, when its
     * subscriber is no longer declared: it would never be delivered.
     */
    retry: ({ event, subscriber }: { readonly event: string; readonly subscriber: string }): null => {
      const row = store.deadLetter(event, subscriber);
      if (!row)
        throw new PlatformError('not_found', 'There is no such dead letter.', {
          reason: 'unknown_dead_letter',
        });
      if (!lanes.find(subscriber, row.type))
        throw new PlatformError('conflict', 'No subscriber of this name is declared any more.', {
          reason: 'unknown_subscriber',
        });
      store.revive(row, unit.now());
      return null;
    },
  };
}

function keyOf(cursor: string): readonly [string, string] {
  const [event = '', subscriber = ''] = cursor.split(' ');
  return [event, subscriber];
}
