/** The tables of accounts: who has one, what it signs in with, and what is under way or counted against it. */
import type { Migration } from '@freehold/store';

/**
 * TOTP secrets have to be known again: they are sealed where the directory was given a key (`sealing/schema.ts`).
 * Passwords, tokens, challenges and recovery codes are kept as hashes only.
 *
 * The indexes at the end find the events of the last hour that are bounded. `REFUSED_SIGN_INS_SQL` and
 * `STRANGE_ACCOUNT_EVENTS_SQL` repeat their conditions word for word, without which they would not be used.
 */
export const accountsMigration: Migration = {
  version: 8,
  name: 'accounts',
  sql: `CREATE TABLE accounts (
    user_id TEXT PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    email_verified INTEGER NOT NULL CHECK (email_verified IN (0, 1)),
    name TEXT,
    password_hash TEXT,
    password_changed_at INTEGER,
    totp_secret TEXT,
    totp_enabled INTEGER NOT NULL DEFAULT 0 CHECK (totp_enabled IN (0, 1)),
    totp_step INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    CHECK ((password_hash IS NULL) = (password_changed_at IS NULL)),
    CHECK (totp_enabled = 0 OR totp_secret IS NOT NULL)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE account_passkeys (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES accounts (user_id),
    public_key TEXT NOT NULL,
    counter INTEGER NOT NULL,
    transports TEXT NOT NULL,
    backed_up INTEGER NOT NULL CHECK (backed_up IN (0, 1)),
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX account_passkeys_by_account ON account_passkeys (user_id, created_at, id);

  CREATE TABLE account_recovery_codes (
    user_id TEXT NOT NULL REFERENCES accounts (user_id),
    code_hash TEXT NOT NULL,
    PRIMARY KEY (user_id, code_hash)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE account_links (
    token_hash TEXT PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('sign_up', 'reset', 'email_change')),
    address_hash TEXT NOT NULL,
    email TEXT,
    user_id TEXT REFERENCES accounts (user_id),
    name TEXT,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX account_links_by_address ON account_links (purpose, address_hash);
  CREATE INDEX account_links_by_account ON account_links (user_id);
  CREATE INDEX account_links_by_expiry ON account_links (expires_at);

  CREATE TABLE account_challenges (
    id INTEGER PRIMARY KEY,
    challenge_hash TEXT NOT NULL UNIQUE,
    purpose TEXT NOT NULL CHECK (purpose IN ('register', 'sign_in')),
    user_id TEXT,
    link_hash TEXT,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX account_challenges_by_expiry ON account_challenges (expires_at);

  CREATE TABLE account_second_factors (
    token_hash TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES accounts (user_id),
    tries INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX account_second_factors_by_account ON account_second_factors (user_id, expires_at);
  CREATE INDEX account_second_factors_by_expiry ON account_second_factors (expires_at);

  CREATE TABLE account_attempts (
    key TEXT PRIMARY KEY,
    times TEXT NOT NULL,
    locks INTEGER NOT NULL,
    locked_until INTEGER NOT NULL,
    lock_told INTEGER NOT NULL CHECK (lock_told IN (0, 1)),
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX account_attempts_by_expiry ON account_attempts (expires_at);

  CREATE INDEX identity_events_sign_in_refused ON identity_events (scope_id, at)
    WHERE type = 'sign_in_refused';
  CREATE INDEX identity_events_strange_account ON identity_events (scope_id, at)
    WHERE principal IS NULL AND type IN ('account_created', 'account_renamed', 'account_locked', 'password_changed',
      'password_reset', 'passkey_added', 'passkey_removed', 'totp_enabled', 'totp_disabled', 'recovery_codes_made',
      'recovery_code_used', 'email_changed');`,
};

/**
 * Challenges of passkeys are signed, so that only those that were used are kept. Links have one more purpose, and
 * whoever had one under way asks for another. `STRANGE_ACCOUNT_EVENTS_SQL` repeats the last condition.
 */
export const accountLinksMigration: Migration = {
  version: 11,
  name: 'account links and challenges',
  sql: `DROP TABLE account_challenges;
  CREATE TABLE account_used_challenges (
    id TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX account_used_challenges_by_expiry ON account_used_challenges (expires_at);

  ALTER TABLE account_passkeys DROP COLUMN transports;
  ALTER TABLE accounts ADD COLUMN passkey_handle TEXT;
  UPDATE accounts SET totp_secret = NULL WHERE totp_enabled = 0;

  DROP TABLE account_links;
  CREATE TABLE account_links (
    token_hash TEXT PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('sign_up', 'reset', 'email_change', 'email_revert')),
    address_hash TEXT NOT NULL,
    email TEXT,
    user_id TEXT REFERENCES accounts (user_id),
    name TEXT,
    expires_at INTEGER NOT NULL,
    used_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX account_links_by_address ON account_links (purpose, address_hash);
  CREATE INDEX account_links_by_account ON account_links (user_id);
  CREATE INDEX account_links_by_expiry ON account_links (expires_at);

  DROP INDEX identity_events_strange_account;
  CREATE INDEX identity_events_strange_account ON identity_events (scope_id, at)
    WHERE principal IS NULL AND type IN ('account_created', 'account_renamed', 'account_locked', 'password_changed',
      'password_reset', 'passkey_added', 'passkey_removed', 'totp_enabled', 'totp_disabled', 'recovery_codes_made',
      'recovery_code_used', 'email_changed', 'email_reverted', 'account_deleted');`,
};
