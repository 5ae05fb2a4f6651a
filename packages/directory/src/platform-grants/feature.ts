/** What the directory's unit has of the grants of the platform. */
import type { PlatformGrant } from '../declarations/platform-grants.ts';
import { defineFeature } from '../lib/feature.ts';
import {
  deleteEmailSender,
  deleteTenantProvisioner,
  putEmailSender,
  putTenantProvisioner,
  readEmailSender,
  readTenantProvisioner,
} from './operations.ts';
import { loadGrant, platformGrantMigrations } from './store.ts';

export const platformGrantsFeature = defineFeature({
  operations: [
    readEmailSender,
    readTenantProvisioner,
    putEmailSender,
    deleteEmailSender,
    putTenantProvisioner,
    deleteTenantProvisioner,
  ],
  migrations: [platformGrantMigrations],
  methods: ({ db }) => ({
    platformGrant: ({
      vertical,
      grant,
    }: {
      readonly vertical: string;
      readonly grant: PlatformGrant;
    }): boolean => loadGrant(db, { vertical, name: grant }) !== undefined,
  }),
  queries: ['platformGrant'],
});
