/** The tables of sessions: what ends those that are otherwise stateless, and which of them there are. */
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

/**
 * The list of sessions, and what an issuer said of its own: sessions of it that are over, and which of its logout
 * tokens were heard. `STRANGE_EVENTS_SQL` repeats the condition of the last index word for word, without which the
 * index would not be used.
 */
export const sessionListMigration: Migration = {
  version: 9,
  name: 'session list',
  sql: `CREATE TABLE sessions (
    sid TEXT PRIMARY KEY,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    idp_sid TEXT,
    client TEXT,
    started_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_by_person ON sessions (issuer, sub, scope_id);
  CREATE INDEX sessions_by_idp_sid ON sessions (issuer, idp_sid) WHERE idp_sid IS NOT NULL;
  CREATE INDEX sessions_by_expiry ON sessions (expires_at);
  CREATE INDEX session_floors_by_time ON session_floors (valid_after);
  CREATE TABLE ended_idp_sessions (
    issuer TEXT NOT NULL,
    idp_sid TEXT NOT NULL,
    sub TEXT NOT NULL,
    forget_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, idp_sid, sub)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ended_idp_sessions_by_end ON ended_idp_sessions (forget_at);
  CREATE TABLE logout_tokens (
    issuer TEXT NOT NULL,
    jti TEXT NOT NULL,
    forget_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, jti)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX logout_tokens_by_end ON logout_tokens (forget_at);
  CREATE INDEX identity_events_strange ON identity_events (scope_id, at)
    WHERE principal IS NULL AND type IN ('signed_in', 'session_ended', 'all_sessions_ended');`,
};
