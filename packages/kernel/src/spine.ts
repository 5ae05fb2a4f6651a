/** The platform's own tables in every scope: invocations, events, permissions, denials, deliveries, sealing and more. */
import type { MigrationSet } from '@freehold/store';

export const spineMigrations: MigrationSet = {
  name: 'spine',
  migrations: [
    {
      version: 1,
      name: 'scope, invocations, events, permissions, denials, idempotency',
      sql: `
CREATE TABLE _spine_scope (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  tenant_id TEXT NOT NULL, name TEXT NOT NULL, provisioned_at INTEGER NOT NULL
) STRICT;

CREATE TABLE _spine_invocations (
  id TEXT PRIMARY KEY, operation TEXT NOT NULL, principal TEXT NOT NULL, parent TEXT, cause TEXT,
  idempotency_key TEXT, started_at INTEGER NOT NULL, duration_ms INTEGER NOT NULL, outcome TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE _spine_events (
  id TEXT PRIMARY KEY, type TEXT NOT NULL, version INTEGER NOT NULL, entity_type TEXT NOT NULL, entity_id TEXT NOT NULL,
  actor TEXT NOT NULL, operation TEXT NOT NULL, invocation TEXT NOT NULL, cause TEXT, proof TEXT NOT NULL,
  pii_class TEXT NOT NULL, subject TEXT, payload TEXT, at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_events_entity ON _spine_events (entity_type, entity_id, id);
CREATE INDEX _spine_events_invocation ON _spine_events (invocation, id);
CREATE INDEX _spine_events_cause ON _spine_events (cause, id) WHERE cause IS NOT NULL;

CREATE TABLE _spine_roles (
  role TEXT NOT NULL, permission TEXT NOT NULL, PRIMARY KEY (role, permission)
) STRICT, WITHOUT ROWID;
CREATE TABLE _spine_assignments (
  principal TEXT NOT NULL, role TEXT NOT NULL, granted_by TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (principal, role)
) STRICT, WITHOUT ROWID;
-- A grant for the whole scope has the empty string for its entity, so that the key can be unique.
CREATE TABLE _spine_grants (
  subject TEXT NOT NULL, permission TEXT NOT NULL, entity_type TEXT NOT NULL, entity_id TEXT NOT NULL,
  expires_at INTEGER, granted_by TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (subject, permission, entity_type, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_grants_entity ON _spine_grants (entity_type, entity_id, permission);

CREATE TABLE _spine_denials (
  id TEXT PRIMARY KEY, actor TEXT NOT NULL, permission TEXT NOT NULL, entity_type TEXT, entity_id TEXT,
  operation TEXT, at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_denials_actor ON _spine_denials (actor, permission, id);
CREATE INDEX _spine_denials_permission ON _spine_denials (permission, id);
CREATE INDEX _spine_denials_operation ON _spine_denials (operation, id);

CREATE TABLE _spine_idempotency (
  principal TEXT NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
  result TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (principal, operation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_idempotency_at ON _spine_idempotency (at);
`,
    },
    {
      version: 2,
      name: 'indexes for the denials of one actor and for grants over the whole scope',
      sql: `
CREATE INDEX _spine_denials_of_actor ON _spine_denials (actor, id);
CREATE INDEX _spine_grants_wide ON _spine_grants (subject, permission) WHERE entity_type = '';
`,
    },
    {
      version: 3,
      name: 'parents of records',
      sql: `
CREATE TABLE _spine_parents (
  entity_type TEXT NOT NULL, entity_id TEXT NOT NULL, parent_type TEXT NOT NULL, parent_id TEXT NOT NULL,
  PRIMARY KEY (entity_type, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_parents_children ON _spine_parents (parent_type, parent_id, entity_type, entity_id);
`,
    },
    {
      version: 4,
      name: 'events by type',
      sql: 'CREATE INDEX _spine_events_type ON _spine_events (type, id);',
    },
    {
      version: 5,
      name: 'deliveries, dead letters, schedules',
      sql: `
-- The key is the order of delivery: for one subscriber and type, by event.
CREATE TABLE _spine_deliveries (
  subscriber TEXT NOT NULL, type TEXT NOT NULL, event TEXT NOT NULL,
  attempts INTEGER NOT NULL, claim INTEGER NOT NULL, next_at INTEGER NOT NULL, first_at INTEGER, last_at INTEGER,
  PRIMARY KEY (subscriber, type, event)
) STRICT, WITHOUT ROWID;

CREATE TABLE _spine_dead_letters (
  event TEXT NOT NULL, subscriber TEXT NOT NULL, type TEXT NOT NULL,
  attempts INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  error_code TEXT NOT NULL, error_detail TEXT NOT NULL,
  PRIMARY KEY (event, subscriber)
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_dead_letters_subscriber ON _spine_dead_letters (subscriber, event);

CREATE TABLE _spine_schedules (
  key TEXT PRIMARY KEY, pattern TEXT NOT NULL, next_at INTEGER NOT NULL,
  last_at INTEGER, last_outcome TEXT
) STRICT, WITHOUT ROWID;
`,
    },
    {
      version: 6,
      name: 'platform requests',
      sql: `
CREATE TABLE _spine_platform_requests (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL, status TEXT NOT NULL, revision INTEGER NOT NULL,
  requested_by TEXT NOT NULL, invocation TEXT NOT NULL, cause TEXT, at INTEGER NOT NULL,
  settled_at INTEGER, result TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_platform_requests_status ON _spine_platform_requests (status, id);
CREATE INDEX _spine_platform_requests_kind ON _spine_platform_requests (kind, status, id);
`,
    },
    {
      version: 7,
      name: 'settings and entitlements',
      sql: `
CREATE TABLE _spine_settings (
  kind TEXT NOT NULL CHECK (kind IN ('setting', 'entitlement')), key TEXT NOT NULL, value TEXT NOT NULL,
  expires_at INTEGER, PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
`,
    },
    {
      version: 8,
      name: 'events of a subject, and who was erased',
      sql: `
CREATE INDEX _spine_events_subject ON _spine_events (subject, id) WHERE subject IS NOT NULL;
ALTER TABLE _spine_idempotency ADD COLUMN subjects TEXT;
CREATE TABLE _spine_shredded (
  subject TEXT PRIMARY KEY, key_digest TEXT, shredded_at TEXT NOT NULL, at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
    },
    {
      version: 9,
      name: 'attachments',
      sql: `
CREATE TABLE _spine_attachments (
  id TEXT PRIMARY KEY, entity_type TEXT NOT NULL, entity_id TEXT NOT NULL, digest TEXT NOT NULL, bytes INTEGER NOT NULL,
  media_type TEXT NOT NULL, filename TEXT NOT NULL, added_by TEXT NOT NULL, at INTEGER NOT NULL, removed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_attachments_entity ON _spine_attachments (entity_type, entity_id, id) WHERE removed_at IS NULL;
CREATE INDEX _spine_attachments_digest ON _spine_attachments (digest, removed_at);
`,
    },
    // Set in an older state that came back, until the vault was asked who was erased since.
    {
      version: 10,
      name: 'the mark of an older state that came back',
      sql: 'ALTER TABLE _spine_scope ADD COLUMN latecomers TEXT;',
    },
    // The number of deliveries between an event and the one that began its chain.
    {
      version: 11,
      name: 'how long the chain is that set an event off',
      sql: 'ALTER TABLE _spine_events ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;',
    },
    {
      version: 12,
      name: 'housekeeping, and what it removed',
      sql: `
-- A round that goes over several transactions is between two of them when began_at is set.
CREATE TABLE _spine_housekeeping (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  next_at INTEGER NOT NULL, began_at INTEGER, step INTEGER NOT NULL, after TEXT NOT NULL, last_at INTEGER
) STRICT;
-- From before this moment, rows may be missing. Nothing is here as long as nothing was removed.
CREATE TABLE _spine_pruned (log TEXT PRIMARY KEY, before INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE _spine_leaving_blobs (digest TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_attachments_removed ON _spine_attachments (removed_at) WHERE removed_at IS NOT NULL;
`,
    },
    // Keys of the pool and their persons. Unbound keys, of which the vault was not told, stand in a table of their own
    // that stays small: a create writes one page of it. `scope_id` says whose keys these are, for a copy in another scope.
    {
      version: 13,
      name: 'keys of persons who were made here',
      sql: `
CREATE TABLE _spine_subject_keys (
  subject TEXT NOT NULL, key_id TEXT NOT NULL, PRIMARY KEY (subject, key_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE _spine_unbound_keys (
  subject TEXT NOT NULL, key_id TEXT NOT NULL, PRIMARY KEY (subject, key_id)
) STRICT, WITHOUT ROWID;
ALTER TABLE _spine_scope ADD COLUMN scope_id TEXT;
`,
    },
    // Written before a copy is made, and read when the copy comes into another scope: see `members/members.ts`.
    {
      version: 14,
      name: 'members, for copies',
      sql: `
CREATE TABLE _spine_members (
  principal TEXT PRIMARY KEY, issuer TEXT NOT NULL, sub TEXT NOT NULL, since INTEGER NOT NULL, owner INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
    },
    // JSON: the grant and the name of the program through which a person acted.
    {
      version: 15,
      name: 'programs through which people act',
      sql: `
ALTER TABLE _spine_invocations ADD COLUMN program TEXT;
ALTER TABLE _spine_events ADD COLUMN program TEXT;
ALTER TABLE _spine_denials ADD COLUMN program TEXT;
`,
    },
    {
      version: 16,
      name: 'long work',
      sql: `
CREATE TABLE _spine_works (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, ending TEXT, mark TEXT, data TEXT NOT NULL,
  step INTEGER NOT NULL, done INTEGER NOT NULL, total INTEGER, attempts INTEGER NOT NULL,
  error_code TEXT, error_detail TEXT, principal TEXT NOT NULL, program TEXT, proof TEXT,
  cause TEXT NOT NULL, hops INTEGER NOT NULL,
  started_at INTEGER NOT NULL, changed_at INTEGER NOT NULL, ended_at INTEGER, next_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_works_due ON _spine_works (next_at, id) WHERE next_at IS NOT NULL;
CREATE INDEX _spine_works_principal ON _spine_works (principal, id);
CREATE INDEX _spine_works_mark ON _spine_works (kind, mark) WHERE mark IS NOT NULL;
CREATE INDEX _spine_works_unfinished ON _spine_works (id) WHERE ended_at IS NULL;
CREATE TABLE _spine_work_rows (
  work TEXT NOT NULL, number INTEGER NOT NULL, status TEXT NOT NULL, value TEXT, note TEXT, PRIMARY KEY (work, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX _spine_work_rows_status ON _spine_work_rows (work, status, number);
CREATE TABLE _spine_work_keys (
  work TEXT NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (work, key)
) STRICT, WITHOUT ROWID;
`,
    },
  ],
};
