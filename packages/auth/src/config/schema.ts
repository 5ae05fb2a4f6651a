/** The tables of delivered settings and of the tenant's own secrets. */
import type { Migration } from '@freehold/store';

export const configMigration: Migration = {
  version: 5,
  name: 'config',
  sql: `CREATE TABLE config (
    scope_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (scope_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE config_versions (
    scope_id TEXT PRIMARY KEY,
    version TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`,
};

/** Session secrets that no longer sign, and until when they still verify. */
export const formerSecretsMigration: Migration = {
  version: 10,
  name: 'former secrets',
  sql: `CREATE TABLE former_session_secrets (
    id INTEGER PRIMARY KEY,
    value TEXT NOT NULL UNIQUE,
    replaced_at INTEGER NOT NULL,
    valid_until INTEGER NOT NULL
  ) STRICT;`,
};
