/** The tables, version by version. `freehold migrate make` writes the next one; never edit a version that has run. */
import type { Migration } from '@freehold/app';

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'customers, bicycles and repairs',
    sql: `
CREATE TABLE customers (
  id TEXT PRIMARY KEY,
  archived INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  archived_at INTEGER,
  name TEXT NOT NULL COLLATE NOCASE,
  phone TEXT COLLATE NOCASE,
  email TEXT COLLATE NOCASE
) STRICT, WITHOUT ROWID;
CREATE INDEX customers_by_archived_name ON customers (archived, name);
CREATE INDEX customers_by_archived_id ON customers (archived, id);
CREATE UNIQUE INDEX customers_one_email ON customers (email) WHERE archived <> 1;
CREATE TABLE customers_words (
  archived INTEGER NOT NULL,
  -- Of name, phone.
  word TEXT NOT NULL,
  id TEXT NOT NULL REFERENCES customers (id),
  PRIMARY KEY (archived, word, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX customers_words_by_id ON customers_words (id);
CREATE TABLE bicycles (
  id TEXT PRIMARY KEY,
  archived INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  archived_at INTEGER,
  model TEXT NOT NULL COLLATE NOCASE,
  frame TEXT NOT NULL COLLATE NOCASE,
  owner TEXT NOT NULL REFERENCES customers (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX bicycles_by_archived_model ON bicycles (archived, model);
CREATE INDEX bicycles_by_archived_id ON bicycles (archived, id);
CREATE INDEX bicycles_by_archived_owner_model ON bicycles (archived, owner, model);
CREATE INDEX bicycles_by_archived_owner_id ON bicycles (archived, owner, id);
CREATE UNIQUE INDEX bicycles_one_frame ON bicycles (frame) WHERE archived = 0;
CREATE TABLE bicycles_words (
  archived INTEGER NOT NULL,
  -- Of frame, model.
  word TEXT NOT NULL,
  id TEXT NOT NULL REFERENCES bicycles (id),
  PRIMARY KEY (archived, word, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX bicycles_words_by_id ON bicycles_words (id);
CREATE TABLE repairs (
  id TEXT PRIMARY KEY,
  archived INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  archived_at INTEGER,
  what TEXT NOT NULL COLLATE NOCASE,
  bicycle TEXT NOT NULL REFERENCES bicycles (id),
  state TEXT NOT NULL COLLATE NOCASE,
  due TEXT NOT NULL COLLATE NOCASE,
  work INTEGER,
  price INTEGER,
  notes TEXT COLLATE NOCASE
) STRICT, WITHOUT ROWID;
CREATE INDEX repairs_by_archived_due ON repairs (archived, due);
CREATE INDEX repairs_by_archived_id ON repairs (archived, id);
CREATE INDEX repairs_by_archived_state_due ON repairs (archived, state, due);
CREATE INDEX repairs_by_archived_state_id ON repairs (archived, state, id);
CREATE INDEX repairs_by_archived_bicycle_due ON repairs (archived, bicycle, due);
CREATE INDEX repairs_by_archived_bicycle_id ON repairs (archived, bicycle, id);
CREATE INDEX repairs_by_archived_state_bicycle_due ON repairs (archived, state, bicycle, due);
CREATE INDEX repairs_by_archived_state_bicycle_id ON repairs (archived, state, bicycle, id);
CREATE TABLE repairs_words (
  archived INTEGER NOT NULL,
  -- Of what.
  word TEXT NOT NULL,
  id TEXT NOT NULL REFERENCES repairs (id),
  PRIMARY KEY (archived, word, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX repairs_words_by_id ON repairs_words (id);
`,
  },
];
