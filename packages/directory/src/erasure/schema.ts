/** The receipts of erasures. A receipt holds the subject as a hash: it is proof for a reader who knows the subject. */
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
