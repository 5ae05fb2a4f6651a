/** The table of what the platform tells a scope: settings and entitlements. */
import type { Migration } from '@freehold/store';

export const settingsMigration: Migration = {
  version: 7,
  name: 'settings and entitlements',
  sql: `
CREATE TABLE _spine_settings (
  kind TEXT NOT NULL CHECK (kind IN ('setting', 'entitlement')), key TEXT NOT NULL, value TEXT NOT NULL,
  expires_at INTEGER, PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
`,
};
