/** The tables that end sessions which are otherwise stateless. */
import type { Migration } from '@freehold/store';

export const sessionsMigration: Migration = {
  version: 6,
  name: 'sessions',
  sql: `CREATE TABLE ended_sessions (
    sid TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ended_sessions_by_expiry ON ended_sessions (expires_at);
  CREATE TABLE session_floors (
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    valid_after INTEGER NOT NULL,
    PRIMARY KEY (issuer, sub)
  ) STRICT, WITHOUT ROWID;`,
};
