/** The tables of fieldwork. Every list has an index whose order is the order of its pages. */
import type { Migration } from '@freehold/store';

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'customers and sites',
    sql: `
CREATE TABLE customers (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  phone TEXT,
  email TEXT,
  remarks TEXT,
  search TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX customers_by_name ON customers (name COLLATE NOCASE, id);

CREATE TABLE sites (
  id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (id),
  label TEXT NOT NULL,
  street TEXT NOT NULL,
  postcode TEXT,
  city TEXT NOT NULL,
  access TEXT,
  search TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sites_by_customer ON sites (customer_id, id);
`,
  },
  {
    version: 2,
    name: 'work orders',
    sql: `
CREATE TABLE orders (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL UNIQUE,
  customer_id TEXT NOT NULL REFERENCES customers (id),
  site_id TEXT REFERENCES sites (id),
  title TEXT NOT NULL,
  description TEXT,
  urgent INTEGER NOT NULL DEFAULT 0 CHECK (urgent IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('draft', 'scheduled', 'in_progress', 'done', 'invoiced', 'cancelled')),
  scheduled_from INTEGER,
  scheduled_to INTEGER,
  minutes INTEGER,
  materials_cents INTEGER,
  search TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- What has no date yet comes after everything that has one.
  due INTEGER NOT NULL GENERATED ALWAYS AS (coalesce(scheduled_from, 8640000000000000)) VIRTUAL,
  CHECK ((scheduled_from IS NULL) = (scheduled_to IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX orders_by_state ON orders (state, id);
CREATE INDEX orders_by_state_due ON orders (state, due, id);
CREATE INDEX orders_by_due ON orders (due, id);
CREATE INDEX orders_by_customer ON orders (customer_id, id);

CREATE TABLE order_assignees (
  order_id TEXT NOT NULL REFERENCES orders (id),
  principal TEXT NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (order_id, principal)
) STRICT, WITHOUT ROWID;
CREATE INDEX order_assignees_by_principal ON order_assignees (principal, order_id);

CREATE TABLE order_notes (
  id TEXT PRIMARY KEY,
  order_id TEXT NOT NULL REFERENCES orders (id),
  author TEXT NOT NULL,
  text TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX order_notes_by_order ON order_notes (order_id, id);
`,
  },
  {
    version: 3,
    name: 'invoices and rates',
    sql: `
CREATE TABLE invoices (
  id TEXT PRIMARY KEY,
  order_id TEXT NOT NULL UNIQUE REFERENCES orders (id),
  number INTEGER UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('draft', 'issued')),
  currency TEXT NOT NULL,
  call_out_cents INTEGER NOT NULL,
  labour_cents INTEGER NOT NULL,
  materials_cents INTEGER NOT NULL,
  total_cents INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  issued_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX invoices_by_state ON invoices (state, id);

CREATE TABLE rates (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  currency TEXT NOT NULL,
  hourly_cents INTEGER NOT NULL,
  call_out_cents INTEGER NOT NULL
) STRICT;
INSERT INTO rates (only_row, currency, hourly_cents, call_out_cents) VALUES (1, 'EUR', 6500, 4500);
`,
  },
  {
    version: 4,
    name: 'erasure and reminders',
    sql: `
-- Something that is sealed for the customer: see customers/person.ts.
ALTER TABLE customers ADD COLUMN mark TEXT;
ALTER TABLE customers ADD COLUMN erased_at INTEGER;
ALTER TABLE customers ADD COLUMN erasure_noted_at INTEGER;
CREATE INDEX customers_erased ON customers (id) WHERE erased_at IS NOT NULL AND erasure_noted_at IS NULL;
-- The ids of customers to come.
CREATE TABLE customer_ids (
  slot INTEGER PRIMARY KEY,
  id TEXT NOT NULL
) STRICT;

CREATE TABLE reminders (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('overdue', 'to_invoice')),
  order_id TEXT NOT NULL REFERENCES orders (id),
  raised_at INTEGER NOT NULL,
  settled_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX reminders_waiting_of_order ON reminders (order_id, kind) WHERE settled_at IS NULL;
CREATE INDEX reminders_of_order ON reminders (order_id, kind, raised_at);
CREATE INDEX reminders_waiting ON reminders (id) WHERE settled_at IS NULL;
CREATE INDEX orders_by_end ON orders (scheduled_to, id) WHERE state IN ('scheduled', 'in_progress');
`,
  },
  {
    version: 5,
    name: 'appointments that visitors ask for',
    sql: `
CREATE TABLE requests (
  id TEXT PRIMARY KEY,
  -- Nobody's yet: the customer that the visitor becomes.
  customer_id TEXT NOT NULL,
  name TEXT NOT NULL,
  phone TEXT,
  email TEXT,
  what TEXT NOT NULL,
  wished TEXT,
  received_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_by_customer ON requests (customer_id);

CREATE TABLE widget_origins (
  place INTEGER PRIMARY KEY,
  origin TEXT NOT NULL UNIQUE
) STRICT;
`,
  },
  {
    version: 6,
    name: 'languages of customers, and what language models took',
    sql: `
ALTER TABLE customers ADD COLUMN language TEXT;
-- Calls of models that are under way.
CREATE TABLE model_calls (
  id TEXT PRIMARY KEY,
  month TEXT NOT NULL,
  reserved INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE model_months (
  month TEXT PRIMARY KEY,
  tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
  },
  {
    version: 7,
    name: 'ids of customers are no longer decided ahead',
    sql: 'DROP TABLE customer_ids;',
  },
];
