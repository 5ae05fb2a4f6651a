/** The tables of connections. They are numbered by themselves, beside the directory's own. */
import type { Migration } from '@freehold/store';

const connectionsMigration: Migration = {
  version: 1,
  name: 'connections',
  sql: `
    CREATE TABLE connections (
      id TEXT PRIMARY KEY,
      tenant TEXT NOT NULL REFERENCES tenants (id),
      scope TEXT NOT NULL REFERENCES scopes (id),
      vertical TEXT NOT NULL,
      provider TEXT NOT NULL,
      account TEXT,
      account_name TEXT,
      -- What tells one connection of a provider from another: the account, or else the caller's name for it.
      account_key TEXT NOT NULL,
      subject_ref TEXT NOT NULL,
      created_by TEXT NOT NULL,
      scopes TEXT NOT NULL,
      state TEXT NOT NULL,
      reason TEXT,
      verified_at INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX connections_live ON connections (tenant, vertical, provider, account_key)
      WHERE state <> 'disconnected';
    CREATE INDEX connections_tenant ON connections (tenant);
    CREATE INDEX connections_scope ON connections (scope);

    CREATE TABLE connection_credentials (
      connection TEXT PRIMARY KEY REFERENCES connections (id),
      kind TEXT NOT NULL,
      sealed TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      refreshable INTEGER NOT NULL,
      expires_at INTEGER,
      loaded_at INTEGER NOT NULL,
      -- Grows with every credential, so that work on an earlier one is told from work on this one.
      generation INTEGER NOT NULL,
      refreshing_until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE connection_grants (
      id TEXT PRIMARY KEY,
      connection TEXT NOT NULL REFERENCES connections (id),
      scope TEXT NOT NULL REFERENCES scopes (id),
      permission TEXT NOT NULL,
      entity_type TEXT NOT NULL,
      entity_id TEXT NOT NULL,
      granted_by TEXT NOT NULL,
      granted_at INTEGER NOT NULL,
      UNIQUE (connection, scope, permission, entity_type, entity_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX connection_grants_connection ON connection_grants (connection);

    CREATE TABLE connection_activity (
      sequence INTEGER PRIMARY KEY AUTOINCREMENT,
      connection TEXT NOT NULL REFERENCES connections (id),
      at INTEGER NOT NULL,
      kind TEXT NOT NULL,
      reason TEXT,
      actor TEXT NOT NULL
    ) STRICT;
    CREATE INDEX connection_activity_connection ON connection_activity (connection);

    CREATE TABLE connect_rounds (
      id TEXT PRIMARY KEY,
      state_hash TEXT NOT NULL UNIQUE,
      tenant TEXT NOT NULL,
      scope TEXT NOT NULL,
      vertical TEXT NOT NULL,
      provider TEXT NOT NULL,
      created_by TEXT NOT NULL,
      subject_ref TEXT NOT NULL,
      return_url TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      ended_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX connect_rounds_expiry ON connect_rounds (expires_at);
  `,
};

/**
 * For the rows of a reaped scope, which a restore looks up, and for the foreign key of grants when a scope is deleted.
 */
const ofScopesMigration: Migration = {
  version: 2,
  name: 'grants and rounds by scope',
  sql: `
    CREATE INDEX connection_grants_scope ON connection_grants (scope);
    CREATE INDEX connect_rounds_scope ON connect_rounds (scope);
    CREATE INDEX connect_rounds_tenant ON connect_rounds (tenant);
  `,
};

export const connectionMigrations = {
  name: 'connections',
  migrations: [connectionsMigration, ofScopesMigration],
} as const;
