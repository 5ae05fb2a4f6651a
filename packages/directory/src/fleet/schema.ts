/** The table of what waves of migrations have seen. It is numbered by itself, beside the directory's own. */
import type { Migration } from '@freehold/store';

const scopeMigrationsMigration: Migration = {
  version: 1,
  name: 'what became of the migrations of scopes',
  sql: `
    CREATE TABLE scope_migrations (
      scope TEXT PRIMARY KEY REFERENCES scopes (id) ON DELETE CASCADE,
      version TEXT NOT NULL,
      -- applied or failed
      state TEXT NOT NULL,
      code TEXT, detail TEXT,
      at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
};

/** The set that the directory applies after its own. */
export const fleetMigrationSet = { name: 'fleet', migrations: [scopeMigrationsMigration] } as const;
