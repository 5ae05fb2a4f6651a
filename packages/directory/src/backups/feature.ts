/** The tables and methods of backups, the directory's own among them. */
import type { Migration } from '@freehold/store';
import { defineFeature } from '../lib/feature.ts';
import { incomingMethods, incomingMigrations } from './imports.ts';
import { expiryOfBackupsMethods } from './maintenance-expiry.ts';
import {
  backUpDirectory,
  backUpScope,
  backupMethods,
  deleteBackup,
  deleteDirectoryBackup,
  importCopy,
  planBackupDelete,
  planDirectoryBackupDelete,
  readDirectoryBackups,
  readScopeBackups,
} from './operations.ts';

const backupsMigration: Migration = {
  version: 1,
  name: 'backups',
  sql: `
    -- No reference to scopes: a backup outlives its scope, and a restore of the directory leaves this list alone.
    CREATE TABLE backups (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL, origin TEXT NOT NULL,
      tenant TEXT, scope TEXT, vertical TEXT,
      format TEXT NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL,
      address TEXT NOT NULL UNIQUE,
      bookmark TEXT,
      at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX backups_scope ON backups (scope, id);
    CREATE INDEX backups_kind ON backups (kind, id);

    -- Rows of a backup of the directory on their way in, until they take the place of what is there.
    CREATE TABLE staged_rows (
      operation TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
      PRIMARY KEY (operation, number)
    ) STRICT, WITHOUT ROWID;
  `,
};

const byTenantMigration: Migration = {
  version: 2,
  name: 'backups by tenant',
  sql: 'CREATE INDEX backups_tenant ON backups (tenant, id);',
};

/** For the newest scheduled backup of a scope, which every sweep looks up. */
const byOriginMigration: Migration = {
  version: 3,
  name: 'backups by origin',
  sql: 'CREATE INDEX backups_origin ON backups (scope, origin, at, id);',
};

const backupMigrations = {
  name: 'backups',
  migrations: [backupsMigration, byTenantMigration, byOriginMigration],
} as const;

export const backupsFeature = /* @__PURE__ */ defineFeature({
  operations: [
    readScopeBackups,
    readDirectoryBackups,
    importCopy,
    deleteBackup,
    deleteDirectoryBackup,
    backUpScope,
    backUpDirectory,
    planBackupDelete,
    planDirectoryBackupDelete,
  ],
  migrations: [backupMigrations, incomingMigrations],
  methods: (context) => ({
    ...backupMethods(context),
    ...expiryOfBackupsMethods(context),
    ...incomingMethods(context),
  }),
  queries: ['unitsToBackUp', 'scheduledBackups', 'leftExpiries', 'directoryTimes', 'rememberedBackup'],
});
