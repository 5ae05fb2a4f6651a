/** What the directory's unit has of entitlements. */
import { defineFeature } from '../lib/feature.ts';
import { putEntitlement, readEntitlements, removeEntitlement } from './operations.ts';
import { entitlementMigrations } from './schema.ts';

export const entitlementsFeature = defineFeature({
  reads: { 'entitlements.list': readEntitlements },
  changes: {
    'entitlements.put': putEntitlement,
    'entitlements.delete': removeEntitlement,
  },
  migrations: [entitlementMigrations],
});
