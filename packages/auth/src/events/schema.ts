/** The table of identity events: who did what to whom, and when. Append-only. */
import type { Migration } from '@freehold/store';

export const eventsMigration: Migration = {
  version: 1,
  name: 'events',
  sql: `CREATE TABLE identity_events (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    scope_id TEXT,
    issuer TEXT,
    sub TEXT,
    principal TEXT,
    actor TEXT,
    detail TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX identity_events_by_scope ON identity_events (scope_id, id);`,
};
