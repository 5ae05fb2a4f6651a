/** The table of scopes that were forgotten, and the indexes by which what hangs on a person is found. */
import type { Migration } from '@freehold/store';

/**
 * A scope that was forgotten is known by a hash of its id, so that whatever was under way there when it went writes
 * nothing more about it, and the directory still does not name it. The indexes are those that deleting a person asks,
 * once for each reference to `people`.
 */
export const forgottenScopesMigration: Migration = {
  version: 14,
  name: 'forgotten scopes',
  sql: `CREATE TABLE forgotten_scopes (
    scope_hash TEXT PRIMARY KEY
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX bindings_by_person ON bindings (person_id);
  CREATE INDEX former_members_by_person ON former_members (person_id);
  CREATE INDEX seats_by_holder ON seats (claimed_by) WHERE claimed_by IS NOT NULL;
  CREATE INDEX invites_by_acceptance ON invites (accepted_by) WHERE accepted_by IS NOT NULL;`,
};
