/** The tables of the roster, numbered apart from the directory's own. */
import { ASSERTIONS_TABLE, QUESTIONS_TABLE } from '@freehold/auth/grants';
import type { Migration } from '@freehold/store';

const staffMigration: Migration = {
  version: 1,
  name: 'staff',
  sql: `
    CREATE TABLE staff (
      id TEXT PRIMARY KEY,
      email TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      role TEXT NOT NULL CHECK (role IN ('admin', 'operator', 'auditor')),
      issuer TEXT,
      subject TEXT,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      last_sign_in_at INTEGER,
      revision INTEGER NOT NULL,
      CHECK ((issuer IS NULL) = (subject IS NULL)),
      UNIQUE (issuer, subject)
    ) STRICT, WITHOUT ROWID;

    -- A session is good while its row is there. The cookie proves who began it, and the row that it goes on.
    CREATE TABLE staff_sessions (
      sid TEXT PRIMARY KEY,
      member TEXT NOT NULL REFERENCES staff (id) ON DELETE CASCADE,
      issuer_sid TEXT,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX staff_sessions_member ON staff_sessions (member, issuer_sid);
    CREATE INDEX staff_sessions_issuer_sid ON staff_sessions (issuer_sid);
    CREATE INDEX staff_sessions_expiry ON staff_sessions (expires_at);

    CREATE TABLE staff_tokens (
      id TEXT PRIMARY KEY,
      member TEXT NOT NULL REFERENCES staff (id) ON DELETE CASCADE,
      client TEXT NOT NULL,
      hash TEXT NOT NULL UNIQUE,
      last4 TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      last_used_at INTEGER,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX staff_tokens_member ON staff_tokens (member);
    CREATE INDEX staff_tokens_expiry ON staff_tokens (expires_at);

    -- Authorization codes (RFC 6749, section 4.1.2). A used one stays until it expires, so that a second use is noticed.
    CREATE TABLE staff_codes (
      hash TEXT PRIMARY KEY,
      member TEXT NOT NULL REFERENCES staff (id) ON DELETE CASCADE,
      client TEXT NOT NULL,
      redirect_uri TEXT NOT NULL,
      challenge TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      token TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX staff_codes_member ON staff_codes (member);
    CREATE INDEX staff_codes_expiry ON staff_codes (expires_at);

    -- Device codes (RFC 8628).
    CREATE TABLE staff_devices (
      hash TEXT PRIMARY KEY,
      user_code_hash TEXT NOT NULL UNIQUE,
      client TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied')),
      member TEXT REFERENCES staff (id) ON DELETE CASCADE,
      interval_ms INTEGER NOT NULL,
      polled_at INTEGER,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX staff_devices_member ON staff_devices (member);
    CREATE INDEX staff_devices_expiry ON staff_devices (expires_at);

    -- User codes that somebody typed and that were none: what limits guessing.
    CREATE TABLE staff_misses (
      member TEXT NOT NULL REFERENCES staff (id) ON DELETE CASCADE,
      at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX staff_misses_member ON staff_misses (member, at);
  `,
};

/**
 * Replaces the column of roles, because a check cannot be changed. The table stays: to drop it would delete all sessions and
 * tokens. It has no reference to the tenants, because a restored directory may lack one that has builders.
 */
const buildersMigration: Migration = {
  version: 2,
  name: 'builders on the roster',
  sql: `
    ALTER TABLE staff ADD COLUMN tenant TEXT;
    ALTER TABLE staff RENAME COLUMN role TO staff_role;
    -- The default is never used: it is for the rows that are there, until the next statement.
    ALTER TABLE staff ADD COLUMN role TEXT NOT NULL DEFAULT 'auditor' CHECK (
      role IN ('admin', 'operator', 'auditor', 'builder') AND (role = 'builder') = (tenant IS NOT NULL));
    UPDATE staff SET role = staff_role;
    ALTER TABLE staff DROP COLUMN staff_role;
    CREATE INDEX staff_tenant ON staff (tenant) WHERE tenant IS NOT NULL;
  `,
};

/**
 * A new installation is one whose log has no row yet. The answer is kept, because a later start cannot tell any more, and
 * those that upgrade must not lock out their staff.
 */
