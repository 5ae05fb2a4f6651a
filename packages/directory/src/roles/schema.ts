/** The outbox of the platform's roles, numbered apart from the directory's own. */
import type { Migration } from '@freehold/store';

const projectionMigration: Migration = {
  version: 1,
  name: 'role projection',
  sql: `
    -- One row, from the first role on: the newest change of any of them.
    CREATE TABLE role_set (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      revision INTEGER NOT NULL
    ) STRICT;
    INSERT INTO role_set (id, revision) SELECT 1, max(revision) FROM roles HAVING max(revision) IS NOT NULL;

    CREATE TABLE role_outbox (
      scope TEXT PRIMARY KEY REFERENCES scopes (id) ON DELETE CASCADE,
      due_at INTEGER NOT NULL,
      -- Somebody is telling it until then.
      claimed_until INTEGER NOT NULL DEFAULT 0,
      attempts INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX role_outbox_due ON role_outbox (due_at);
    -- Nobody was told so far.
    INSERT INTO role_outbox (scope, due_at)
    SELECT id, 0 FROM scopes WHERE status IN ('active', 'suspended', 'archived') AND EXISTS (SELECT 1 FROM role_set);
  `,
};

/** The set that the directory applies after its own. */
export const roleMigrations = { name: 'roles', migrations: [projectionMigration] } as const;
