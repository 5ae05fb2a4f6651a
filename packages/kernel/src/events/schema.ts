/** What the event log needs beyond its first shape. */
import type { Migration } from '@freehold/store';

export const eventsByTypeMigration: Migration = {
  version: 4,
  name: 'events by type',
  sql: 'CREATE INDEX _spine_events_type ON _spine_events (type, id);',
};

/** How many deliveries lie between an event and the one that began it: what bounds a chain (`deliveries/lanes.ts`). */
export const eventHopsMigration: Migration = {
  version: 11,
  name: 'how long the chain is that set an event off',
  sql: 'ALTER TABLE _spine_events ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;',
};
