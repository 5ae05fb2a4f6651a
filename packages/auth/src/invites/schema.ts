/** The table of member invites. */
import type { Migration } from '@freehold/store';

export const invitesMigration: Migration = {
  version: 4,
  name: 'invites',
  sql: `CREATE TABLE invites (
    principal TEXT PRIMARY KEY,
    scope_id TEXT NOT NULL,
    role TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    email TEXT,
    email_match TEXT NOT NULL CHECK (email_match IN ('verified', 'label')),
    name TEXT,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    accepted_at INTEGER,
    accepted_by TEXT REFERENCES people (id),
    revoked_at INTEGER,
    CHECK (accepted_at IS NULL OR revoked_at IS NULL)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX invites_by_scope ON invites (scope_id, principal);`,
};
