/** The tables, version by version. Never edit a version that has run: add the next one. */
import type { Migration } from '@freehold/app';

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'items, renters and bookings',
    sql: `
CREATE TABLE items (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  daily_cents INTEGER NOT NULL,
  deposit_cents INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('for_rent', 'in_repair', 'retired'))
) STRICT, WITHOUT ROWID;

CREATE TABLE renters (
  id TEXT PRIMARY KEY,
  -- Null when the person was erased.
  name TEXT,
  phone TEXT
) STRICT, WITHOUT ROWID;

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
