/** The tables of the registry. They are numbered by themselves, beside the directory's own. */
import type { Migration } from '@freehold/store';

const registryMigration: Migration = {
  version: 1,
  name: 'verticals and their versions',
  sql: `
    CREATE TABLE verticals (
      slug TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      -- Null for the platform's own.
      owner_tenant TEXT REFERENCES tenants (id),
      tier TEXT NOT NULL,
      -- The version that is compiled into this platform: it can serve no other.
      built_in TEXT,
      -- The version on the channel prod, and the admin-log row of the promotion; 0 before there was one.
      serving TEXT,
      promoted_at INTEGER,
      promotion INTEGER NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX verticals_owner ON verticals (owner_tenant);
    CREATE INDEX verticals_tier ON verticals (tier);

    CREATE TABLE vertical_versions (
      id TEXT PRIMARY KEY,
      vertical TEXT NOT NULL REFERENCES verticals (slug),
      version TEXT NOT NULL,
      digest TEXT NOT NULL,
      manifest TEXT NOT NULL,
      migrations TEXT NOT NULL,
      egress TEXT NOT NULL,
      status TEXT NOT NULL,
      reviewed_by TEXT,
      note TEXT,
      script TEXT NOT NULL UNIQUE,
      uploaded_at INTEGER,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      UNIQUE (vertical, version)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX vertical_versions_vertical ON vertical_versions (vertical, id);
    CREATE INDEX vertical_versions_status ON vertical_versions (vertical, status, id);
    -- What was registered stays what it is; only what was decided about it changes.
    CREATE TRIGGER vertical_versions_immutable BEFORE UPDATE ON vertical_versions
      WHEN NEW.id <> OLD.id OR NEW.vertical <> OLD.vertical OR NEW.version <> OLD.version
        OR NEW.digest <> OLD.digest OR NEW.manifest <> OLD.manifest OR NEW.migrations <> OLD.migrations
        OR NEW.egress <> OLD.egress OR NEW.script <> OLD.script
      BEGIN SELECT RAISE(ABORT, 'a registered version never changes'); END;

    CREATE TABLE vertical_listings (
      vertical TEXT PRIMARY KEY REFERENCES verticals (slug),
      title TEXT NOT NULL,
      summary TEXT NOT NULL,
      description TEXT NOT NULL,
      website TEXT,
      -- The latest request to be shown to more, as JSON.
      request TEXT,
      revision INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE install_blocks (
      vertical TEXT PRIMARY KEY REFERENCES verticals (slug),
      reason TEXT NOT NULL,
      blocked_by TEXT NOT NULL,
      revision INTEGER NOT NULL,
      since INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- A scope without a row follows prod.
    CREATE TABLE scope_versions (
      scope TEXT PRIMARY KEY REFERENCES scopes (id) ON DELETE CASCADE,
      -- Null after it was let go: the row stays for its revision.
      version TEXT REFERENCES vertical_versions (id),
      snapshot TEXT,
      revision INTEGER NOT NULL,
      bound_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX scope_versions_version ON scope_versions (version);
  `,
};

/** Versions that were deployed before have neither. */
const deployedByMigration: Migration = {
  version: 2,
  name: 'who deployed a version, and from which commit',
  sql: `
    ALTER TABLE vertical_versions ADD COLUMN deployed_by TEXT;
    ALTER TABLE vertical_versions ADD COLUMN source TEXT;
    CREATE TRIGGER vertical_versions_brought_once BEFORE UPDATE ON vertical_versions
      WHEN OLD.deployed_by IS NOT NULL AND (NEW.deployed_by IS NOT OLD.deployed_by OR NEW.source IS NOT OLD.source)
      BEGIN SELECT RAISE(ABORT, 'the deployment that brought a version never changes'); END;
  `,
};

export const registryMigrations = {
  name: 'vertical-registry',
  migrations: [registryMigration, deployedByMigration],
} as const;
