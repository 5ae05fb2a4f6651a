/** The tables of entitlements, numbered apart from the directory's own. */
import type { Migration } from '@freehold/store';

const entitlementsMigration: Migration = {
  version: 1,
  name: 'entitlements',
  sql: `
    CREATE TABLE entitlements (
      tenant TEXT NOT NULL REFERENCES tenants (id),
      key TEXT NOT NULL,
      plan TEXT,
      quota INTEGER,
      expires_at INTEGER,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (tenant, key)
    ) STRICT, WITHOUT ROWID;

    -- The newest change of each tenant: it outlives the entitlements that were taken away.
    CREATE TABLE entitlement_sets (
      tenant TEXT PRIMARY KEY REFERENCES tenants (id),
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- Scopes that are still to be told.
    CREATE TABLE entitlement_outbox (
      scope TEXT PRIMARY KEY REFERENCES scopes (id),
      tenant TEXT NOT NULL REFERENCES tenants (id),
      due_at INTEGER NOT NULL,
      -- Somebody is telling it until then.
      claimed_until INTEGER NOT NULL DEFAULT 0,
      attempts INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX entitlement_outbox_due ON entitlement_outbox (due_at);
    CREATE INDEX entitlement_outbox_tenant ON entitlement_outbox (tenant, due_at);
  `,
};

/** The set that the directory applies after its own. */
export const entitlementMigrations = { name: 'entitlements', migrations: [entitlementsMigration] } as const;
