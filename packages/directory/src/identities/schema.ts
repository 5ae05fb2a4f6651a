/** The table of the tenants' identities, numbered apart from the directory's own. */
import type { Migration } from '@freehold/store';

const identitiesMigration: Migration = {
  version: 1,
  name: 'tenant identities',
  sql: `
    CREATE TABLE tenant_identities (
      id TEXT PRIMARY KEY,
      tenant TEXT NOT NULL REFERENCES tenants (id),
      kind TEXT NOT NULL,
      issuer TEXT NOT NULL,
      -- One spelling of addresses that lead to the same place.
      issuer_key TEXT NOT NULL,
      -- Empty for a whole issuer.
      value TEXT NOT NULL,
      label TEXT,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      UNIQUE (issuer_key, kind, value),
      CHECK ((kind = 'issuer') = (value = ''))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tenant_identities_tenant ON tenant_identities (tenant);
  `,
};

/** The set that the directory applies after its own. */
export const identityMigrations = { name: 'identities', migrations: [identitiesMigration] } as const;
