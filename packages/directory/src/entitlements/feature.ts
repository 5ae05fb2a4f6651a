/** What the directory's unit has of entitlements. */
import { defineFeature } from '../lib/feature.ts';
import { putEntitlement, readEntitlements, removeEntitlement } from './operations.ts';
import { entitlementMigrations } from './schema.ts';

export const entitlementsFeature = defineFeature({
  operations: [readEntitlements, putEntitlement, removeEntitlement],
  migrations: [entitlementMigrations],
});
