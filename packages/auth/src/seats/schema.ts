/** The table of owner seats, one a scope, and the way back of an owner who cannot sign in. */
import type { Migration } from '@freehold/store';

export const seatsMigration: Migration = {
  version: 3,
  name: 'seats',
  sql: `CREATE TABLE seats (
    scope_id TEXT PRIMARY KEY,
    principal TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('pending', 'claimed')),
    opened_at INTEGER NOT NULL,
    window_ends_at INTEGER NOT NULL,
    claim_hash TEXT,
    claim_expires_at INTEGER,
    claimed_at INTEGER,
    claimed_by TEXT REFERENCES people (id),
    CHECK ((state = 'claimed') = (claimed_by IS NOT NULL)),
    CHECK ((claim_hash IS NULL) = (claim_expires_at IS NULL))
  ) STRICT, WITHOUT ROWID;`,
};

/** The principal of the latest way back, so that the next one knows what to retire. */
export const recoveriesMigration: Migration = {
  version: 15,
  name: 'recoveries',
  sql: 'ALTER TABLE seats ADD COLUMN recovery_principal TEXT;',
};
