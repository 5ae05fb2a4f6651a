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

/** The set that the directory applies after its own. */
export const tokenMigrations = { name: 'tokens', migrations: [ownersMigration] } as const;
