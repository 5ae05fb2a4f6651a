/** What the event log needs beyond its first shape. */
import type { Migration } from '@freehold/store';

export const eventsByTypeMigration: Migration = {
  version: 4,
  name: 'events by type',
  sql: 'CREATE INDEX _spine_events_type ON _spine_events (type, id);',
};
