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

/**
 * Finds the refusals of the last hour without passing over everything else that happened. `RECENT_REFUSALS_SQL`
 * repeats the condition word for word, without which the index would not be used.
 */
export const refusalsMigration: Migration = {
  version: 7,
  name: 'refusals',
  sql: `CREATE INDEX identity_events_refused ON identity_events (scope_id, at)
    WHERE type IN ('claim_refused', 'invite_refused');`,
};
