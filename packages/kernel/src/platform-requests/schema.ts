/** The table of platform requests, and the one of what the platform tells a scope. */
import type { Migration } from '@freehold/store';

export const platformRequestsMigration: Migration = {
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
};
