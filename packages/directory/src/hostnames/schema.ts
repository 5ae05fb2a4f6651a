/**
 * The claims on host names, in SQL. While nobody has proven a name, several tenants may claim it, each with a challenge
 * of its own: a claim alone keeps nobody out. Proven, a name is one tenant's.
 */
import type { Migration } from '@freehold/store';

const claimsMigration: Migration = {
  version: 1,
  name: 'claims',
  sql: `
    CREATE TABLE hostname_claims (
      -- The name, a space, the tenant: unique, and in the order of the names.
      claim TEXT PRIMARY KEY,
      hostname TEXT NOT NULL,
      tenant TEXT NOT NULL REFERENCES tenants (id),
      scope TEXT NOT NULL REFERENCES scopes (id),
      surface TEXT NOT NULL,
      status TEXT NOT NULL,
      method TEXT,
      token TEXT NOT NULL,
      verified_at INTEGER,
      checked_at INTEGER,
      reason TEXT,
      missing_since INTEGER,
      attempts INTEGER NOT NULL DEFAULT 0,
      attempts_since INTEGER NOT NULL DEFAULT 0,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    INSERT INTO hostname_claims
      (claim, hostname, tenant, scope, surface, status, method, token, verified_at, revision, created_at, updated_at)
    SELECT hostname || ' ' || tenant, hostname, tenant, scope, surface, status,
      CASE WHEN status = 'pending' THEN NULL
        WHEN hostname = 'localhost' OR hostname LIKE '%.localhost' THEN 'platform' ELSE 'staff' END,
      lower(hex(randomblob(16))), CASE WHEN status = 'pending' THEN NULL ELSE updated_at END,
      revision, created_at, updated_at
    FROM hostnames;
    DROP TABLE hostnames;
    ALTER TABLE hostname_claims RENAME TO hostnames;
    CREATE UNIQUE INDEX hostnames_holder ON hostnames (hostname) WHERE status IN ('active', 'disabled');
    CREATE INDEX hostnames_hostname ON hostnames (hostname);
    CREATE INDEX hostnames_token ON hostnames (token);
    CREATE INDEX hostnames_tenant ON hostnames (tenant);
    CREATE INDEX hostnames_scope ON hostnames (scope);
    CREATE INDEX hostnames_status ON hostnames (status);
  `,
};

/** What the log remembers of earlier holders is taken over. The counters of the claims are left, and nothing counts there. */
const historyMigration: Migration = {
  version: 2,
  name: 'holders and attempts',
  sql: `
    -- No reference to tenants: it outlives them.
    CREATE TABLE hostname_holders (
      hostname TEXT NOT NULL,
      tenant TEXT NOT NULL,
      since INTEGER NOT NULL,
      PRIMARY KEY (hostname, tenant)
    ) STRICT, WITHOUT ROWID;
    INSERT OR IGNORE INTO hostname_holders (hostname, tenant, since)
    SELECT hostname, tenant, coalesce(verified_at, updated_at) FROM hostnames WHERE status IN ('active', 'disabled');
    INSERT OR IGNORE INTO hostname_holders (hostname, tenant, since)
    SELECT other, tenant, at FROM admin_log
    WHERE action IN ('hostnames.bind', 'hostnames.set-status', 'hostnames.verify') AND outcome = 'done'
      AND other IS NOT NULL AND tenant IS NOT NULL AND json_extract(after, '$.status') = 'active';

    CREATE TABLE hostname_attempts (
      tenant TEXT NOT NULL,
      hostname TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      since INTEGER NOT NULL,
      PRIMARY KEY (tenant, hostname)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX hostname_attempts_since ON hostname_attempts (since);
  `,
};

/** The set that the directory applies after its own. */
export const hostnameMigrations = {
  name: 'hostnames',
  migrations: [claimsMigration, historyMigration],
} as const;
