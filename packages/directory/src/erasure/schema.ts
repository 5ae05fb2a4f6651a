/**
 * The receipts of erasures. Who was erased is in none of them: a subject is kept as a hash, which proves something to
 * those who know the subject, and tells nothing to anybody else.
 */
import type { Migration } from '@freehold/store';

const erasuresMigration: Migration = {
  version: 1,
  name: 'erasures',
  sql: `
    CREATE TABLE erasures (
      scope TEXT NOT NULL,
      subject_hash TEXT NOT NULL,
      receipt TEXT NOT NULL,
      key_digest TEXT,
      shredded_at TEXT NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (scope, subject_hash)
    ) STRICT, WITHOUT ROWID;
  `,
};

/** The set that the directory applies after its own. */
export const erasureMigrations = { name: 'erasures', migrations: [erasuresMigration] } as const;
