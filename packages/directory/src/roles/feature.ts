/** What the directory's unit has of the platform's roles. */
import { defineFeature } from '../lib/feature.ts';
import { putRole, readRoles, removeRole } from './operations.ts';
import { roleMigrations } from './schema.ts';

export const rolesFeature = defineFeature({
  operations: [readRoles, putRole, removeRole],
  migrations: [roleMigrations],
});
