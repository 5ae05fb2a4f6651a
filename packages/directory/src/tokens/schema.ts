/** The later changes of the table of tokens, numbered apart from the directory's own. */
import type { Migration } from '@freehold/store';

/**
 * Gives each service token without an owner that of its maker: a member of the staff, or the owner of the token that made
 * it. Tokens of the operator's own wiring keep none. A restored backup may be older than owners and needs it again. It is
 * part of a migration and never changes.
 */
export const OWNERS_FROM_MAKERS = `
    WITH RECURSIVE made (id, owner) AS (
      SELECT id, created_by FROM tokens WHERE kind = 'service' AND created_by GLOB 'stf_*'
      UNION
      SELECT tokens.id, made.owner FROM tokens JOIN made ON tokens.created_by = made.id
      WHERE tokens.kind = 'service'
    )
    UPDATE tokens SET owner = (SELECT made.owner FROM made WHERE made.id = tokens.id)
    WHERE owner IS NULL AND id IN (SELECT id FROM made);`;

const ownersMigration: Migration = {
  version: 1,
  name: 'owners of service tokens',
  sql: `
    -- No reference to the staff: a token outlives the member whose it was, and works no more.
    ALTER TABLE tokens ADD COLUMN owner TEXT CHECK (owner IS NULL OR kind = 'service');
    CREATE INDEX tokens_owner ON tokens (owner, kind) WHERE owner IS NOT NULL;
    ${OWNERS_FROM_MAKERS}
  `,
};

/**
 * Says of each push token which one it replaced, as the log has it. A restored backup may be older than lineages and needs
 * it again. It is part of a migration and never changes.
 */
export const LINEAGES_FROM_LOG = `
    UPDATE tokens SET replaces = rotation.replaced FROM (
      SELECT other AS token, before ->> 'token' AS replaced FROM admin_log
      WHERE action = 'push-tokens.rotate' AND outcome = 'done') AS rotation
    WHERE tokens.id = rotation.token AND tokens.kind = 'push' AND tokens.replaces IS NULL;`;

const rightsMigration: Migration = {
  version: 2,
  name: 'rights and lineages of push tokens',
  sql: `
    -- Null for a push token from before kinds: a legacy one.
    ALTER TABLE tokens ADD COLUMN rights TEXT CHECK (rights IN ('deploy', 'read', 'operate'));
    -- JSON lists; null for all verticals and scopes of the tenant.
    ALTER TABLE tokens ADD COLUMN verticals TEXT;
    ALTER TABLE tokens ADD COLUMN scopes TEXT;
    -- The token whose successor this is.
    ALTER TABLE tokens ADD COLUMN replaces TEXT;
    CREATE INDEX tokens_replaces ON tokens (replaces) WHERE replaces IS NOT NULL;
    CREATE INDEX tokens_made ON tokens (created_by) WHERE kind = 'push';
    ${LINEAGES_FROM_LOG}
  `,
};

const makersMigration: Migration = {
  version: 3,
  name: 'tokens by their maker',
  sql: `
    DROP INDEX tokens_made;
    -- Service tokens too: one ends with the token that made it.
    CREATE INDEX tokens_made ON tokens (created_by, kind);
  `,
};

/** The set that the directory applies after its own. */
export const tokenMigrations = {
  name: 'tokens',
  migrations: [ownersMigration, rightsMigration, makersMigration],
} as const;
