/** What sealing adds to the spine: finding a person's events, and remembering who was erased. */
import type { Migration } from '@freehold/store';

export const sealingMigration: Migration = {
  version: 8,
  name: 'events of a subject, and who was erased',
  sql: `
CREATE INDEX _spine_events_subject ON _spine_events (subject, id) WHERE subject IS NOT NULL;
ALTER TABLE _spine_idempotency ADD COLUMN subjects TEXT;
CREATE TABLE _spine_shredded (
  subject TEXT PRIMARY KEY, key_digest TEXT, shredded_at TEXT NOT NULL, at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
};
