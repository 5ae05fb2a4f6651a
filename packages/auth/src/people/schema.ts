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

/** Who has left: what they did stays in logs that name their principal, and somebody has to say who that was. */
export const formerMembersMigration: Migration = {
  version: 13,
  name: 'former members',
  sql: `CREATE TABLE former_members (
    scope_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    person_id TEXT NOT NULL REFERENCES people (id),
    until INTEGER NOT NULL,
    PRIMARY KEY (scope_id, principal)
  ) STRICT, WITHOUT ROWID;
  INSERT OR IGNORE INTO former_members (scope_id, principal, person_id, until)
    SELECT e.scope_id, e.principal, p.id, e.at FROM identity_events e
    JOIN people p ON p.issuer = e.issuer AND p.sub = e.sub
    WHERE e.type = 'member_removed' AND e.scope_id IS NOT NULL AND e.principal IS NOT NULL;`,
};
