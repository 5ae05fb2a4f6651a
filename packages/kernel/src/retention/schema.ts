/** The tables of housekeeping: how far it has come, what is no longer there, and which bytes are being removed. */
import type { Migration } from '@freehold/store';

export const retentionMigration: Migration = {
  version: 12,
  name: 'housekeeping, and what it removed',
  sql: `
-- A round that goes over several transactions is between two of them when began_at is set.
CREATE TABLE _spine_housekeeping (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  next_at INTEGER NOT NULL, began_at INTEGER, step INTEGER NOT NULL, after TEXT NOT NULL, last_at INTEGER
) STRICT;
-- From before this moment, rows may be missing. Nothing is here as long as nothing was removed.
CREATE TABLE _spine_pruned (log TEXT PRIMARY KEY, before INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE _spine_leaving_blobs (digest TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_attachments_removed ON _spine_attachments (removed_at) WHERE removed_at IS NOT NULL;
`,
};
