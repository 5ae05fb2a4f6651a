/** The tables of deliveries: what waits for its subscribers, what gave up, and when schedules run next. */
import type { Migration } from '@freehold/store';

export const deliveriesMigration: Migration = {
  version: 5,
  name: 'deliveries, dead letters, schedules',
  sql: `
-- The key is the order of delivery: for one subscriber and type, by event.
CREATE TABLE _spine_deliveries (
  subscriber TEXT NOT NULL, type TEXT NOT NULL, event TEXT NOT NULL,
  attempts INTEGER NOT NULL, claim INTEGER NOT NULL, next_at INTEGER NOT NULL, first_at INTEGER, last_at INTEGER,
  PRIMARY KEY (subscriber, type, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE _spine_dead_letters (
  event TEXT NOT NULL, subscriber TEXT NOT NULL, type TEXT NOT NULL,
  attempts INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  error_code TEXT NOT NULL, error_detail TEXT NOT NULL,
  PRIMARY KEY (event, subscriber)
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_dead_letters_subscriber ON _spine_dead_letters (subscriber, event);

CREATE TABLE _spine_schedules (
  key TEXT PRIMARY KEY, pattern TEXT NOT NULL, next_at INTEGER NOT NULL,
  last_at INTEGER, last_outcome TEXT
) STRICT, WITHOUT ROWID;
`,
};
