/** The tables and methods of host names in the directory's unit. */
import type { Migration } from '@freehold/store';
import { defineFeature } from '../lib/feature.ts';
import { completeAreas } from './given-names.ts';
import { hostnameMethods } from './maintenance.ts';
import { bindHostname, planUnbind, readHostnames, setHostnameStatus, unbindHostname } from './operations.ts';
import { verifyHostname } from './verify.ts';

/**
 * While no tenant has proven a name, several may claim it, each with a challenge of its own: a claim alone keeps no other
 * tenant out. Once proven, a name belongs to one tenant.
 */
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

/** Earlier holders are taken over from the log. The counters in the claims are no longer used. */
export const historyMigration: Migration = {
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

/** Filled once, and again after a restore of an older backup. */
const areasMigration: Migration = {
  version: 3,
  name: 'areas of names',
  sql: `
    -- The skeletons of the labels from the last to the first, each followed by a dot.
    ALTER TABLE hostnames ADD COLUMN area TEXT;
    CREATE INDEX hostnames_area ON hostnames (area);
    CREATE INDEX tenants_skeleton
      ON tenants (replace(replace(replace(slug, '0', 'o'), '1', 'l'), 'm', 'rn'), created_at, id);
  `,
  fill: completeAreas,
};

export const hostnamesFeature = /* @__PURE__ */ defineFeature({
  operations: [readHostnames, bindHostname, setHostnameStatus, unbindHostname, verifyHostname, planUnbind],
  migrations: [{ name: 'hostnames', migrations: [claimsMigration, historyMigration, areasMigration] }],
  methods: hostnameMethods,
  queries: ['hostnamesForRecheck', 'hostnameChallenge'],
});