const presenceMigration: Migration = {
  version: 3,
  name: 'presence of staff',
  sql: `
    -- Written at most once a minute. Null for a session that was not used since this column is there.
    ALTER TABLE staff_sessions ADD COLUMN last_seen_at INTEGER;
    CREATE TABLE staff_policy (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      demands_second_factor INTEGER NOT NULL
    ) STRICT;
    INSERT INTO staff_policy SELECT 1, NOT EXISTS (SELECT 1 FROM admin_log);
  `,
};

const questionsMigration: Migration = {
  version: 4,
  name: 'waiting questions of programs',
  sql: QUESTIONS_TABLE,
};

/** The set that the directory applies after its own. */
export const staffMigrations = {
  name: 'staff',
  migrations: [staffMigration, buildersMigration, presenceMigration],
} as const;

const sourceMigration: Migration = {
  version: 1,
  name: 'sources of device codes',
  sql: `
    -- The hash of a network address, or of its range; null where nobody knows it.
    ALTER TABLE staff_devices ADD COLUMN source TEXT;
    -- Who waits, the oldest of a source first.
    CREATE INDEX staff_devices_waiting ON staff_devices (source, expires_at) WHERE state = 'pending';
  `,
};

/** The set that the directory applies after that of the staff. */
export const deviceMigrations = { name: 'staff-devices', migrations: [sourceMigration] } as const;

const grantsMigration: Migration = {
  version: 1,
  name: 'programs of staff',
  sql: `
    -- Of the form that the identity directories have. A grant goes with its member, and its tokens with it.
    CREATE TABLE program_clients (
      scope_id TEXT NOT NULL,
      id_hash TEXT NOT NULL,
      id TEXT NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('document', 'registered')),
      metadata TEXT NOT NULL,
      secret_hash TEXT,
      used_at INTEGER NOT NULL,
      PRIMARY KEY (scope_id, id_hash)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX program_clients_by_use ON program_clients (used_at);

    CREATE TABLE program_grants (
      id TEXT PRIMARY KEY,
      scope_id TEXT NOT NULL,
      person_id TEXT NOT NULL REFERENCES staff (id) ON DELETE CASCADE,
      principal TEXT NOT NULL,
      client_id_hash TEXT,
      name TEXT NOT NULL,
      host TEXT,
      access TEXT NOT NULL CHECK (access IN ('all', 'read', 'some')),
      permissions TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      used_at INTEGER,
      used_from TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX program_grants_by_person ON program_grants (person_id, scope_id, id);
    CREATE INDEX program_grants_by_expiry ON program_grants (expires_at);
    CREATE INDEX program_grants_by_client ON program_grants (scope_id, client_id_hash);

    CREATE TABLE program_tokens (
      hash TEXT PRIMARY KEY,
      scope_id TEXT NOT NULL,
      grant_id TEXT NOT NULL REFERENCES program_grants (id) ON DELETE CASCADE,
      kind TEXT NOT NULL CHECK (kind IN ('code', 'access', 'refresh', 'personal')),
      code TEXT,
      expires_at INTEGER NOT NULL,
      used_at INTEGER,
      CHECK ((kind = 'code') = (code IS NOT NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX program_tokens_by_grant ON program_tokens (grant_id);
    CREATE INDEX program_tokens_by_expiry ON program_tokens (expires_at);
  `,
};

const assertionsMigration: Migration = {
  version: 2,
  name: 'used assertions of programs',
  sql: ASSERTIONS_TABLE,
};

const policyMigration: Migration = {
  version: 3,
  name: 'rule for programs of staff',
  sql: `
    CREATE TABLE staff_program_policy (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      programs TEXT NOT NULL CHECK (programs IN ('any', 'listed', 'none')),
      hosts TEXT NOT NULL,
      updated_at INTEGER NOT NULL,
      revision INTEGER NOT NULL
    ) STRICT;`,
};

/** The set that the directory applies after all that were there before it. */
export const grantMigrations = {
  name: 'staff-programs',
  migrations: [grantsMigration, assertionsMigration, policyMigration, questionsMigration],
} as const;
