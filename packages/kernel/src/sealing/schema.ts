/** What sealing adds to the spine: the events of a person, which keys a person has here, and who was erased. */
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

/**
 * Which key of the pool was used for whom: unbound until the vault was told. The vault refuses a key that is used for a
 * second person. Unbound ones stand apart, in a table that stays small: a create writes one page for them, and what is
 * unbound is found without an index. `scope_id` says whose keys these are, which a copy in another scope needs to know.
 */
export const subjectKeysMigration: Migration = {
  version: 13,
  name: 'keys of persons who were made here',
  sql: `
CREATE TABLE _spine_subject_keys (
  subject TEXT NOT NULL, key_id TEXT NOT NULL, PRIMARY KEY (subject, key_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE _spine_unbound_keys (
  subject TEXT NOT NULL, key_id TEXT NOT NULL, PRIMARY KEY (subject, key_id)
) STRICT, WITHOUT ROWID;
ALTER TABLE _spine_scope ADD COLUMN scope_id TEXT;
`,
};
