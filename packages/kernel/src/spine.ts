/** The platform's own tables in every scope: what was done, what happened, who may, and what was refused. */
import type { MigrationSet } from '@freehold/store';
import { attachmentsMigration } from './attachments/schema.ts';
import { deliveriesMigration } from './deliveries/schema.ts';
import { eventHopsMigration, eventsByTypeMigration } from './events/schema.ts';
import { parentsMigration } from './permissions/parents.ts';
import { platformRequestsMigration } from './platform-requests/schema.ts';
import { retentionMigration } from './retention/schema.ts';
import { pendingErasuresMigration } from './sealing/pending-erasures.ts';
import { sealingMigration, subjectKeysMigration } from './sealing/schema.ts';
import { settingsMigration } from './settings/schema.ts';

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
    parentsMigration,
    eventsByTypeMigration,
    deliveriesMigration,
    platformRequestsMigration,
    settingsMigration,
    sealingMigration,
    attachmentsMigration,
    pendingErasuresMigration,
    eventHopsMigration,
    retentionMigration,
    subjectKeysMigration,
  ],
};
