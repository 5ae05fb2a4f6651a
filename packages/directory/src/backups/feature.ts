/** What the directory's unit has of backups, its own among them. */
import { defineFeature } from '../lib/feature.ts';
import { afterRestore } from '../tenants/after-restore.ts';
import { incomingMethods, incomingMigrations } from './incoming.ts';
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
import { restoreDirectory, restoreMethods } from './restore-directory.ts';
import { backupMigrations } from './schema.ts';

export const backupsFeature = defineFeature({
  operations: [
    readScopeBackups,
    readDirectoryBackups,
    importCopy,
    deleteBackup,
    deleteDirectoryBackup,
    backUpScope,
    backUpDirectory,
    afterRestore(restoreDirectory),
    planBackupDelete,
    planDirectoryBackupDelete,
  ],
  migrations: [backupMigrations, incomingMigrations],
  methods: (context) => ({
    ...backupMethods(context),
    ...expiryOfBackupsMethods(context),
    ...restoreMethods(context),
    ...incomingMethods(context),
  }),
  queries: ['unitsToBackUp', 'scheduledBackups', 'leftExpiries', 'directoryTimes', 'rememberedBackup'],
});
