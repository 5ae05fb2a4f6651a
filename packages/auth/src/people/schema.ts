/** The tables of people and of who they are in which scope. */
import type { Migration } from '@freehold/store';

export const peopleMigration: Migration = {
  version: 2,
  name: 'people',
  sql: `CREATE TABLE people (
    id TEXT PRIMARY KEY,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    email TEXT,
    name TEXT,
    email_verified INTEGER CHECK (email_verified IN (0, 1)),
    claims_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (issuer, sub)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE bindings (
    scope_id TEXT NOT NULL,
    person_id TEXT NOT NULL REFERENCES people (id),
    principal TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (scope_id, person_id),
    UNIQUE (scope_id, principal)
  ) STRICT, WITHOUT ROWID;`,
};
