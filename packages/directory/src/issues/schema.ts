/** The table of issues, numbered apart from the directory's own. */
import type { Migration } from '@freehold/store';

const issuesMigration: Migration = {
  version: 1,
  name: 'issues',
  sql: `
    CREATE TABLE issues (
      fingerprint TEXT PRIMARY KEY,
      -- Issues that differ only in their words.
      kin TEXT NOT NULL,
      status TEXT NOT NULL,
      vertical TEXT,
      place TEXT NOT NULL,
      name TEXT NOT NULL,
      message TEXT NOT NULL,
      count INTEGER NOT NULL,
      regressions INTEGER NOT NULL,
      first_seen INTEGER NOT NULL,
      last_seen INTEGER NOT NULL,
      newest_version TEXT,
      resolved_in TEXT,
      resolved_at INTEGER,
      sample TEXT NOT NULL,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX issues_last_seen ON issues (last_seen);
    CREATE INDEX issues_status ON issues (status, last_seen);
    CREATE INDEX issues_vertical ON issues (vertical, last_seen);
    CREATE INDEX issues_kin ON issues (kin);
  `,
};

/** The set that the directory applies after its own. */
export const issueMigrations = { name: 'issues', migrations: [issuesMigration] } as const;
