/** The schema of the identity directory. Migrations that have run are hashed: their SQL never changes. */
import type { Migration } from '@freehold/store';
import { ASSERTIONS_TABLE } from '../programs/assertions.ts';
import { QUESTIONS_TABLE } from '../programs/questions.ts';

export const MIGRATIONS: readonly Migration[] = [
  // Identity events: actor, person, time. Append-only.
  {
    version: 1,
    name: 'events',
    sql: `CREATE TABLE identity_events (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    scope_id TEXT,
    issuer TEXT,
    sub TEXT,
    principal TEXT,
    actor TEXT,
    detail TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX identity_events_by_scope ON identity_events (scope_id, id);`,
  },
  {
    version: 2,
    name: 'people',
    sql: `CREATE TABLE people (
    id TEXT PRIMARY KEY,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    email TEXT,
    name TEXT,
    email_verified INTEGER CHECK (email_verified IN (0, 1)),
    claims_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (issuer, sub)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE bindings (
    scope_id TEXT NOT NULL,
    person_id TEXT NOT NULL REFERENCES people (id),
    principal TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (scope_id, person_id),
    UNIQUE (scope_id, principal)
  ) STRICT, WITHOUT ROWID;`,
  },
  {
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
  },
  {
    version: 4,
    name: 'invites',
    sql: `CREATE TABLE invites (
    principal TEXT PRIMARY KEY,
    scope_id TEXT NOT NULL,
    role TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    email TEXT,
    email_match TEXT NOT NULL CHECK (email_match IN ('verified', 'label')),
    name TEXT,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    accepted_at INTEGER,
    accepted_by TEXT REFERENCES people (id),
    revoked_at INTEGER,
    CHECK (accepted_at IS NULL OR revoked_at IS NULL)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX invites_by_scope ON invites (scope_id, principal);`,
  },
  {
    version: 5,
    name: 'config',
    sql: `CREATE TABLE config (
    scope_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (scope_id, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE config_versions (
    scope_id TEXT PRIMARY KEY,
    version TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`,
  },
  // Rows that end sessions, which are otherwise stateless.
  {
    version: 6,
    name: 'sessions',
    sql: `CREATE TABLE ended_sessions (
    sid TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ended_sessions_by_expiry ON ended_sessions (expires_at);
  CREATE TABLE session_floors (
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    valid_after INTEGER NOT NULL,
    PRIMARY KEY (issuer, sub)
  ) STRICT, WITHOUT ROWID;`,
  },
  // `RECENT_REFUSALS_SQL` repeats the condition word for word, or the index would not be used.
  {
    version: 7,
    name: 'refusals',
    sql: `CREATE INDEX identity_events_refused ON identity_events (scope_id, at)
    WHERE type IN ('claim_refused', 'invite_refused');`,
  },
  // Passwords, tokens, challenges and recovery codes are stored as hashes only; TOTP secrets are sealed. The statements of
  // `accounts/events.ts` repeat the conditions of the last indexes word for word, or they would not be used.
  {
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
  },
  // The list of sessions, and the logouts that issuers reported. `STRANGE_EVENTS_SQL` repeats the last condition.
  {
    version: 9,
    name: 'session list',
    sql: `CREATE TABLE sessions (
    sid TEXT PRIMARY KEY,
    issuer TEXT NOT NULL,
    sub TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    idp_sid TEXT,
    client TEXT,
    started_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_by_person ON sessions (issuer, sub, scope_id);
  CREATE INDEX sessions_by_idp_sid ON sessions (issuer, idp_sid) WHERE idp_sid IS NOT NULL;
  CREATE INDEX sessions_by_expiry ON sessions (expires_at);
  CREATE INDEX session_floors_by_time ON session_floors (valid_after);
  CREATE TABLE ended_idp_sessions (
    issuer TEXT NOT NULL,
    idp_sid TEXT NOT NULL,
    sub TEXT NOT NULL,
    forget_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, idp_sid, sub)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ended_idp_sessions_by_end ON ended_idp_sessions (forget_at);
  CREATE TABLE logout_tokens (
    issuer TEXT NOT NULL,
    jti TEXT NOT NULL,
    forget_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, jti)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX logout_tokens_by_end ON logout_tokens (forget_at);
  CREATE INDEX identity_events_strange ON identity_events (scope_id, at)
    WHERE principal IS NULL AND type IN ('signed_in', 'session_ended', 'all_sessions_ended');`,
  },
  // Session secrets that no longer sign, and until when they verify.
  {
    version: 10,
    name: 'former secrets',
    sql: `CREATE TABLE former_session_secrets (
    id INTEGER PRIMARY KEY,
    value TEXT NOT NULL UNIQUE,
    replaced_at INTEGER NOT NULL,
    valid_until INTEGER NOT NULL
  ) STRICT;`,
  },
  // Challenges of passkeys are signed, so that only used ones are stored. Links have one more purpose; their holders ask
  // for new ones.
  {
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
  },
  // Whether each stored secret is sealed. Those from before are not, until they are resealed.
  {
    version: 12,
    name: 'sealed secrets',
    sql: `ALTER TABLE config ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1));
  ALTER TABLE secrets ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1));
  ALTER TABLE former_session_secrets ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1));
  ALTER TABLE accounts ADD COLUMN totp_sealed INTEGER NOT NULL DEFAULT 0 CHECK (totp_sealed IN (0, 1));`,
  },
  // Logs name the principals of former members, which must still be shown by name.
  {
    version: 13,
    name: 'former members',
    sql: `CREATE TABLE former_members (
    scope_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    person_id TEXT NOT NULL REFERENCES people (id),
    until INTEGER NOT NULL,
    PRIMARY KEY (scope_id, principal)
  ) STRICT, WITHOUT ROWID;
  INSERT OR IGNORE INTO former_members (scope_id, principal, person_id, until)
    SELECT e.scope_id, e.principal, p.id, e.at FROM identity_events e
    JOIN people p ON p.issuer = e.issuer AND p.sub = e.sub
    WHERE e.type = 'member_removed' AND e.scope_id IS NOT NULL AND e.principal IS NOT NULL;`,
  },
  // A hash of each forgotten scope, so that a call that was still running there writes nothing more about it. The indexes
  // serve the deletion of a person, one for each reference to `people`.
  {
    version: 14,
    name: 'forgotten scopes',
    sql: `CREATE TABLE forgotten_scopes (
    scope_hash TEXT PRIMARY KEY
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX bindings_by_person ON bindings (person_id);
  CREATE INDEX former_members_by_person ON former_members (person_id);
  CREATE INDEX seats_by_holder ON seats (claimed_by) WHERE claimed_by IS NOT NULL;
  CREATE INDEX invites_by_acceptance ON invites (accepted_by) WHERE accepted_by IS NOT NULL;`,
  },
  // The principal of the latest owner recovery, which the next one retires.
  {
    version: 15,
    name: 'recoveries',
    sql: 'ALTER TABLE seats ADD COLUMN recovery_principal TEXT;',
  },
  // Principals that stand for no person any more, until their roles are taken in the scope, which is another unit. Those
  // from before are taken once more, since an interruption may have left some. Invites of former members end.
  {
    version: 16,
    name: 'leftover roles',
    sql: `CREATE TABLE leftover_roles (
    scope_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    role TEXT,
    PRIMARY KEY (scope_id, principal)
  ) STRICT, WITHOUT ROWID;
  UPDATE invites SET revoked_at = (SELECT f.until FROM former_members f
      WHERE f.scope_id = invites.scope_id AND f.principal = invites.created_by)
    WHERE accepted_at IS NULL AND revoked_at IS NULL AND EXISTS (SELECT 1 FROM former_members f
      WHERE f.scope_id = invites.scope_id AND f.principal = invites.created_by);
  INSERT INTO leftover_roles (scope_id, principal, role)
    SELECT scope_id, principal, role FROM invites WHERE revoked_at IS NOT NULL;
  INSERT OR IGNORE INTO leftover_roles (scope_id, principal)
    SELECT f.scope_id, f.principal FROM former_members f
    WHERE NOT EXISTS (SELECT 1 FROM bindings b WHERE b.scope_id = f.scope_id AND b.principal = f.principal);
  CREATE INDEX invites_pending ON invites (scope_id, created_by) WHERE accepted_at IS NULL AND revoked_at IS NULL;`,
  },
  // A scope with copied data keeps the principals of the copy, that of the seat among them: two seats may name the same.
  {
    version: 17,
    name: 'seats of copies',
    sql: `CREATE TABLE seats_of_copies (
    scope_id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'claimed')),
    opened_at INTEGER NOT NULL,
    window_ends_at INTEGER NOT NULL,
    claim_hash TEXT,
    claim_expires_at INTEGER,
    claimed_at INTEGER,
    claimed_by TEXT REFERENCES people (id),
    recovery_principal TEXT,
    CHECK ((state = 'claimed') = (claimed_by IS NOT NULL)),
    CHECK ((claim_hash IS NULL) = (claim_expires_at IS NULL))
  ) STRICT, WITHOUT ROWID;
  INSERT INTO seats_of_copies SELECT scope_id, principal, state, opened_at, window_ends_at, claim_hash,
    claim_expires_at, claimed_at, claimed_by, recovery_principal FROM seats;
  DROP TABLE seats;
  ALTER TABLE seats_of_copies RENAME TO seats;
  CREATE INDEX seats_by_holder ON seats (claimed_by) WHERE claimed_by IS NOT NULL;`,
  },
  // Whether the latest owner recovery takes the seat from its holder when it is accepted.
  {
    version: 18,
    name: 'owner replacements',
    sql: 'ALTER TABLE seats ADD COLUMN recovery_replaces INTEGER NOT NULL DEFAULT 0 CHECK (recovery_replaces IN (0, 1));',
  },
  // The roles that a member was last given by a change, as a JSON list. Null: those of the invite or the seat, or from
  // before this was noted. The scope is the truth; this is for the day on which its database is lost.
  {
    version: 19,
    name: 'roles of members',
    sql: 'ALTER TABLE bindings ADD COLUMN roles TEXT;',
  },
  // Programs that people let in (OAuth 2.1), and tokens that they made for scripts. A grant is what a person allowed; codes
  // and tokens belong to one, and are stored as hashes only.
  {
    version: 20,
    name: 'programs',
    sql: `CREATE TABLE program_clients (
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
    person_id TEXT NOT NULL REFERENCES people (id),
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
  CREATE INDEX program_grants_by_scope ON program_grants (scope_id, id);

  CREATE TABLE program_tokens (
    hash TEXT PRIMARY KEY,
    scope_id TEXT NOT NULL,
    grant_id TEXT NOT NULL REFERENCES program_grants (id),
    kind TEXT NOT NULL CHECK (kind IN ('code', 'access', 'refresh', 'personal')),
    code TEXT,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    CHECK ((kind = 'code') = (code IS NOT NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX program_tokens_by_grant ON program_tokens (grant_id);
  CREATE INDEX program_tokens_by_scope ON program_tokens (scope_id);
  CREATE INDEX program_tokens_by_expiry ON program_tokens (expires_at);

  CREATE TABLE program_policies (
    scope_id TEXT PRIMARY KEY,
    programs TEXT NOT NULL CHECK (programs IN ('any', 'listed', 'none')),
    hosts TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;`,
  },
  {
    version: 21,
    name: 'limits of programs',
    sql: `
  ALTER TABLE program_policies ADD COLUMN calls_per_minute INTEGER DEFAULT 1200;
  ALTER TABLE program_policies ADD COLUMN mails INTEGER NOT NULL DEFAULT 1;`,
  },
  {
    version: 22,
    name: 'reads of programs',
    sql: `CREATE TABLE program_reads (
    grant_id TEXT NOT NULL REFERENCES program_grants (id) ON DELETE CASCADE,
    day TEXT NOT NULL,
    operation TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (grant_id, day, operation)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX program_reads_by_day ON program_reads (day);`,
  },
  { version: 23, name: 'used assertions of programs', sql: ASSERTIONS_TABLE },
  { version: 24, name: 'waiting questions of programs', sql: QUESTIONS_TABLE },
];
