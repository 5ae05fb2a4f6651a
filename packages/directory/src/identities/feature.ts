/** What the directory's unit has of tenants' identities. */
import { defineFeature } from '../lib/feature.ts';
import { addIdentity, readIdentities, removeIdentity } from './operations.ts';
import { identityMigrations } from './schema.ts';

export const identitiesFeature = defineFeature({
  operations: [readIdentities, addIdentity, removeIdentity],
  migrations: [identityMigrations],
});
