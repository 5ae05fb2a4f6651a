/** The table of attachments. A removed one is remembered for as long as a rewind could bring it back. */
import type { Migration } from '@freehold/store';

export const attachmentsMigration: Migration = {
  version: 9,
  name: 'attachments',
  sql: `
CREATE TABLE _spine_attachments (
  id TEXT PRIMARY KEY, entity_type TEXT NOT NULL, entity_id TEXT NOT NULL, digest TEXT NOT NULL, bytes INTEGER NOT NULL,
  media_type TEXT NOT NULL, filename TEXT NOT NULL, added_by TEXT NOT NULL, at INTEGER NOT NULL, removed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_attachments_entity ON _spine_attachments (entity_type, entity_id, id) WHERE removed_at IS NULL;
CREATE INDEX _spine_attachments_digest ON _spine_attachments (digest, removed_at);
`,
};
