/** The tables, version by version. Never edit a version that has run: add the next one. */
import type { Migration } from '@freehold/app';

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'items, renters and bookings',
    sql: `
CREATE TABLE items (
  id TEXT PRIMARY KEY,
  archived INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  archived_at INTEGER,
  name TEXT NOT NULL COLLATE NOCASE,
  daily_cents INTEGER NOT NULL,
  deposit_cents INTEGER NOT NULL,
  state TEXT NOT NULL COLLATE NOCASE
) STRICT, WITHOUT ROWID;
CREATE INDEX items_by_archived_id ON items (archived, id);
CREATE INDEX items_by_archived_name ON items (archived, name);
CREATE INDEX items_by_archived_state_id ON items (archived, state, id);
CREATE INDEX items_by_archived_state_name ON items (archived, state, name);
CREATE TABLE items_words (
  archived INTEGER NOT NULL,
  word TEXT NOT NULL,
  id TEXT NOT NULL REFERENCES items (id),
  PRIMARY KEY (archived, word, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX items_words_by_id ON items_words (id);
CREATE TABLE renters (
  id TEXT PRIMARY KEY,
  archived INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  archived_at INTEGER,
  name TEXT NOT NULL COLLATE NOCASE,
  phone TEXT COLLATE NOCASE
) STRICT, WITHOUT ROWID;
CREATE INDEX renters_by_archived_name ON renters (archived, name);
CREATE INDEX renters_by_archived_id ON renters (archived, id);
CREATE TABLE renters_words (
  archived INTEGER NOT NULL,
  word TEXT NOT NULL,
  id TEXT NOT NULL REFERENCES renters (id),
  PRIMARY KEY (archived, word, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX renters_words_by_id ON renters_words (id);

CREATE TABLE bookings (
  id TEXT PRIMARY KEY,
  item_id TEXT NOT NULL REFERENCES items (id),
  renter_id TEXT NOT NULL REFERENCES renters (id),
  -- Days, as 2026-03-03, both included.
  first_day TEXT NOT NULL,
  last_day TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('booked', 'out', 'returned', 'cancelled')),
  price_cents INTEGER NOT NULL,
  deposit_cents INTEGER NOT NULL,
  damage TEXT,
  charged_cents INTEGER,
  reminded_at INTEGER,
  CHECK (first_day <= last_day)
) STRICT, WITHOUT ROWID;
CREATE INDEX bookings_of_item ON bookings (item_id, first_day) WHERE state IN ('booked', 'out');
CREATE INDEX bookings_by_renter ON bookings (renter_id);
CREATE INDEX bookings_out ON bookings (last_day, id) WHERE state = 'out';
`,
  },
];
